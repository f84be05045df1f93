import { describe, expect, test } from "vitest";
import {
  acceptKey,
  confirmSas,
  deactivateKey,
  hold,
  pin,
  release,
  revokeKey,
  setBlocked,
  setReciprocations,
  setTier,
  type StoreChange,
} from "../../src/trust/pins.ts";
import { EMPTY_STORE, tierOf, type TrustStore } from "../../src/trust/store.ts";
import { TIERS, type Tier } from "../../src/trust/tiers.ts";
import { alice, bob, peer, person, storeOf } from "./people.ts";

const AT = "2026-06-01T00:00:00Z";
const second = person("alice", " second");

function done(change: StoreChange): TrustStore {
  if (!change.ok) throw new Error(change.detail);
  return change.store;
}

describe("pinning", () => {
  test("a new agent enters at UNTRUSTED, and the version grows", () => {
    const store = done(pin(EMPTY_STORE, "alice", alice.key, AT));
    expect(store.version).toBe(1);
    expect(tierOf(store, "alice")).toBe("UNTRUSTED");
    expect(store.peers.get("alice")?.keys).toEqual([
      { keyId: alice.signer.keyId, key: alice.key, addedAt: AT, active: true },
    ]);
  });

  test("the same key again changes nothing", () => {
    const store = storeOf(peer(alice));
    expect(done(pin(store, "alice", alice.key, AT))).toBe(store);
  });

  test("a pin is never replaced, nor added to", () => {
    expect(pin(storeOf(peer(alice)), "alice", second.key, AT)).toMatchObject({
      ok: false,
      detail: expect.stringContaining("a pin is never replaced"),
    });
  });

  test("a pin is not replaced either when its key was revoked", () => {
    const revoked = done(revokeKey(storeOf(peer(alice)), alice.signer.keyId, 0, new Map()));
    expect(pin(revoked, "alice", second.key, AT).ok).toBe(false);
    expect(pin(revoked, "alice", alice.key, AT).ok).toBe(false);
  });

  test.each([
    ["of small order: zero", new Uint8Array(32)],
    ["of small order: one", new Uint8Array(32).fill(1, 0, 1)],
    ["that is no point's canonical form", new Uint8Array(32).fill(0xff)],
    ["of 31 bytes", alice.key.subarray(1)],
    ["of 33 bytes", Uint8Array.from([...alice.key, 0])],
  ])("a key %s is refused", (_, key) => {
    expect(pin(EMPTY_STORE, "alice", key, AT)).toMatchObject({
      ok: false,
      detail: expect.stringContaining("no usable Ed25519 public key"),
    });
  });

  test("a name that is no handle is refused", () => {
    expect(pin(EMPTY_STORE, "../alice", alice.key, AT).ok).toBe(false);
  });

  test("an accepted key stands beside the first, at the same tier", () => {
    const store = done(acceptKey(storeOf(peer(alice, "VERIFIED")), "alice", second.key, AT));
    const ids = store.peers.get("alice")?.keys.map((key) => key.keyId);
    expect(ids).toEqual([alice.signer.keyId, second.signer.keyId]);
    expect(tierOf(store, "alice")).toBe("VERIFIED");
  });

  test("the pinned bytes are not the caller's to change", () => {
    const key = Uint8Array.from(alice.key);
    const store = done(pin(EMPTY_STORE, "alice", key, AT));
    key.fill(0);
    expect(store.peers.get("alice")?.keys[0]?.key).toEqual(alice.key);
  });
});

describe("deactivating", () => {
  const ends = new Map([["alice_to_bob", { seq: 9, id: "ab" }]]);

  test("notes the last line of each log, once", () => {
    const store = done(deactivateKey(storeOf(peer(alice)), alice.signer.keyId, AT, ends));
    expect(store.version).toBe(2);
    expect(store.peers.get("alice")?.keys[0]).toMatchObject({
      active: false,
      deactivatedAt: AT,
      ends,
    });
    const later = new Map([["alice_to_bob", { seq: 99, id: "cd" }]]);
    expect(done(deactivateKey(store, alice.signer.keyId, "later", later))).toBe(store);
  });

  test("a key that comes back is refused", () => {
    const store = done(deactivateKey(storeOf(peer(alice)), alice.signer.keyId, AT, ends));
    expect(acceptKey(store, "alice", alice.key, AT)).toMatchObject({
      ok: false,
      detail: expect.stringContaining("does not come back"),
    });
  });

  test.each(["alice:00000000", "bob:28bf6857", "nothing", ""])("%j is not pinned", (id) => {
    expect(deactivateKey(storeOf(peer(alice)), id, AT, ends).ok).toBe(false);
  });

  test("revoking holds the agent as well", () => {
    const store = done(revokeKey(storeOf(peer(alice)), alice.signer.keyId, 5_000, ends));
    expect(store.peers.get("alice")).toMatchObject({
      keys: [{ active: false, deactivatedAt: "1970-01-01T00:00:05.000Z" }],
      held: { cause: "key_revoked", sinceMs: 5_000 },
    });
  });
});

