import { isHandle } from "../wire/handle.ts";
import { isAcceptableKey, keyId, parseKeyId } from "../wire/signature.ts";
import {
  MAX_KEYS_PER_AGENT,
  newPeer,
  type LinePlace,
  type Peer,
  type PinnedKey,
  type TrustStore,
} from "./store.ts";
import { compareTiers, RECIPROCATIONS_TO_ATTEST, type Tier } from "./tiers.ts";

/** What a change of the store came to: a new store, one version up, or why it was refused. */
export type StoreChange =
  | { readonly ok: true; readonly store: TrustStore }
  | { readonly ok: false; readonly detail: string };

export type TrustChange = (store: TrustStore) => StoreChange;

/** Makes one change after another, up to the first that is refused. */
export function changeInOrder(store: TrustStore, changes: readonly TrustChange[]): StoreChange {
  return changes.reduce<StoreChange>(
    (result, change) => (result.ok ? change(result.store) : result),
    { ok: true, store },
  );
}

/**
 * Pins the first key of an agent, at UNTRUSTED if it is new. An agent that has a pin keeps it:
 * only `acceptKey` adds to it, and nothing replaces it. The same key again changes nothing.
 * Spec 2.1, 2.2.
 *
 * @param key 32 bytes; small-order and non-canonical points are refused (spec 1.5)
 * @param at when, ISO 8601
 */
export function pin(store: TrustStore, handle: string, key: Uint8Array, at: string): StoreChange {
  const peer = store.peers.get(handle);
  const known = peer?.keys.find((pinned) => sameKey(pinned.key, key));
  if (known?.active === true) return { ok: true, store };
  if (peer !== undefined && peer.keys.length > 0) {
    return refused(
      `${handle} has a pinned key already (${peer.keys.map((k) => k.keyId).join(", ")}), and a pin is never replaced; a further key needs the operator's decision or a rotation signed with the old key`,
    );
  }
  return acceptKey(store, handle, key, at);
}

/**
 * Adds a key beside those that are pinned: the operator's decision, or a rotation signed with the old
 * key, known behind it. The tier stays. Spec 2.2, 2.5.
 */
export function acceptKey(
  store: TrustStore,
  handle: string,
  key: Uint8Array,
  at: string,
): StoreChange {
  if (!isHandle(handle)) return refused(`${JSON.stringify(handle)} is not a handle`);
  if (!isAcceptableKey(key)) {
    return refused(
      `the key offered for ${handle} is no usable Ed25519 public key; expected 32 bytes, a canonical point that is not of small order`,
    );
  }
  const id = keyId(handle, key);
  const peer = store.peers.get(handle) ?? newPeer(handle);
  const known = peer.keys.find((pinned) => pinned.keyId === id);
  if (known !== undefined && !sameKey(known.key, key)) {
    return refused(`another key is pinned under the id ${id}; make a new key for ${handle}`);
  }
  if (known?.active === true) return { ok: true, store };
  if (known !== undefined) {
    return refused(`${id} was deactivated and does not come back; make a new key for ${handle}`);
  }
  if (peer.keys.length >= MAX_KEYS_PER_AGENT) {
    return refused(
      `${peer.keys.length} keys of ${handle} are known, and no more are kept: an agent that changes keys so often is best revoked and paired again under another handle`,
    );
  }
  const pinned: PinnedKey = { keyId: id, key: new Uint8Array(key), addedAt: at, active: true };
  return changed(store, { ...peer, keys: [...peer.keys, pinned] });
}

/**
 * The operators have proved that this key is the agent's. Of an UNTRUSTED agent nothing had been
 * proved before: what else is pinned came from cards and claims that anybody who writes in the folder
 * can make, and must not rise with it. It is stopped, and what it has signed stays good only where lines of the proved
 * key descend from it. Spec 2.1, 2.3.
 */
export function proveKey(
  store: TrustStore,
  handle: string,
  key: Uint8Array,
  at: string,
): StoreChange {
  const before = store.peers.get(handle) ?? newPeer(handle);
  if (!isUnproved(before)) return acceptKey(store, handle, key, at);
  // An id is short: who has searched for another key with the same one keeps nobody out.
  const isTwin = (pinned: PinnedKey) =>
    pinned.keyId === keyId(handle, key) && !sameKey(pinned.key, key);
  const keys = before.keys.filter((pinned) => !isTwin(pinned));
  let current = acceptKey(withPeer(store, { ...before, keys }), handle, key, at);
  for (const pinned of keys) {
    if (!current.ok || !pinned.active || sameKey(pinned.key, key)) continue;
    current = deactivateKey(current.store, pinned.keyId, at);
  }
  return current;
}

