import { describe, expect, test } from "vitest";
import { decisionEvent } from "../../../src/protocol/decisions/record/decision-entry.ts";
import { newPeer, type TrustStore } from "../../../src/trust/store.ts";
import { eventId } from "../../../src/wire/canonical.ts";
import { fromPlain, type JsonObject } from "../../../src/wire/json/json.ts";
import {
  encodeBase64,
  keyId,
  makeSigner,
  publicKeyOf,
  type Signer,
} from "../../../src/wire/signature.ts";
import { NOON } from "../../support/scripts/wire-script.ts";

const secret = (byte: number): Uint8Array => new Uint8Array(32).fill(byte);
const pinned = (byte: number) => {
  const key = publicKeyOf(secret(byte));
  return { keyId: keyId("ada", key), key, addedAt: "", active: true };
};
const OLD = makeSigner("ada", secret(1));
const ADA = makeSigner("ada", secret(2));
const UNPINNED = makeSigner("ada", secret(3));
const STORE: TrustStore = {
  version: 1,
  peers: new Map([["ada", { ...newPeer("ada"), keys: [pinned(1), pinned(2)] }]]),
};

const RECORD = { decision_id: "v7-01234567", proposer: "ada", decision: "ship it" };

function signed(signer: Signer, change: object = {}): Record<string, unknown> {
  const id = eventId(fromPlain(RECORD) as JsonObject);
  const signature = encodeBase64(signer.sign(Buffer.from(id, "hex")));
  return { ...RECORD, event_id: id, public_key_id: signer.keyId, signature, ...change };
}

function read(entry: object) {
  return decisionEvent(new TextEncoder().encode(JSON.stringify(entry)), STORE, NOON);
}

function signerOf(entry: object) {
  const event = read(entry);
  if (event?.kind !== "entry") throw new Error("no entry");
  return { signedBy: event.entry.signedBy, valid: event.entry.signatureValid };
}

describe("a line of decisions.jsonl", () => {
  test("says what it says, when we read it, and who signed it", () => {
    const entry = signed(ADA);
    expect(read(entry)).toStrictEqual({
      kind: "entry",
      file: "decisions",
      at: NOON,
      entry: { id: entry["event_id"], record: entry, signedBy: "ada", signatureValid: true },
    });
  });

  test("that is no JSON object is no event", () => {
    for (const text of ["", "{", "[]", "7"]) {
      expect(decisionEvent(new TextEncoder().encode(text), STORE, NOON)).toBeUndefined();
    }
  });

  test("may be signed by any pinned key of its agent", () => {
    for (const signer of [OLD, ADA]) {
      expect(signerOf(signed(signer))).toEqual({ signedBy: "ada", valid: true });
    }
  });

  test.each([
    ["no event id", signed(ADA, { event_id: undefined })],
    ["an event id that is no text", signed(ADA, { event_id: 7 })],
    ["no key id", signed(ADA, { public_key_id: undefined })],
    ["a key id that is no text", signed(ADA, { public_key_id: 7 })],
    ["no signature", signed(ADA, { signature: undefined })],
    ["a signature that is no text", signed(ADA, { signature: 7 })],
    ["a signature that is no base64", signed(ADA, { signature: "signed, ada" })],
    ["a key id without a handle", signed(ADA, { public_key_id: "ada" })],
    ["a key id of a stranger", signed(ADA, { public_key_id: "eve:01234567" })],
    ["a key that is not pinned", signed(UNPINNED)],
    ["another key's signature", signed(ADA, { signature: signed(OLD)["signature"] })],
    ["a text that was changed since", signed(ADA, { decision: "drop it" })],
  ])("with %s is signed by nobody", (_name, entry) => {
    expect(signerOf(entry)).toEqual({ signedBy: undefined, valid: false });
  });
});
