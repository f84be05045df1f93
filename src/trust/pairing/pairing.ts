import { committedSas, sasCommitment, type CommittedParty, type SasParty } from "./sas.ts";

/** What one side shows the other in its card. Spec 2.3. */
export interface SasClaim {
  /** Hex SHA-256 of its nonce and its key. */
  readonly commitment: string;
  /** The other side's commitment that it has stored, null: none; undefined: it does not say. */
  readonly seen?: string | null | undefined;
  /** 32 bytes; only once it has stored the other side's commitment. */
  readonly nonce?: Uint8Array | undefined;
}

/** A claim with the key that it is about. */
export interface PeerClaim extends SasClaim {
  readonly key: Uint8Array;
}

/**
 * How far we are with one peer. It is private and durable before anything of it is shown: one who
 * learns our nonce before it is committed can choose its own to fit.
 */
export interface Pairing {
  /** 32 random bytes. */
  readonly nonce: Uint8Array;
  /** Our key that the commitment covers. */
  readonly key: Uint8Array;
  /** Our card may show the nonce. */
  readonly isShown: boolean;
  /** What the peer was committed to before our nonce was shown: no other claim gets to see it. */
  readonly peer: CommittedClaim | undefined;
  /** The peer's nonce, once it has been shown and fits. */
  readonly peerNonce: Uint8Array | undefined;
  /** What the peer's card shows now instead of `peer`: it waits for the operator. */
  readonly other: CommittedClaim | undefined;
  /** How often digits were given that do not match. */
  readonly mismatches: number;
  /** How often the peer's card has changed its claim after we had shown our nonce. */
  readonly restarts: number;
}

/** The part of a claim that cannot change without being another claim. */
type CommittedClaim = Pick<PeerClaim, "key" | "commitment">;

export type PairingNews =
  /** The peer shows another commitment or key than before: digits read out until now are void. */
  | "restarted"
  /** What the peer shows as its nonce does not fit what it was committed to. */
  | "wrong_nonce";

export interface PairingStep {
  readonly pairing: Pairing;
  readonly news: PairingNews | undefined;
}

export const MAX_MISMATCHES = 3;
/** A card can be changed forever; what is counted of it is not. */
export const MAX_RESTARTS = 1_000_000;

/** `random`: 32 fresh bytes from the system. */
export function beginPairing(
  key: Uint8Array,
  random: Uint8Array,
  { mismatches, restarts }: Pick<Pairing, "mismatches" | "restarts"> = NOTHING_COUNTED,
): Pairing {
  return {
    nonce: Uint8Array.from(random),
    key,
    isShown: false,
    peer: undefined,
    peerNonce: undefined,
    other: undefined,
    mismatches,
    restarts,
  };
}

const NOTHING_COUNTED = { mismatches: 0, restarts: 0 };

/**
 * Takes in what a peer's card shows, as often as it is read: the same card again changes nothing.
 * It never draws a nonce: one nonce is shown to one claim, and another claim waits for the operator
 * (`beginAgain`). A daemon that drew one by itself could be asked for a million digits. Spec 2.3.
 */
export function advancePairing(before: Pairing, claim: PeerClaim): PairingStep {
  const isKnown = before.peer !== undefined && isSameClaim(before.peer, claim);
  if (before.isShown && !isKnown) return waitForOperator(before, claim);
  const { key, commitment } = claim;
  const stored: Pairing = isKnown
    ? { ...before, other: undefined }
    : { ...before, peer: { key, commitment }, peerNonce: undefined };
  // A peer that says what it has seen is shown the nonce once that is our present commitment:
  // else two sides that both begin again would do so forever.
  const mayShow = claim.seen === undefined || claim.seen === commitmentOf(stored);
  const shown = mayShow && !stored.isShown ? { ...stored, isShown: true } : stored;
  const fits = claim.nonce !== undefined && sasCommitment(claim.nonce, key) === commitment;
  const pairing =
    fits && shown.peerNonce === undefined ? { ...shown, peerNonce: claim.nonce } : shown;
  if (before.peer !== undefined && !isKnown) return { pairing, news: "restarted" };
  return { pairing, news: claim.nonce !== undefined && !fits ? "wrong_nonce" : undefined };
}

/** The claim that has seen our nonce keeps its place; the other one is only noted and counted. */
function waitForOperator(before: Pairing, { key, commitment }: PeerClaim): PairingStep {
  const other = { key, commitment };
  if (before.other !== undefined && isSameClaim(before.other, other)) {
    return { pairing: before, news: undefined };
  }
  const restarts = Math.min(before.restarts + 1, MAX_RESTARTS);
  return { pairing: { ...before, other, restarts }, news: "restarted" };
}

/**
 * The operator lets another claim of that peer see a nonce: a new one, since the one who made the claim
 * may have known the old. What was counted stays. Spec 2.3.
 *
 * @param random 32 fresh bytes from the system
 */
export function beginAgain(before: Pairing, random: Uint8Array): Pairing {
  return beginPairing(before.key, random, before);
}

function isSameClaim(a: CommittedClaim, b: CommittedClaim): boolean {
  return a.commitment === b.commitment && Buffer.compare(a.key, b.key) === 0;
}

function commitmentOf({ nonce, key }: Pairing): string {
  return sasCommitment(nonce, key);
}

/** What our card shows this peer. */
export function claimOf(pairing: Pairing): SasClaim {
  return {
    commitment: commitmentOf(pairing),
    seen: pairing.peer?.commitment ?? null,
    nonce: pairing.isShown ? pairing.nonce : undefined,
  };
}

/** The digits to compare; undefined until both nonces are shown, and while another claim waits. */
export function digitsOf(
  { nonce, isShown, key, peer, peerNonce, other: waiting }: Pairing,
  ownDid: string,
  peerDid: string,
): string | undefined {
  if (!isShown || peer === undefined || peerNonce === undefined) return undefined;
  if (waiting !== undefined) return undefined;
  const own: CommittedParty = { did: ownDid, key, nonce };
  const other: CommittedParty & SasParty = { did: peerDid, key: peer.key, nonce: peerNonce };
  return committedSas(own, other);
}

/** Digits were read out that do not match. */
export function noteMismatch(pairing: Pairing): Pairing {
  return { ...pairing, mismatches: pairing.mismatches + 1 };
}

/** Wrong digits so often block a peer until the operator unblocks it. Spec 2.3. */
export function isExhausted({ mismatches }: Pairing): boolean {
  return mismatches >= MAX_MISMATCHES;
}