/** Whether nothing has been proved of an agent: what is pinned may be anybody's. */
function isUnproved(peer: Peer | undefined): boolean {
  return (peer?.tier ?? "UNTRUSTED") === "UNTRUSTED";
}

/**
 * Deactivates a key from this moment on: it is believed for the line `last` of its agent, and for those that it
 * descends from. Spec 2.1.
 */
export function deactivateKey(
  store: TrustStore,
  id: string,
  at: string,
  last?: LinePlace,
): StoreChange {
  const peer = store.peers.get(parseKeyId(id)?.handle ?? "");
  const key = peer?.keys.find((pinned) => pinned.keyId === id);
  if (peer === undefined || key === undefined) {
    return refused(
      `no key ${JSON.stringify(id)} is pinned; deaddrop trust list shows those that are`,
    );
  }
  // The first note stays: a later one would make lines good that were signed in between.
  if (!key.active) return { ok: true, store };
  const ended: PinnedKey = {
    ...{ ...key, active: false, deactivatedAt: at },
    ...(last === undefined ? {} : { last }),
  };
  return changed(store, { ...peer, keys: peer.keys.map((k) => (k === key ? ended : k)) });
}

/**
 * Deactivates a key that may be in other hands, and holds its agent. The agent is UNTRUSTED from
 * then on: the attacker may have earned its tier, and may have brought in further keys, which
 * go when a new one is proved (`proveKey`). Spec 2.5.
 */
export function revokeKey(store: TrustStore, id: string, nowMs: number): StoreChange {
  const stopped = deactivateKey(store, id, new Date(nowMs).toISOString());
  if (!stopped.ok) return stopped;
  const peer = stopped.store.peers.get(parseKeyId(id)?.handle ?? "");
  if (peer === undefined) throw new Error(`${id} was stopped, and nobody has it`);
  const isLow = peer.tier === undefined || peer.tier === "UNTRUSTED";
  const why = { cause: "key_revoked", detail: `${id} was revoked`, sinceMs: nowMs };
  const fallen = { ...(isLow ? peer : atTier(peer, "UNTRUSTED", nowMs)), sasVerifiedAt: undefined };
  const keys = peer.keys.map((key) => (key.keyId === id ? { ...key, revoked: true } : key));
  return changed(stopped.store, { ...fallen, keys, held: peer.held ?? why });
}

/** Notes that a key was revoked, and its last good line; undefined: none of its lines is. */
export function noteRevoked(
  store: TrustStore,
  id: string,
  at: string,
  last: LinePlace | undefined,
): StoreChange {
  const stopped = deactivateKey(store, id, at);
  const peer = stopped.ok ? stopped.store.peers.get(parseKeyId(id)?.handle ?? "") : undefined;
  if (!stopped.ok || peer === undefined) return stopped;
  const keys = peer.keys.map((key): PinnedKey => {
    if (key.keyId !== id) return key;
    const { last: _before, ...rest } = key;
    return { ...rest, revoked: true, ...(last === undefined ? {} : { last }) };
  });
  return changed(stopped.store, { ...peer, keys });
}

/** The operator follows the branch of this line, which their agent holds. Spec 1.6. */
export function follow(store: TrustStore, handle: string, place: LinePlace): StoreChange {
  const peer = store.peers.get(handle) ?? newPeer(handle);
  const others = (peer.follows ?? []).filter(({ seq }) => seq !== place.seq);
  return changed(store, { ...peer, follows: [...others, place] });
}

/** A new key of an agent is proved: what held it for the sake of a lost one ends. Spec 2.5. */
export function endRevocation(store: TrustStore, handle: string): StoreChange {
  const held = store.peers.get(handle)?.held;
  return held?.cause === "key_revoked" ? release(store, handle) : { ok: true, store };
}

/** Notes where a card came from, when it was not the wire's folder. Spec 2.1. */
export function noteCard(
  store: TrustStore,
  handle: string,
  { url, at }: { readonly url: string | undefined; readonly at: string },
): StoreChange {
  const peer = store.peers.get(handle) ?? newPeer(handle);
  return changed(store, { ...peer, cardUrl: url, cardFetchedAt: at });
}

