import type { ClaimMode } from "./claim-line.ts";

/** Claims of one log that count at a time: a further one is nothing. Spec 3.7. */
export const MAX_LIVE_CLAIMS = 8;
/** Claims remembered of one log, those that have ended included: beyond, the oldest of these goes. */
const MAX_CLAIMS_PER_LOG = 64;
/** Acks of one log that may answer a claim which we do not hold yet: beyond, the oldest goes. */
const MAX_ACKS_AHEAD = 256;

/** One agent's statement that it works on some paths. Spec 3.7. */
export interface Claim {
  readonly id: string;
  readonly log: string;
  readonly line: number;
  readonly from: string;
  /** Whom it binds: those it is addressed to. */
  readonly to: readonly string[];
  readonly correlationId: string;
  readonly paths: readonly string[];
  readonly mode: ClaimMode;
  readonly reason: string | undefined;
  readonly ttlMs: number;
  /** Its TTL runs from our receipt; for history from its timestamp. */
  readonly at: number;
  readonly live: boolean;
  readonly timestampMs: number;
  /** Its author has ended it. */
  isReleased: boolean;
  /** What each of those said whom it is addressed to: the last ack of its log that names the claim. */
  readonly answers: Map<string, ClaimAnswer>;
}

export interface ClaimAnswer {
  readonly id: string;
  readonly line: number;
  readonly grants: boolean;
  readonly reason: string | undefined;
}

/** Who works on what, as far as signed lines say. Nothing final depends on it. Spec 3.7. */
export interface ClaimsState {
  /** By log, in its order. */
  readonly byLog: Map<string, Claim[]>;
  /** By answering log: acks that name no claim which we hold, oldest first. */
  readonly ahead: Map<string, { readonly claim: string; readonly answer: ClaimAnswer }[]>;
}

export function emptyClaims(): ClaimsState {
  return { byLog: new Map(), ahead: new Map() };
}

/** When a claim ends by itself, by our clock. */
export function claimEndMs({ live, at, timestampMs, ttlMs }: Claim): number {
  return (live ? at : Math.min(at, timestampMs)) + ttlMs;
}

export function isLiveClaim(claim: Claim, nowMs: number): boolean {
  return !claim.isReleased && nowMs < claimEndMs(claim);
}

/** All that are remembered, log by log. */
export function allClaims({ byLog }: ClaimsState): Claim[] {
  return [...byLog.values()].flat();
}

/** False for a claim that is one too many. `nowMs`: when it came. */
export function addClaim(state: ClaimsState, claim: Claim, nowMs: number): boolean {
  const claims = state.byLog.get(claim.log) ?? [];
  if (claims.filter((each) => isLiveClaim(each, nowMs)).length >= MAX_LIVE_CLAIMS) return false;
  claims.push(claim);
  state.byLog.set(claim.log, claims);
  if (claims.length > MAX_CLAIMS_PER_LOG) {
    claims.splice(
      claims.findIndex((each) => !isLiveClaim(each, nowMs)),
      1,
    );
  }
  return true;
}

export function keepAhead(
  { ahead }: ClaimsState,
  log: string,
  claim: string,
  answer: ClaimAnswer,
): void {
  const kept = ahead.get(log) ?? [];
  ahead.set(log, kept);
  if (kept.push({ claim, answer }) > MAX_ACKS_AHEAD) kept.shift();
}

/** The last ack of that log which came before the claim that it names. */
export function takeAhead(
  { ahead }: ClaimsState,
  log: string,
  claim: string,
): ClaimAnswer | undefined {
  const kept = ahead.get(log) ?? [];
  const found = kept.filter((each) => each.claim === claim);
  if (found.length === 0) return undefined;
  const left = kept.filter((each) => each.claim !== claim);
  if (left.length === 0) ahead.delete(log);
  else ahead.set(log, left);
  return found.at(-1)?.answer;
}
