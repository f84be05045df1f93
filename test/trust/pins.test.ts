import { describe, expect, test } from "vitest";
import {
  acceptKey,
  confirmSas,
  deactivateKey,
  endRevocation,
  noteCard,
  pin,
  proveKey,
  release,
  revokeKey,
  setFlags,
  setReciprocations,
  setTier,
  type StoreChange,
} from "../../src/trust/pins.ts";
import { EMPTY_STORE, newPeer, tierOf, type Peer, type TrustStore } from "../../src/trust/store.ts";
import { parseTrustStore, serialiseTrustStore } from "../../src/trust/trust-file.ts";
import { TIERS, type Tier } from "../../src/trust/tiers.ts";
import { alice, bob, peer, person, pinned, storeOf, withHold } from "./people.ts";

const AT = "2026-06-01T00:00:00Z";
const second = person("alice", " second");

/** alice with two keys. */
const both: Peer = { ...peer(alice), keys: [pinned(alice), pinned(second)] };

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

  test("an agent that is known by its name alone keeps what is known of it", () => {
    const known = { ...newPeer("alice"), blocked: true };
    const store = done(pin(storeOf(known), "alice", alice.key, AT));
    expect(store).toEqual({
      version: 2,
      peers: new Map([["alice", { ...known, keys: [{ ...pinned(alice), addedAt: AT }] }]]),
    });
  });

  test.each([
    ["pinned", pin],
    ["accepted", acceptKey],
  ])("the same key %s again changes nothing", (_, add) => {
    const store = storeOf(both);
    expect(done(add(store, "alice", alice.key, AT))).toBe(store);
    expect(done(add(store, "alice", second.key, AT))).toBe(store);
  });

  test("a pin is never replaced, nor added to", () => {
    const third = person("alice", " third");
    expect(pin(storeOf(both), "alice", third.key, AT)).toEqual({
      ok: false,
      detail: `alice has a pinned key already (${alice.signer.keyId}, ${second.signer.keyId}), and a pin is never replaced; a further key needs the operator's decision or a rotation signed with the old key`,
    });
  });

  test.each([true, false])("another key under a pinned id is refused: active %s", (active) => {
    const twin = { ...peer(alice), keys: [{ ...pinned(alice, active), key: bob.key }] };
    expect(acceptKey(storeOf(twin), "alice", alice.key, AT)).toEqual({
      ok: false,
      detail: `another key is pinned under the id ${alice.signer.keyId}; make a new key for alice`,
    });
    expect(pin(storeOf(twin), "alice", alice.key, AT).ok).toBe(false);
  });

  test("a pin is not replaced either when its key was revoked", () => {
    const revoked = done(revokeKey(storeOf(peer(alice)), alice.signer.keyId, 0));
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
    expect(pin(EMPTY_STORE, "alice", key, AT)).toEqual({
      ok: false,
      detail:
        "the key offered for alice is no usable Ed25519 public key; expected 32 bytes, a canonical point that is not of small order",
    });
  });

  test("a name that is no handle is refused", () => {
    expect(pin(EMPTY_STORE, "../alice", alice.key, AT)).toEqual({
      ok: false,
      detail: '"../alice" is not a handle',
    });
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

test("nobody gets so many keys that the store could not be read any more", () => {
  let store = storeOf(peer(alice));
  for (let count = 1; count < 64; count += 1) {
    store = done(acceptKey(store, "alice", person("alice", ` ${count}`).key, AT));
  }
  const more = acceptKey(store, "alice", second.key, AT);
  expect(more).toMatchObject({ ok: false, detail: expect.stringContaining("64 keys of alice") });
  const read = parseTrustStore(Buffer.from(serialiseTrustStore(store)), 0);
  expect(read.ok && read.store.peers.get("alice")?.keys.length).toBe(64);
});

describe("proving", () => {
  const untrusted: Peer = { ...both, tier: "UNTRUSTED" };
  const activeOf = (store: TrustStore) =>
    store.peers.get("alice")?.keys.filter(({ active }) => active) ?? [];

  test("of an UNTRUSTED agent stops whatever else was pinned, from its first line on", () => {
    const store = done(proveKey(storeOf(untrusted), "alice", second.key, AT));
    expect(activeOf(store).map(({ keyId }) => keyId)).toEqual([second.signer.keyId]);
    expect(store.peers.get("alice")?.keys[0]).toMatchObject({ active: false, deactivatedAt: AT });
  });

  test("of an agent that was proved before adds to what was proved", () => {
    const third = person("alice", " third");
    const verified: Peer = { ...both, tier: "VERIFIED" };
    const store = done(proveKey(storeOf(verified), "alice", third.key, AT));
    expect(activeOf(store)).toHaveLength(3);
  });

  test("accepts the key of somebody new, and the same once more", () => {
    const store = done(proveKey(EMPTY_STORE, "alice", alice.key, AT));
    expect(activeOf(store).map(({ keyId }) => keyId)).toEqual([alice.signer.keyId]);
    expect(done(proveKey(store, "alice", alice.key, AT))).toEqual(store);
  });

  test("is kept out by nobody who has a key with the same id", () => {
    const squatter = { ...untrusted, keys: [{ ...pinned(alice), key: bob.key }] };
    const store = done(proveKey(storeOf(squatter), "alice", alice.key, AT));
    expect(activeOf(store).map(({ key }) => key)).toEqual([alice.key]);
  });

  test("lets no key back that was deactivated", () => {
    const ended = { ...untrusted, keys: [pinned(alice, false), pinned(second)] };
    expect(proveKey(storeOf(ended), "alice", alice.key, AT).ok).toBe(false);
  });
});

describe("deactivating", () => {
  const last = { seq: 9, id: "ab" };

  test("notes the last line for which it is believed, once", () => {
    const store = done(deactivateKey(storeOf(peer(alice)), alice.signer.keyId, AT, last));
    expect(store.version).toBe(2);
    expect(store.peers.get("alice")?.keys).toEqual([
      { ...pinned(alice, false), deactivatedAt: AT, last },
    ]);
    const later = { seq: 99, id: "cd" };
    expect(done(deactivateKey(store, alice.signer.keyId, "later", later))).toBe(store);
  });

  test("one key leaves the others as they are", () => {
    const store = done(deactivateKey(storeOf(both), second.signer.keyId, AT));
    expect(store.peers.get("alice")?.keys).toEqual([
      pinned(alice),
      { ...pinned(second, false), deactivatedAt: AT },
    ]);
  });

  test("a key that comes back is refused", () => {
    const store = done(deactivateKey(storeOf(peer(alice)), alice.signer.keyId, AT));
    expect(acceptKey(store, "alice", alice.key, AT)).toEqual({
      ok: false,
      detail: `${alice.signer.keyId} was deactivated and does not come back; make a new key for alice`,
    });
  });

  test.each(["alice:00000000", "bob:28bf6857", "nothing", ""])("%j is not pinned", (id) => {
    const refused = {
      ok: false,
      detail: `no key ${JSON.stringify(id)} is pinned; deaddrop trust list shows those that are`,
    };
    expect(deactivateKey(storeOf(peer(alice)), id, AT)).toEqual(refused);
    expect(revokeKey(storeOf(peer(alice)), id, 5_000)).toEqual(refused);
  });

  test("revoking holds the agent as well", () => {
    const store = done(revokeKey(storeOf(peer(alice)), alice.signer.keyId, 5_000));
    expect(store.peers.get("alice")).toMatchObject({
      keys: [{ active: false, deactivatedAt: "1970-01-01T00:00:05.000Z" }],
      held: {
        cause: "key_revoked",
        detail: `${alice.signer.keyId} was revoked`,
        sinceMs: 5_000,
      },
    });
  });

  test("whoever has the key keeps nothing that was earned or compared with it", () => {
    const risen = { ...peer(alice, "TRUSTED"), attestedSinceMs: 1, reciprocations: 12 };
    const before = storeOf({ ...risen, sasVerifiedAt: AT });
    const store = done(revokeKey(before, alice.signer.keyId, 5_000));
    expect(store.peers.get("alice")).toMatchObject({
      tier: "UNTRUSTED",
      tierSetAtMs: 5_000,
      attestedSinceMs: undefined,
      sasVerifiedAt: undefined,
      reciprocations: 0,
    });
    const none = done(
      revokeKey(storeOf({ ...peer(alice), tier: undefined }), alice.signer.keyId, 5_000),
    );
    expect(none.peers.get("alice")?.tier).toBeUndefined();
  });

  test("only the revoked key is noted as revoked, and one who is UNTRUSTED stays as it is", () => {
    const low = { ...both, tier: "UNTRUSTED" as const, tierSetAtMs: 7, sasVerifiedAt: AT };
    const store = done(revokeKey(storeOf(low), second.signer.keyId, 5_000));
    const { keys, tierSetAtMs, sasVerifiedAt } = store.peers.get("alice") ?? low;
    expect(keys.map(({ keyId, revoked }) => [keyId, revoked])).toEqual([
      [alice.signer.keyId, undefined],
      [second.signer.keyId, true],
    ]);
    expect([tierSetAtMs, sasVerifiedAt]).toEqual([7, undefined]);
  });

  test("nothing ends for one who is not held, or not in the store", () => {
    const store = storeOf(peer(alice));
    expect(done(endRevocation(store, "alice"))).toBe(store);
    expect(done(endRevocation(store, "bob"))).toBe(store);
  });

  test("another reason to hold stands, and a stopped key can be revoked all the same", () => {
    const forked = { cause: "log_forked", detail: "line 3", sinceMs: 1 };
    const stopped = done(deactivateKey(storeOf(peer(alice)), alice.signer.keyId, AT));
    const held = withHold(stopped, "alice", forked);
    const store = done(revokeKey(held, alice.signer.keyId, 5_000));
    expect(store.version).toBeGreaterThan(held.version);
    expect(store.peers.get("alice")).toMatchObject({ tier: "UNTRUSTED", held: forked });
    expect(done(endRevocation(store, "alice"))).toBe(store);
  });

  test("a key proved afterwards is the only one, whatever the lost one has brought in", () => {
    const [brought, honest] = [person("alice", "attacker"), person("alice", "new")];
    const both = done(acceptKey(storeOf(peer(alice, "TRUSTED")), "alice", brought.key, AT));
    const revoked = done(revokeKey(both, alice.signer.keyId, 5_000));
    const proved = done(proveKey(revoked, "alice", honest.key, AT));
    const store = done(endRevocation(done(confirmSas(proved, "alice", 6_000)), "alice"));
    expect(store.peers.get("alice")).toMatchObject({ tier: "VERIFIED", held: undefined });
    expect(store.peers.get("alice")?.keys.map(({ keyId, active }) => [keyId, active])).toEqual([
      [alice.signer.keyId, false],
      [brought.signer.keyId, false],
      [honest.signer.keyId, true],
    ]);
    expect(proveKey(revoked, "alice", alice.key, AT)).toMatchObject({
      detail: expect.stringContaining("was deactivated and does not come back"),
    });
  });
});

test("where a card came from is noted, and the last one stands", () => {
  const [first, second] = ["https://example.org/a", undefined].map((url) => ({ url, at: AT }));
  const noted = done(noteCard(storeOf(peer(alice)), "alice", first ?? { url: undefined, at: AT }));
  expect(noted.peers.get("alice")).toMatchObject({ cardUrl: first?.url, cardFetchedAt: AT });
  const again = done(noteCard(noted, "alice", second ?? { url: "", at: AT }));
  expect(again.peers.get("alice")?.cardUrl).toBeUndefined();
});

describe("holding and blocking", () => {
  const why = { cause: "log_forked", detail: "line 3", sinceMs: 1 };

  test("a hold lasts until it is released", () => {
    const held = withHold(storeOf(peer(alice)), "alice", why);
    expect(done(release(held, "alice")).peers.get("alice")?.held).toBeUndefined();
  });

  test("an agent without a key can be blocked", () => {
    expect(
      tierOf(done(setFlags(EMPTY_STORE, "alice", { blocked: true })), "alice"),
    ).toBeUndefined();
  });

  const known = storeOf(peer(alice));

  test.each<[string, (store: TrustStore, handle: string) => StoreChange]>([
    ["releasing who is not held", release],
    [
      "unblocking who is not blocked",
      (store, handle) => setFlags(store, handle, { blocked: false }),
    ],
    [
      "forbidding what is not allowed",
      (store, handle) => setFlags(store, handle, { allowUnchained: false }),
    ],
    ["counting no more than before", (store, handle) => setReciprocations(store, handle, 0, 1_000)],
    ["setting the tier that it has", (store, handle) => setTier(store, handle, "ATTESTED", 1_000)],
  ])("%s changes nothing", (name, step) => {
    expect(done(step(known, "alice"))).toBe(known);
    if (!name.includes("tier")) expect(done(step(known, "carol"))).toBe(known);
  });

  test("what the operator allows stands until it is taken back", () => {
    const allowed = done(setFlags(known, "alice", { allowUnchained: true }));
    expect(allowed.peers.get("alice")).toEqual({ ...peer(alice), allowUnchained: true });
    expect(done(setFlags(allowed, "alice", { allowUnchained: true }))).toBe(allowed);
    expect(done(setFlags(allowed, "alice", { allowUnchained: false })).peers).toEqual(known.peers);
  });

  test("unblocking gives the tier back", () => {
    const blocked = done(setFlags(storeOf(peer(alice, "TRUSTED")), "alice", { blocked: true }));
    expect(tierOf(blocked, "alice")).toBeUndefined();
    expect(tierOf(done(setFlags(blocked, "alice", { blocked: false })), "alice")).toBe("TRUSTED");
  });
});

describe("tiers", () => {
  const steps = [...TIERS, undefined].flatMap((from) => TIERS.map((to) => [from, to] as const));

  test.each(steps)("the operator sets %s to %s", (from, to) => {
    const change = setTier(storeOf({ ...peer(alice), tier: from }), "alice", to, 1_000);
    const allowed = to !== "TRUSTED" || from === "ATTESTED" || from === "TRUSTED";
    expect(change.ok).toBe(allowed);
    if (change.ok) expect(tierOf(change.store, "alice")).toBe(to);
    else {
      expect(change.detail).toBe(
        `alice is ${from ?? "of no tier"}; TRUSTED is reached from ATTESTED only, so make it ATTESTED first`,
      );
    }
  });

  test("nobody without a key is raised, unless the operator knows that it signs nothing", () => {
    expect(setTier(EMPTY_STORE, "alice", "VERIFIED", 1_000)).toEqual({
      ok: false,
      detail: "no key of alice is pinned, so there is nobody to trust; pin one first",
    });
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

  test("ten reciprocations make VERIFIED ATTESTED, counted again as often as one likes", () => {
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

  test.each([
    ["UNTRUSTED", "VERIFIED", 0],
    ["VERIFIED", "UNTRUSTED", 0],
    ["ATTESTED", "VERIFIED", 0],
    ["VERIFIED", "ATTESTED", 50],
    ["ATTESTED", "TRUSTED", 50],
    ["TRUSTED", "ATTESTED", 50],
  ] as const)("counting from %s to %s goes on from %i", (from, to, count) => {
    const store = storeOf({ ...peer(alice, from), reciprocations: 50 });
    const set = done(setTier(store, "alice", to, 1_000));
    expect(set.peers.get("alice")?.reciprocations).toBe(count);
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
  });

  test("a SAS of an agent without a key cannot be confirmed", () => {
    for (const store of [EMPTY_STORE, storeOf(newPeer("bob"))]) {
      expect(confirmSas(store, "bob", 1_000)).toEqual({
        ok: false,
        detail: "no key of bob is pinned, so there are no digits to compare",
      });
    }
  });
});

describe("what is noted of an agent", () => {
  test("where its card came from, also of one who is new", () => {
    const from = { url: "https://a.example/card.json", at: AT };
    const noted = { cardUrl: from.url, cardFetchedAt: AT };
    expect(done(noteCard(EMPTY_STORE, "alice", from)).peers.get("alice")).toEqual({
      ...newPeer("alice"),
      ...noted,
    });
    expect(done(noteCard(storeOf(peer(alice)), "alice", from)).peers.get("alice")).toEqual({
      ...peer(alice),
      ...noted,
    });
  });

  test("that it may write unsigned lines: no change is no new version", () => {
    const allowed = done(setFlags(EMPTY_STORE, "alice", { mayBeUnsigned: true }));
    expect(allowed.peers.get("alice")).toEqual({ ...newPeer("alice"), mayBeUnsigned: true });
    expect(done(setFlags(allowed, "alice", { mayBeUnsigned: true }))).toBe(allowed);
    expect(done(setFlags(EMPTY_STORE, "alice", { mayBeUnsigned: false }))).toBe(EMPTY_STORE);
    const keyed = done(setFlags(storeOf(peer(alice)), "alice", { mayBeUnsigned: true }));
    expect(keyed.peers.get("alice")).toEqual({ ...peer(alice), mayBeUnsigned: true });
    expect(done(setFlags(keyed, "alice", { mayBeUnsigned: false })).peers.get("alice")).toEqual(
      peer(alice),
    );
  });
});
