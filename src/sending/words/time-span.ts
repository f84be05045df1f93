import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "../../wire/durations.ts";

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