/** The operator has decided: lines of this agent are taken again. */
export function release(store: TrustStore, handle: string): StoreChange {
  const peer = store.peers.get(handle);
  if (peer?.held === undefined) return { ok: true, store };
  return changed(store, { ...peer, held: undefined });
}

/** What the operator decides of an agent beside its keys and tier. */
type PeerFlags = Pick<Peer, "blocked" | "allowUnchained" | "mayBeUnsigned">;

/** Sets flags of an agent; its keys and its tier stay. Spec 1.5 (v2.0), 1.8, 2.3. */
export function setFlags(
  store: TrustStore,
  handle: string,
  flags: Partial<PeerFlags>,
): StoreChange {
  const peer = store.peers.get(handle) ?? newPeer(handle);
  const isSame = Object.entries(flags).every(([flag, is]) => peer[flag as keyof PeerFlags] === is);
  return isSame ? { ok: true, store } : changed(store, { ...peer, ...flags });
}

/**
 * Sets the tier on the operator's decision: any step up or down, but TRUSTED is reached only from
 * ATTESTED. Spec 2.3.
 *
 * @param unsigned the operator knows that this agent has no key and signs nothing (spec 1.5, v2.0)
 */
export function setTier(
  store: TrustStore,
  handle: string,
  tier: Tier,
  nowMs: number,
  unsigned = false,
): StoreChange {
  const peer = store.peers.get(handle) ?? newPeer(handle);
  if (peer.keys.length === 0 && !unsigned) {
    return refused(`no key of ${handle} is pinned, so there is nobody to trust; pin one first`);
  }
  if (peer.tier === tier) return { ok: true, store };
  if (tier === "TRUSTED" && peer.tier !== "ATTESTED") {
    return refused(
      `${handle} is ${peer.tier ?? "of no tier"}; TRUSTED is reached from ATTESTED only, so make it ATTESTED first`,
    );
  }
  return changed(store, atTier(peer, tier, nowMs));
}

/** Notes that the operators have compared the digits, which makes an UNTRUSTED agent VERIFIED. */
export function confirmSas(store: TrustStore, handle: string, nowMs: number): StoreChange {
  const peer = store.peers.get(handle);
  if (peer === undefined || peer.keys.length === 0) {
    return refused(`no key of ${handle} is pinned, so there are no digits to compare`);
  }
  const risen = peer.tier === "UNTRUSTED" ? atTier(peer, "VERIFIED", nowMs) : peer;
  return changed(store, { ...risen, sasVerifiedAt: new Date(nowMs).toISOString() });
}

/**
 * Sets how many of our ratified decisions this agent has acked, one for each decision, counted
 * again from the logs since it became VERIFIED: counting the same history twice changes nothing.
 * Ten make a VERIFIED agent ATTESTED; an UNTRUSTED one never rises by counting. Spec 2.3.
 */
export function setReciprocations(
  store: TrustStore,
  handle: string,
  count: number,
  nowMs: number,
): StoreChange {
  const peer = store.peers.get(handle);
  if (peer === undefined || count <= peer.reciprocations) return { ok: true, store };
  const counted = { ...peer, reciprocations: count };
  const rises = peer.tier === "VERIFIED" && count >= RECIPROCATIONS_TO_ATTEST;
  return changed(store, rises ? atTier(counted, "ATTESTED", nowMs) : counted);
}

function atTier(peer: Peer, tier: Tier, nowMs: number): Peer {
  const wasAttested = peer.tier === "ATTESTED" || peer.tier === "TRUSTED";
  const attestedSinceMs =
    compareTiers(tier, "ATTESTED") < 0 ? undefined : wasAttested ? peer.attestedSinceMs : nowMs;
  // A peer that falls to UNTRUSTED begins to count again: ten *after* VERIFIED. Spec 2.3.
  const reciprocations = tier === "UNTRUSTED" || tier === "VERIFIED" ? 0 : peer.reciprocations;
  return { ...peer, tier, tierSetAtMs: nowMs, attestedSinceMs, reciprocations };
}

function changed(store: TrustStore, peer: Peer): StoreChange {
  return { ok: true, store: { ...withPeer(store, peer), version: store.version + 1 } };
}

function withPeer(store: TrustStore, peer: Peer): TrustStore {
  return { ...store, peers: new Map(store.peers).set(peer.handle, peer) };
}

function refused(detail: string): StoreChange {
  return { ok: false, detail };
}

function sameKey(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}
