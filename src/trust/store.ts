import type { Tier } from "./tiers.ts";

/** A line of a chain of an agent that is known otherwise. */
export interface LinePlace {
  readonly seq: number;
  /** 64 lower-case hexadecimal digits. */
  readonly id: string;
}

/** A key older than this is due to be changed. Spec 2.5. */
export const MAX_KEY_AGE_DAYS = 180;

/** An Ed25519 public key that we believe to be that agent's. Spec 2.1. */
export interface PinnedKey {
  readonly keyId: string;
  /** 32 bytes, canonical and not of small order. */
  readonly key: Uint8Array;
  /** ISO 8601, or empty when the file does not say. */
  readonly addedAt: string;
  readonly active: boolean;
  readonly deactivatedAt?: string;
  /** It was deactivated because it may be in other hands. Spec 2.5. */
  readonly revoked?: boolean;
  /** The last line of its agent for which it is believed once it is deactivated. Spec 2.1. */
  readonly last?: LinePlace;
}

/** Why nothing more of an agent is taken until the operator decides. Spec 1.6, 2.5. */
export interface Hold {
  /** The incident's cause: `key_revoked` and the like. */
  readonly cause: string;
  readonly detail: string;
  readonly sinceMs: number;
}

/** Keys of one agent, old ones included: a store with more of them is none that we have written. */
export const MAX_KEYS_PER_AGENT = 64;

/** What we believe of one agent. */
export interface Peer {
  readonly handle: string;
  /** `undefined`: the file names a tier that does not exist, and no tier accepts nothing. */
  readonly tier: Tier | undefined;
  readonly tierSetAtMs: number | undefined;
  /** Since when it has been ATTESTED or TRUSTED without a break; safe mode asks. Spec 3.5. */
  readonly attestedSinceMs: number | undefined;
  readonly sasVerifiedAt: string | undefined;
  readonly reciprocations: number;
  readonly blocked: boolean;
  readonly held: Hold | undefined;
  /** Lines of its forked chain whose branches the operator follows. Spec 1.6. */
  readonly follows?: readonly LinePlace[];
  /** The operator lets this agent write unchained lines after chained ones. Spec 1.8. */
  readonly allowUnchained: boolean;
  /** The operator takes unsigned lines of it where policy does, keys or not (`trust pin --unsigned`). */
  readonly mayBeUnsigned: boolean;
  readonly keys: readonly PinnedKey[];
  /** Where its card was taken from, when it was not the wire's folder, and when. Spec 2.1. */
  readonly cardUrl: string | undefined;
  /** ISO 8601. */
  readonly cardFetchedAt: string | undefined;
  /** Fields of the file that this module does not read, kept as they were. */
  readonly extra: Readonly<Record<string, unknown>>;
}

/** The private trust store: whom this agent believes. A value; every change makes a new one. */
export interface TrustStore {
  /** Only grows. */
  readonly version: number;
  readonly peers: ReadonlyMap<string, Peer>;
}

export const EMPTY_STORE: TrustStore = { version: 0, peers: new Map() };

/** The tier that counts: unknown agents are UNTRUSTED, blocked ones have none. Spec 2.3. */
export function tierOf(store: TrustStore, handle: string): Tier | undefined {
  const peer = store.peers.get(handle);
  if (peer === undefined) return "UNTRUSTED";
  return peer.blocked ? undefined : peer.tier;
}

/**
 * Whether the operator, or a key, already says who this agent is: then a card or a claim of the wire
 * adds nothing by itself. One that is taken unsigned has no key, and is pinned all the same. Spec 2.2.
 */
export function isPinned(peer: Peer | undefined): boolean {
  if (peer === undefined) return false;
  return peer.keys.length > 0 || peer.mayBeUnsigned || (peer.tier ?? "UNTRUSTED") !== "UNTRUSTED";
}

/** An agent of whom nothing is known but its name. */
export function newPeer(handle: string): Peer {
  return {
    handle,
    tier: "UNTRUSTED",
    tierSetAtMs: undefined,
    attestedSinceMs: undefined,
    sasVerifiedAt: undefined,
    reciprocations: 0,
    blocked: false,
    held: undefined,
    allowUnchained: false,
    mayBeUnsigned: false,
    keys: [],
    cardUrl: undefined,
    cardFetchedAt: undefined,
    extra: {},
  };
}

/** What is believed of an agent; of one that the store does not name, its name alone. */
export function peerNamed(store: TrustStore, handle: string): Peer {
  return store.peers.get(handle) ?? newPeer(handle);
}

/**
 * The last good line of an agent that is held: nothing behind it is mail before the operator decides. Null: there is
 * none. Undefined: the agent is not held. Spec 2.5.
 */
export function heldAfter({
  held,
  keys,
}: Pick<Peer, "held"> & {
  readonly keys: readonly Pick<PinnedKey, "revoked" | "last">[];
}): LinePlace | null | undefined {
  if (held === undefined) return undefined;
  const lasts = keys.filter(({ revoked }) => revoked === true).map(({ last }) => last);
  const [lowest] = lasts.toSorted((one, other) => (one?.seq ?? 0) - (other?.seq ?? 0));
  return lowest ?? null;
}
