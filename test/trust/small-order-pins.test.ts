import { expect, test } from "vitest";
import { verifyLine } from "../../src/protocol/admit/verify-line.ts";
import { importTrust } from "../../src/trust/cards/advertised.ts";
import { acceptKey, pin } from "../../src/trust/pins.ts";
import { EMPTY_STORE } from "../../src/trust/store.ts";
import { verifyCard } from "../../src/trust/cards/card.ts";
import { cardOf } from "../support/foreign-card.ts";
import { parseTrustFile, parseTrustStore } from "../../src/trust/trust-file.ts";
import { encodeBase64, keyId } from "../../src/wire/signature.ts";
import { alice, lineOf, note, peer, signV31, storeOf } from "./people.ts";

// A key of small order signs anything for anybody, so none gets in by any door. These are all its
// encodings: eight points, those that carry a wrong sign, and those that are not reduced.
const SMALL_ORDER = [
  "0000000000000000000000000000000000000000000000000000000000000000",
  "0000000000000000000000000000000000000000000000000000000000000080",
  "0100000000000000000000000000000000000000000000000000000000000000",
  "0100000000000000000000000000000000000000000000000000000000000080",
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
  "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
  "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
  "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
];
const AT = "2026-06-01T00:00:00Z";
const IDENTITY = `01${"00".repeat(31)}`;

function trustFile(key: Uint8Array): Uint8Array {
  const pinned = {
    key_id: keyId("mallory", key),
    key: encodeBase64(key),
    added_at: AT,
    active: true,
  };
  const agents = { mallory: { tier: "TRUSTED", public_keys: [pinned] } };
  return Buffer.from(JSON.stringify({ schema_version: "v3.1", version: 1, agents }));
}

/** A card of mallory's that also shows that key. */
function cardShowing(key: Uint8Array): Uint8Array {
  const card = JSON.parse(Buffer.from(cardOf("mallory", 9)).toString("utf8")) as {
    verify_keys: Record<string, unknown>;
  };
  const shown = { key: encodeBase64(key), valid_from: null, valid_until: null };
  card.verify_keys[`ed25519:${keyId("mallory", key)}`] = shown;
  return Buffer.from(JSON.stringify(card));
}

test.each(SMALL_ORDER)("small-order pins: %s is pinned by no door", (hex) => {
  const key = Buffer.from(hex, "hex");
  expect(pin(EMPTY_STORE, "mallory", key, AT).ok).toBe(false);
  expect(acceptKey(storeOf(peer(alice)), "alice", key, AT).ok).toBe(false);
  const keysOf = (document: { peers: ReadonlyMap<string, { keys: readonly unknown[] }> }) =>
    [...document.peers.values()].flatMap(({ keys }) => keys);
  const advertised = parseTrustFile(trustFile(key), "trust.json", "ATTESTED");
  if (advertised.ok) expect(keysOf(advertised.document)).toEqual([]);
  const how = { acceptWireTrust: true, nowMs: 0 };
  const imported = importTrust(EMPTY_STORE, trustFile(key), "trust.json", how);
  if (imported.ok) expect(keysOf(imported.store)).toEqual([]);
  expect(parseTrustStore(trustFile(key), 0).ok).toBe(false);
  expect(verifyCard(cardShowing(key), Date.parse(AT))).toMatchObject({
    detail: expect.stringContaining("is no usable Ed25519 public key"),
  });
});

test("small-order pins: the doors are open to a key that is none", () => {
  expect(parseTrustStore(trustFile(alice.key), 0).ok).toBe(true);
  const advertised = parseTrustFile(trustFile(alice.key), "trust.json", "ATTESTED");
  expect(advertised).toMatchObject({ ok: true });
  expect(pin(EMPTY_STORE, "mallory", alice.key, AT).ok).toBe(true);
});

test("small-order pins: one that got in all the same signs nothing", () => {
  const key = Buffer.from(IDENTITY, "hex");
  const keyIdOf = keyId("alice", key);
  const pinned = { keyId: keyIdOf, key, addedAt: AT, active: true };
  const store = storeOf({ ...peer(alice), keys: [pinned] });
  const signature = encodeBase64(Buffer.concat([key, Buffer.alloc(32)]));
  const line = lineOf({ ...signV31(note()), public_key_id: keyIdOf, signature });
  const verdict = verifyLine(line, store);
  expect(verdict).toMatchObject({ ok: false, problem: { reason: "invalid_signature" } });
});
