import type { ObligationView } from "../api/views.ts";
import { SECOND_MS, MINUTE_MS, HOUR_MS, DAY_MS } from "../wire/durations.ts";

/** "4 min ago", "in 2 h"; further than a day away the date. Times are ISO-8601. */
export function when(time: string | null | undefined, nowMs: number): string {
  if (time === null || time === undefined) return "-";
  const atMs = Date.parse(time);
  if (Number.isNaN(atMs)) return time;
  const awayMs = Math.abs(nowMs - atMs);
  if (awayMs >= DAY_MS) return moment(time);
  const amount = duration(awayMs);
  return atMs > nowMs ? `in ${amount}` : `${amount} ago`;
}

/** An instant as people read it, to the minute: what is long ago, and what evidence is compared with. */
export function moment(time: string): string {
  const atMs = Date.parse(time);
  if (Number.isNaN(atMs)) return time;
  return `${new Date(atMs).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

type Due = Pick<ObligationView, "due_at" | "overdue" | "minutes_from_reading">;

/** By when an answer is owed: "due in 2 h", "overdue, 4 min ago"; `at` says how an instant is written. */
export function dueWords(owed: Due, at: (time: string) => string): string {
  const { due_at: due, overdue, minutes_from_reading: minutes } = owed;
  if (due === null) return "no deadline";
  if (overdue) return `overdue, ${at(due)}`;
  if (minutes === undefined) return `due ${at(due)}`;
  return `due ${duration(minutes * MINUTE_MS)} after it is read, else ${at(due)}`;
}

/** Further ahead of its receipt a message is not dated by a clock that is right. */
const AHEAD_MS = 5 * MINUTE_MS;

/** "dated 2 h ahead" of a message that its author's wrong clock has dated; undefined of others. */
export function aheadNote(timestamp: string, receivedAt: string): string | undefined {
  const aheadMs = Date.parse(timestamp) - Date.parse(receivedAt);
  return aheadMs > AHEAD_MS ? `dated ${duration(aheadMs)} ahead` : undefined;
}

function duration(lengthMs: number): string {
  if (lengthMs < MINUTE_MS) return `${Math.round(lengthMs / SECOND_MS)} s`;
  if (lengthMs < HOUR_MS) return `${Math.round(lengthMs / MINUTE_MS)} min`;
  return `${Math.round(lengthMs / HOUR_MS)} h`;
}

/** An instant within the day, as a clock on the wall shows it: "14:05". */
export function clockTime(time: string): string {
  const at = new Date(time);
  const twoDigits = (part: number): string => String(part).padStart(2, "0");
  return Number.isNaN(at.getTime())
    ? time
    : `${twoDigits(at.getHours())}:${twoDigits(at.getMinutes())}`;
}
