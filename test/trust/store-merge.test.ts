import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { joinStores, succeedStore } from "../../src/trust/store-merge.ts";
import { newPeer, type Peer, type PinnedKey, type TrustStore } from "../../src/trust/store.ts";
import { TIERS } from "../../src/trust/tiers.ts";
import { keyId, publicKeyOf } from "../../src/wire/signature.ts";

const KEYS = [1, 2, 3].map((number) => publicKeyOf(new Uint8Array(32).fill(number)));
const HANDLES = ["scribe", "quill"];

const keysOf = (handle: string) =>
  fc
    .tuple(...KEYS.map(() => fc.constantFrom("none", "active", "stopped")))
    .map((states): readonly PinnedKey[] =>
      states.flatMap((state, at) => {
        const key = KEYS[at] ?? new Uint8Array(32);
        if (state === "none") return [];
        return [{ keyId: keyId(handle, key), key, addedAt: "", active: state === "active" }];
      }),
    );

const peerOf = (handle: string): fc.Arbitrary<Peer> =>
  fc
    .record({
      tier: fc.constantFrom(undefined, ...TIERS),
      blocked: fc.boolean(),
      held: fc.constantFrom(undefined, { cause: "log_forked", detail: "", sinceMs: 1 }),
      allowUnchained: fc.boolean(),
      reciprocations: fc.nat(12),
      keys: keysOf(handle),
    })
    .map((fields) => ({ ...newPeer(handle), ...fields }));

const store: fc.Arbitrary<TrustStore> = fc
  .tuple(...HANDLES.map((handle) => fc.option(peerOf(handle), { nil: undefined })))
  .map((peers) => ({
    version: 1,
    peers: new Map(peers.flatMap((peer) => (peer === undefined ? [] : [[peer.handle, peer]]))),
  }));

const rank = ({ tier }: Peer) => (tier === undefined ? -1 : TIERS.indexOf(tier));
const stopped = (peer: Peer | undefined) =>
  (peer?.keys ?? []).filter(({ active }) => !active).map((key) => key.keyId);

function inBoth(a: TrustStore, b: TrustStore): readonly [Peer, Peer][] {
  return [...a.peers.values()].flatMap((peer): [Peer, Peer][] => {
    const other = b.peers.get(peer.handle);
    return other === undefined ? [] : [[peer, other]];
  });
}

describe("an older store beside the one here", () => {
  it("forgets nobody and no key, and believes nobody further than both say", () => {
    fc.assert(
      fc.property(store, store, (here, older) => {
        const peers = joinStores(here, older);
        expect(new Set(peers.keys())).toEqual(
          new Set([...here.peers.keys(), ...older.peers.keys()]),
        );
        for (const [now, then] of inBoth(here, older)) {
          const joined = peers.get(now.handle) as Peer;
          expect(rank(joined)).toBe(Math.min(rank(now), rank(then)));
          expect(joined.blocked).toBe(now.blocked || then.blocked);
          expect(joined.held !== undefined).toBe(now.held !== undefined || then.held !== undefined);
          expect(joined.allowUnchained).toBe(now.allowUnchained && then.allowUnchained);
          const ids = joined.keys.map((key) => key.keyId);
          expect(new Set(ids)).toEqual(new Set([...now.keys, ...then.keys].map((k) => k.keyId)));
          expect(ids).toHaveLength(new Set(ids).size);
          expect(new Set(stopped(joined))).toEqual(new Set([...stopped(now), ...stopped(then)]));
        }
        // Once more changes nothing.
        const again = joinStores({ version: 1, peers }, older);
        for (const [handle, peer] of peers) {
          const sorted = (p: Peer | undefined) => p?.keys.map((key) => key.keyId).toSorted();
          expect(sorted(again.get(handle))).toEqual(sorted(peer));
          expect({ ...again.get(handle), keys: [] }).toEqual({ ...peer, keys: [] });
        }
      }),
    );
  });

  it("keeps the key that is known here under an id, and not another one that has the same", () => {
    const [first, second] = KEYS.map((key) => ({
      keyId: "scribe:1a2b3c4d",
      key,
      addedAt: "",
      active: true,
    }));
    if (first === undefined || second === undefined) throw new Error("three keys");
    const of = (key: PinnedKey): TrustStore => ({
      version: 1,
      peers: new Map([["scribe", { ...newPeer("scribe"), keys: [key] }]]),
    });
    expect(joinStores(of(first), of(second)).get("scribe")?.keys).toEqual([first]);
    expect(succeedStore(of(first), of(second)).get("scribe")?.keys).toEqual([second]);
  });
});

describe("what two stores say of one agent", () => {
  const of = (peer: Partial<Peer>): TrustStore => ({
    version: 1,
    peers: new Map([["scribe", { ...newPeer("scribe"), ...peer }]]),
  });
  const joined = (here: Partial<Peer>, older: Partial<Peer>) =>
    joinStores(of(here), of(older)).get("scribe");

  it.each<[Peer["tier"], Peer["tier"], Peer["tier"]]>([
    ["TRUSTED", "VERIFIED", "VERIFIED"],
    ["VERIFIED", "TRUSTED", "VERIFIED"],
    [undefined, "UNTRUSTED", undefined],
    ["UNTRUSTED", undefined, undefined],
    [undefined, undefined, undefined],
    ["ATTESTED", "ATTESTED", "ATTESTED"],
  ])("%s here and %s there is %s", (here, older, expected) => {
    expect(joined({ tier: here }, { tier: older })?.tier).toBe(expected);
  });

  it("what was noted with a tier goes with it; of equal ones with that of here", () => {
    const [here, there] = [
      { tierSetAtMs: 1, attestedSinceMs: 2, sasVerifiedAt: "here" },
      { tierSetAtMs: 3, attestedSinceMs: 4, sasVerifiedAt: "there" },
    ];
    const low = { ...there, tier: "VERIFIED" as const };
    expect(joined({ ...here, tier: "TRUSTED" }, low)).toMatchObject(low);
    expect(joined({ ...here, tier: "VERIFIED" }, low)).toMatchObject(here);
  });

  it("counts what both count, and keeps what either holds beside", () => {
    const both = joined(
      { reciprocations: 3, mayBeUnsigned: true, extra: { a: 1, b: 1 } },
      { reciprocations: 2, mayBeUnsigned: false, extra: { b: 2, c: 2 } },
    );
    expect(both).toMatchObject({ reciprocations: 2, mayBeUnsigned: false });
    expect(both?.extra).toEqual({ a: 1, b: 1, c: 2 });
    expect(joined({ mayBeUnsigned: true }, { mayBeUnsigned: true })?.mayBeUnsigned).toBe(true);
    expect(joined({ mayBeUnsigned: false }, { mayBeUnsigned: true })?.mayBeUnsigned).toBe(false);
  });
});

describe("a newer store in the place of an older one", () => {
  it("decides all but that a stopped key comes back", () => {
    fc.assert(
      fc.property(store, store, (older, newer) => {
        const peers = succeedStore(older, newer);
        for (const [then, now] of inBoth(older, newer)) {
          const next = peers.get(now.handle) as Peer;
          expect({ ...next, keys: [] }).toEqual({ ...now, keys: [] });
          const active = next.keys.filter((key) => key.active).map((key) => key.keyId);
          const expected = now.keys
            .filter((key) => key.active && !stopped(then).includes(key.keyId))
            .map((key) => key.keyId);
          expect(new Set(active)).toEqual(new Set(expected));
          for (const id of stopped(then)) expect(stopped(next)).toContain(id);
        }
      }),
    );
  });
});
