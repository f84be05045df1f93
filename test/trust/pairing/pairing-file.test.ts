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
    ["a text for a number", changed((peer) => (peer["restarts"] = "7")), "quill.restarts is"],
    ["no flag for shown", changed((peer) => (peer["shown"] = 1)), "peers.quill.shown is 1"],
    [
      "no mismatches",
      changed((peer) => delete peer["mismatches"]),
      "lacks its nonce, its key, shown",
    ],
    ["no shown", changed((peer) => delete peer["shown"]), "lacks its nonce, its key, shown"],
    ["a key too short", changed((peer) => (peer["key"] = "AAAA")), "peers.quill.key is not"],
    [
      "a nonce of the peer too short",
      changed((peer) => (peer["peer_nonce"] = "A")),
      "quill.peer_nonce",
    ],
    ["a pairing that is a text", '{"version":1,"peers":{"quill":"x"}}', "peers.quill is"],
    ["a peer that is a text", changed((peer) => (peer["peer"] = "x")), "peers.quill.peer is"],
    [
      "a peer's key too short",
      changed((peer) => (peer["peer"] = { key: "AAAA", commitment: "c" })),
      "peers.quill.peer.key is not",
    ],
    [
      "a commitment that is no text",
      changed((peer) => (peer["other"] = { commitment: 7 })),
      "peers.quill.other.commitment is 7",
    ],
    [
      "a peer without a commitment",
      changed((peer) => (peer["peer"] = { key: peer["key"] })),
      "lacks",
    ],
    ["peers that are a list", '{"version":1,"peers":[]}', "peers is a list"],
    ["half of what waits", changed((peer) => (peer["other"] = { commitment: "c" })), "other lacks"],
    ["half a peer", changed((peer) => (peer["peer"] = { commitment: "c" })), "lacks key"],
  ])("refuses %s", (_what, text, words) => {
    expect(parsed(text)).toEqual({ ok: false, detail: expect.stringContaining(words) });
  });
});
