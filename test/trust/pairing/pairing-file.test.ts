import { describe, expect, it } from "vitest";
import { beginPairing } from "../../../src/trust/pairing/pairing.ts";
import { parsePairings, serialisePairings } from "../../../src/trust/pairing/pairing-file.ts";

const bytes = (byte: number): Uint8Array => new Uint8Array(32).fill(byte);
const begun = beginPairing(bytes(1), bytes(2));
const met = {
  ...beginPairing(bytes(3), bytes(4), { mismatches: 2, restarts: 7 }),
  isShown: true,
  peer: { key: bytes(5), commitment: "c".repeat(64) },
  peerNonce: bytes(6),
  other: { key: bytes(7), commitment: "d".repeat(64) },
};
const PAIRINGS = new Map([
  ["scribe", begun],
  ["quill", met],
]);

const parsed = (text: string) => parsePairings(Buffer.from(text), "pairing.json");

describe("the file of the pairings", () => {
  it("reads as it was written", () => {
    expect(parsed(serialisePairings(PAIRINGS))).toEqual({ ok: true, pairings: PAIRINGS });
    expect(parsed(serialisePairings(new Map()))).toEqual({ ok: true, pairings: new Map() });
  });

  const changed = (change: (peer: Record<string, unknown>) => void): string => {
    const file = JSON.parse(serialisePairings(PAIRINGS)) as {
      peers: Record<string, Record<string, unknown>>;
    };
    change(file.peers["quill"] ?? {});
    return JSON.stringify(file);
  };
  it.each([
    ["no JSON", "{", "pairing.json: "],
    ["another version", '{"version":2,"peers":{}}', "version is not 1"],
    ["a peer that is no agent", changed(() => undefined).replace("quill", "-"), "no agent"],
    ["a nonce too short", changed((peer) => (peer["nonce"] = "AAAA")), "peers.quill.nonce is not"],
    ["no nonce", changed((peer) => delete peer["nonce"]), "lacks its nonce"],
    ["no key", changed((peer) => delete peer["key"]), "lacks its nonce, its key"],
    ["mismatches below zero", changed((peer) => (peer["mismatches"] = -1)), "whole number"],
    ["a word for shown", changed((peer) => (peer["shown"] = "yes")), "true or false"],
    ["half of what waits", changed((peer) => (peer["other"] = { commitment: "c" })), "other lacks"],
    ["half a peer", changed((peer) => (peer["peer"] = { commitment: "c" })), "lacks key"],
  ])("refuses %s", (_what, text, words) => {
    expect(parsed(text)).toEqual({ ok: false, detail: expect.stringContaining(words) });
  });
});
