import { DeaddropError } from "../../api/errors.ts";
import { MAX_DUE_MS, MIN_DUE_MS } from "../../protocol/due.ts";
import { MINUTE_MS, DAY_MS, HOUR_MS, SECOND_MS } from "../../wire/durations.ts";
import { quote } from "../../wire/quote.ts";
import { parseTimestamp } from "../../wire/timestamp.ts";

/**
 * Until when an answer is asked for, for `body.due`: an instant, or a span from now, which ends with
 * a full minute so that signing takes nothing of it. Throws DeaddropError. Spec 3.4.6.
 */
export function dueInstant(text: string, nowMs: number): string {
  const spanMs = timeSpan(text);
  const dueMs = spanMs === undefined ? parseTimestamp(text) : nowMs + spanMs;
  if (dueMs === undefined) {
    throw new DeaddropError("usage", `due ${quote(text)} is neither a span of time nor a time`, {
      hint: "give how long there is to answer (30m, 4h, 2d), or a time such as 2026-06-01T10:00:00Z",
    });
  }
  if (dueMs < nowMs + MIN_DUE_MS || dueMs > nowMs + MAX_DUE_MS) {
    throw new DeaddropError("usage", `due ${quote(text)} is too soon or too far away`, {
      hint: "an answer can be due in 2 minutes at the earliest and in 30 days at the latest",
    });
  }
  if (spanMs === undefined) return new Date(dueMs).toISOString();
  const fullMinuteMs = (Math.floor(dueMs / MINUTE_MS) + 1) * MINUTE_MS;
  return new Date(Math.min(fullMinuteMs, nowMs + MAX_DUE_MS)).toISOString();
}

const UNITS_MS: Readonly<Record<string, number>> = {
  s: SECOND_MS,
  m: MINUTE_MS,
  h: HOUR_MS,
  d: DAY_MS,
};

/** A span of time as people write it (`30m`, `4h`, `2d`), in ms; undefined when it is none. */
export function timeSpan(text: string): number | undefined {
  const [, amount, unit = ""] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  const unitMs = UNITS_MS[unit];
  return amount === undefined || unitMs === undefined ? undefined : Number(amount) * unitMs;
}
