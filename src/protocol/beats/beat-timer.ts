import { MINUTE_MS, SECOND_MS } from "../../wire/durations.ts";

/**
 * When our next beat is due, in milliseconds of the monotonic clock; plain values that are never stored: a
 * daemon that starts beats at once. Spec 3.2.1 and 4.9.
 */
export interface BeatTimer {
  /** Our last beat: when it was written, and what it advertised; undefined before the first. */
  readonly last: { readonly atMs: number; readonly cadenceMs: number } | undefined;
  /** 0.95 to 1.05. */
  readonly factor: number;
  /** When the next beat is due because there is news. */
  readonly earlyMs: number | undefined;
  /** When beats were brought forward, within the last minute. */
  readonly broughtForward: readonly number[];
}

export const NEW_BEAT_TIMER: BeatTimer = {
  ...{ last: undefined, factor: 1, earlyMs: undefined, broughtForward: [] },
};

/** News that come within this time go into one beat. */
const EARLY_DELAY_MS = SECOND_MS;
const MOST_EARLY_A_MINUTE = 6;
const JITTER = 0.05;

/** When the next beat is due; −Infinity before the first. @param cadenceMs that of the tier now */
export function beatDueMs({ last, factor, earlyMs }: BeatTimer, cadenceMs: number): number {
  if (last === undefined) return -Infinity;
  return Math.min(last.atMs + Math.min(last.cadenceMs, cadenceMs) * factor, earlyMs ?? Infinity);
}

/** After mail to us was taken in or refused: brings the next beat forward. */
export function bringForward(timer: BeatTimer, nowMs: number): BeatTimer {
  if (timer.earlyMs !== undefined) return timer;
  const sixthLast = timer.broughtForward.at(-MOST_EARLY_A_MINUTE) ?? -Infinity;
  return { ...timer, earlyMs: Math.max(nowMs + EARLY_DELAY_MS, sixthLast + MINUTE_MS) };
}

/** After a beat was committed. @param random from 0 up to, not including, 1 */
export function restartTimer(
  timer: BeatTimer,
  { nowMs, cadenceMs, random }: { nowMs: number; cadenceMs: number; random: number },
): BeatTimer {
  const { last, factor, earlyMs, broughtForward } = timer;
  const isEarly =
    earlyMs !== undefined && last !== undefined && nowMs < last.atMs + last.cadenceMs * factor;
  const recent = broughtForward.filter((atMs) => atMs > nowMs - MINUTE_MS);
  return {
    last: { atMs: nowMs, cadenceMs },
    factor: 1 - JITTER + 2 * JITTER * random,
    earlyMs: undefined,
    broughtForward: isEarly ? [...recent, nowMs] : recent,
  };
}