describe("holding and blocking", () => {
  const why = { cause: "log_forked", detail: "line 3", sinceMs: 1 };

  test("the first reason to hold stands until it is released", () => {
    const held = done(hold(storeOf(peer(alice)), "alice", why));
    expect(done(hold(held, "alice", { ...why, cause: "log_rewritten" }))).toBe(held);
    expect(done(release(held, "alice")).peers.get("alice")?.held).toBeUndefined();
  });

  test("an agent without a key can be held and blocked", () => {
    expect(done(hold(EMPTY_STORE, "alice", why)).peers.get("alice")?.held).toEqual(why);
    expect(tierOf(done(setBlocked(EMPTY_STORE, "alice", true)), "alice")).toBeUndefined();
  });

  test("unblocking gives the tier back", () => {
    const blocked = done(setBlocked(storeOf(peer(alice, "TRUSTED")), "alice", true));
    expect(tierOf(blocked, "alice")).toBeUndefined();
    expect(tierOf(done(setBlocked(blocked, "alice", false)), "alice")).toBe("TRUSTED");
  });
});

describe("tiers", () => {
  const steps = [...TIERS, undefined].flatMap((from) => TIERS.map((to) => [from, to] as const));

  test.each(steps)("the operator sets %s to %s", (from, to) => {
    const change = setTier(storeOf({ ...peer(alice), tier: from }), "alice", to, 1_000);
    const allowed = to !== "TRUSTED" || from === "ATTESTED" || from === "TRUSTED";
    expect(change.ok).toBe(allowed);
    if (change.ok) expect(tierOf(change.store, "alice")).toBe(to);
    else expect(change.detail).toContain("TRUSTED is reached from ATTESTED only");
  });

  test("nobody without a key is raised, unless the operator knows that it signs nothing", () => {
    expect(setTier(EMPTY_STORE, "alice", "VERIFIED", 1_000).ok).toBe(false);
    expect(tierOf(done(setTier(EMPTY_STORE, "alice", "VERIFIED", 1_000, true)), "alice")).toBe(
      "VERIFIED",
    );
  });

  test("remember since when an agent is at least ATTESTED without a break", () => {
    let store = storeOf(peer(alice, "VERIFIED"));
    const since: (number | undefined)[] = [];
    const path: [Tier, number][] = [
      ["ATTESTED", 1],
      ["TRUSTED", 2],
      ["ATTESTED", 3],
      ["VERIFIED", 4],
      ["ATTESTED", 5],
    ];
    for (const [tier, nowMs] of path) {
      store = done(setTier(store, "alice", tier, nowMs));
      since.push(store.peers.get("alice")?.attestedSinceMs);
    }
    expect(since).toEqual([1, 1, 1, undefined, 5]);
  });

  test("ten reciprocations make VERIFIED ATTESTED, counted anew as often as one likes", () => {
    const store = storeOf(peer(alice, "VERIFIED"));
    const nine = done(setReciprocations(store, "alice", 9, 1_000));
    expect(tierOf(nine, "alice")).toBe("VERIFIED");
    expect(done(setReciprocations(nine, "alice", 9, 1_000))).toBe(nine);
    const ten = done(setReciprocations(nine, "alice", 10, 2_000));
    expect(ten.peers.get("alice")).toMatchObject({ tier: "ATTESTED", attestedSinceMs: 2_000 });
  });

  test("UNTRUSTED never rises by counting, nor does anyone to TRUSTED", () => {
    for (const tier of ["UNTRUSTED", "ATTESTED"] as const) {
      const store = done(setReciprocations(storeOf(peer(alice, tier)), "alice", 100, 1_000));
      expect(tierOf(store, "alice")).toBe(tier);
    }
  });

  test("counting begins anew with VERIFIED", () => {
    const store = storeOf({ ...peer(alice, "UNTRUSTED"), reciprocations: 50 });
    const verified = done(setTier(store, "alice", "VERIFIED", 1_000));
    expect(verified.peers.get("alice")?.reciprocations).toBe(0);
  });

  test("a confirmed SAS makes UNTRUSTED VERIFIED and lowers nobody", () => {
    const low = done(confirmSas(storeOf(peer(bob, "UNTRUSTED")), "bob", 1_000));
    expect(low.peers.get("bob")).toMatchObject({
      tier: "VERIFIED",
      sasVerifiedAt: "1970-01-01T00:00:01.000Z",
    });
    expect(tierOf(done(confirmSas(storeOf(peer(bob, "TRUSTED")), "bob", 1_000)), "bob")).toBe(
      "TRUSTED",
    );
    expect(confirmSas(EMPTY_STORE, "bob", 1_000).ok).toBe(false);
  });
});
