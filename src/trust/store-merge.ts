import type { Peer, PinnedKey, TrustStore } from "./store.ts";
import { compareTiers, type Tier } from "./tiers.ts";

/**
 * A newer store in the place of an older one: it decides all, but a key that was deactivated does
 * not come back (spec 2.1), whatever the newer one says.
 */
export function succeedStore(older: TrustStore, newer: TrustStore): TrustStore["peers"] {
  return joinEach(older, newer, (old, next) => ({
    ...next,
    keys: joinKeys(old.keys, next.keys, "succeeds"),
  }));
}

/**
 * An older store beside the one here: nothing that is known here is forgotten, and nobody is believed
 * further than both say. Keys are joined and stay deactivated, agents stay blocked and held.
 */
export function joinStores(here: TrustStore, older: TrustStore): TrustStore["peers"] {
  return joinEach(here, older, joinPeer);
}

function joinEach(
  here: TrustStore,
  other: TrustStore,
  join: (here: Peer, other: Peer) => Peer,
): TrustStore["peers"] {
  const peers = new Map([...here.peers, ...other.peers]);
  for (const [handle, peer] of here.peers) {
    const beside = other.peers.get(handle);
    if (beside !== undefined) peers.set(handle, join(peer, beside));
  }
  return peers;
}

function joinPeer(here: Peer, older: Peer): Peer {
  const standing = isBelow(older.tier, here.tier) ? older : here;
  const decided = here.follows ?? [];
  const follows = [
    ...decided,
    ...(older.follows ?? []).filter(({ seq }) => decided.every((each) => each.seq !== seq)),
  ];
  return {
    ...here,
    tier: standing.tier,
    tierSetAtMs: standing.tierSetAtMs,
    attestedSinceMs: standing.attestedSinceMs,
    sasVerifiedAt: standing.sasVerifiedAt,
    reciprocations: Math.min(here.reciprocations, older.reciprocations),
    blocked: here.blocked || older.blocked,
    held: here.held ?? older.held,
    allowUnchained: here.allowUnchained && older.allowUnchained,
    mayBeUnsigned: here.mayBeUnsigned && older.mayBeUnsigned,
    keys: joinKeys(here.keys, older.keys, "is beside"),
    ...(follows.length === 0 ? {} : { follows }),
    extra: { ...older.extra, ...here.extra },
  };
}

/** No tier accepts nothing, so it is below all. */
function isBelow(a: Tier | undefined, b: Tier | undefined): boolean {
  if (a === undefined || b === undefined) return a === undefined && b !== undefined;
  return compareTiers(a, b) < 0;
}

type Joining = "succeeds" | "is beside";

function joinKeys(
  here: readonly PinnedKey[],
  other: readonly PinnedKey[],
  how: Joining,
): readonly PinnedKey[] {
  const sameIn = (keys: readonly PinnedKey[], { keyId }: PinnedKey) =>
    keys.find((key) => key.keyId === keyId);
  const joined = other.map((key) => {
    const known = sameIn(here, key);
    if (known === undefined) return key;
    // Two keys of one id are never believed at once.
    if (Buffer.compare(known.key, key.key) !== 0) return how === "succeeds" ? key : known;
    return known.active ? key : known;
  });
  const rest = here.filter((key) => sameIn(other, key) === undefined);
  return [...joined, ...rest.filter(({ active }) => how === "is beside" || !active)];
}
