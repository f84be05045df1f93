import type { Limits } from "../wire/limits.ts";

/** How long a line that is dated far ahead is held back: the clock that is wrong may be ours. */
const HOLD_BACK_MS = 15 * 60_000;
/** In so long one hold begins, for each log. */
const ONE_HOLD_IN_MS = 60 * 60_000;

/** The last line of a log that was held back because it is dated ahead of our clock. Spec 2.4. */
export interface AheadHold {
  readonly id: string;
  /** When it was first seen, by our wall clock. */
  readonly sinceMs: number;
}

/** Of a line that is dated further ahead of its receipt than is let pass: by how much, in words. */
export function datedAhead(
  timestampMs: number,
  receivedAtMs: number,
  { maxClockSkewSeconds }: Limits,
): string | undefined {
  const aheadMs = timestampMs - receivedAtMs;
  if (aheadMs <= maxClockSkewSeconds * 1_000) return undefined;
  const ahead = Math.round(aheadMs / 1_000);
  return `dated ${ahead} s ahead of our clock; at most ${maxClockSkewSeconds} s are let pass`;
}

/**
 * Whether a line that is dated ahead waits now: the first one of an hour, for 15 minutes from when
 * it was first seen. Any other is refused. Spec 2.4, `clock_skew`.
 */
export function isHeldBack(last: AheadHold | undefined, id: string, nowMs: number): boolean {
  if (last === undefined) return true;
  const ageMs = nowMs - last.sinceMs;
  return last.id === id ? ageMs < HOLD_BACK_MS : ageMs >= ONE_HOLD_IN_MS;
}
