import { expect, it } from "vitest";
import { advancePairing, beginPairing, type Pairing } from "../../../src/trust/pairing/pairing.ts";
import { restoredPairings } from "../../../src/trust/pairing/pairing-restore.ts";
import { sasCommitment } from "../../../src/trust/pairing/sas.ts";
import { publicKeyOf } from "../../../src/wire/signature.ts";

const KEY = publicKeyOf(new Uint8Array(32).fill(1));
const PEER = publicKeyOf(new Uint8Array(32).fill(2));
const nonce = (of: number) => new Uint8Array(32).fill(of);
const fresh = () => nonce(99);
const NONE: ReadonlyMap<string, Pairing> = new Map();

const secret = { ...beginPairing(KEY, nonce(1)), mismatches: 2 };
const shown = advancePairing(beginPairing(KEY, nonce(3)), {
  key: PEER,
  commitment: sasCommitment(nonce(4), PEER),
}).pairing;

it("a nonce that was still secret is drawn again, and wrong digits stay counted", () => {
  expect(shown.isShown).toBe(true);
  const restored = restoredPairings(
    NONE,
    new Map([
      ["a", secret],
      ["b", shown],
    ]),
    fresh,
  );
  expect(restored.get("a")).toEqual({ ...beginPairing(KEY, nonce(99)), mismatches: 2 });
  // Its peer had committed itself before it was shown: what comes after that voids the digits.
  expect(restored.get("b")).toEqual(shown);
});

it("what either has shown stays shown: no claim but that one sees another nonce", () => {
  const secretHere = beginPairing(KEY, nonce(5));
  const restored = restoredPairings(new Map([["a", secretHere]]), new Map([["a", shown]]), fresh);
  expect(restored.get("a")).toEqual(shown);
  const both = { ...shown, nonce: nonce(6), restarts: 2 };
  expect(restoredPairings(new Map([["a", both]]), new Map([["a", shown]]), fresh).get("a")).toEqual(
    both,
  );
});

it("what is here holds, with the tries of both", () => {
  const here = new Map([["a", shown]]);
  expect(restoredPairings(here, new Map([["a", secret]]), fresh).get("a")).toEqual({
    ...shown,
    mismatches: 2,
  });
  const tried = { ...shown, mismatches: 3 };
  expect(
    restoredPairings(new Map([["a", tried]]), new Map([["a", secret]]), fresh).get("a"),
  ).toEqual(tried);
});
