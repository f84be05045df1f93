import { describe, expect, test } from "vitest";
import { follow, noteRevoked, pin, revokeKey } from "../../src/trust/pins.ts";
import {
  EMPTY_STORE,
  heldAfter,
  newPeer,
  peerNamed,
  type TrustStore,
} from "../../src/trust/store.ts";
import { parseTrustStore, serialiseTrustStore } from "../../src/trust/trust-file.ts";
import { keyId, publicKeyOf } from "../../src/wire/signature.ts";

const KEY = publicKeyOf(new Uint8Array(32).fill(7));
const KEY_ID = keyId("scribe", KEY);
const LAST = { seq: 34, id: "3".repeat(64) };
const AT = "2026-06-01T12:00:00.000Z";

function changed(change: { ok: boolean; store?: TrustStore }): TrustStore {
  if (change.store === undefined) throw new Error("refused");
  return change.store;
}

const pinned = changed(pin(EMPTY_STORE, "scribe", KEY, AT));

describe("what is believed of an agent (spec 2.1, 2.3)", () => {
  test("nothing of one that is not in the store, which is UNTRUSTED", () => {
    expect(peerNamed(EMPTY_STORE, "ann")).toEqual(newPeer("ann"));
    expect(newPeer("ann")).toMatchObject({ tier: "UNTRUSTED", blocked: false, keys: [] });
    expect(heldAfter(newPeer("ann"))).toBeUndefined();
  });

  test("after a revoked key nothing behind the last good line", () => {
    const revoked = changed(revokeKey(pinned, KEY_ID, Date.parse(AT)));
    expect(peerNamed(revoked, "scribe").tier).toBe("UNTRUSTED");
    expect(heldAfter(peerNamed(revoked, "scribe"))).toBeNull();
    const named = changed(noteRevoked(revoked, KEY_ID, AT, LAST));
    expect(heldAfter(peerNamed(named, "scribe"))).toEqual(LAST);
    expect(peerNamed(named, "scribe").keys).toMatchObject([{ active: false, last: LAST }]);
  });

  test("last lines and branches that are followed survive the file", () => {
    const revoked = changed(noteRevoked(pinned, KEY_ID, AT, LAST));
    const decided = changed(follow(revoked, "scribe", LAST));
    const read = parseTrustStore(Buffer.from(serialiseTrustStore(decided)), 0);
    expect(read).toEqual({ ok: true, store: decided });
    const wrong = serialiseTrustStore(decided).replace(LAST.id, "no id");
    expect(parseTrustStore(Buffer.from(wrong), 0)).toMatchObject({ ok: false });
  });
});
