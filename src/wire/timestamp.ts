import { DAY_MS, MINUTE_MS } from "./durations.ts";

/** At most 44 characters. */
const SHAPE = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,18})?)?(?:Z|[+-]\d\d(?::?\d\d)?)$/;
/** A last line further ahead of the clock than this is not followed by the next one. Spec 1.2. */
const FAR_AHEAD_MS = MINUTE_MS;

/**
 * Milliseconds since 1970 of an ISO-8601 date and time with an offset or `Z`, with microseconds as
 * their fraction; undefined for anything else, for days that no calendar has, and for leap seconds.
 * Spec 1.2.
 */
export function parseTimestamp(text: string): number | undefined {
  if (!SHAPE.test(text)) return undefined;
  const year = twoDigits(text, 0) * 100 + twoDigits(text, 2);
  const month = twoDigits(text, 5);
  const day = twoDigits(text, 8);
  const hour = twoDigits(text, 11);
  const minute = twoDigits(text, 14);
  const second = text[16] === ":" ? twoDigits(text, 17) : 0;
  if (year < 1 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return undefined;
  if (hour > 23 || minute > 59 || second > 59) return undefined;
  const offset = offsetMinutes(text);
  if (offset === undefined) return undefined;
  const ofDay = ((hour * 60 + minute - offset) * 60 + second) * 1_000;
  return midnight(year, month, day) + ofDay + microseconds(text) / 1_000;
}

function twoDigits(text: string, at: number): number {
  return (text.charCodeAt(at) - 48) * 10 + text.charCodeAt(at + 1) - 48;
}

function daysIn(year: number, month: number): number {
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

function midnight(year: number, month: number, day: number): number {
  // Date.UTC takes the years 0 to 99 for 1900 to 1999; the calendar repeats every 400 years.
  return Date.UTC(year + 400, month - 1, day) - MS_PER_400_YEARS;
}

const MS_PER_400_YEARS = 146_097 * DAY_MS;

/** Minutes east of UTC; undefined when no clock shows them. */
function offsetMinutes(text: string): number | undefined {
  if (text.endsWith("Z")) return 0;
  // The date's own hyphens come before the time.
  const sign = Math.max(text.indexOf("+"), text.lastIndexOf("-"));
  const hours = twoDigits(text, sign + 1);
  const rest = text.slice(sign + 3).replace(":", "");
  const minutes = rest === "" ? 0 : twoDigits(rest, 0);
  if (hours > 23 || minutes > 59) return undefined;
  const offset = hours * 60 + minutes;
  return text[sign] === "-" ? -offset : offset;
}

/** Of the second; digits beyond the sixth are cut. */
function microseconds(text: string): number {
  if (text[19] !== ".") return 0;
  let micros = 0;
  let unit = 100_000;
  for (let at = 20; unit >= 1; at++, unit /= 10) {
    const digit = text.charCodeAt(at) - 48;
    if (digit < 0 || digit > 9) break;
    micros += digit * unit;
  }
  return micros;
}

/** How we write a moment: UTC, microseconds, `Z`. Takes whole microseconds since 1970. @internal */
export function formatMicros(micros: number): string {
  const ms = Math.floor(micros / 1_000);
  const rest = String(micros - ms * 1_000).padStart(3, "0");
  return new Date(ms).toISOString().replace("Z", `${rest}Z`);
}

/**
 * The timestamp of our next line: the clock, but later than our last one, except when that one is
 * more than `FAR_AHEAD_MS` ahead of the clock, as after a wrong clock was set right; then `seq` orders.
 * Spec 1.2. The clock is `nowMs` whole milliseconds and `nowMicros` (0–999) more.
 */
export function nextTimestamp(nowMs: number, nowMicros: number, last: string | undefined): string {
  const now = Math.floor(nowMs) * 1_000 + Math.floor(nowMicros);
  const lastMs = last === undefined ? undefined : parseTimestamp(last);
  if (lastMs === undefined) return formatMicros(now);
  const lastMicros = Math.round(lastMs * 1_000);
  const tooFarAhead = lastMicros - now > FAR_AHEAD_MS * 1_000;
  return formatMicros(tooFarAhead ? now : Math.max(now, lastMicros + 1));
}
