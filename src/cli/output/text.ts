import type { ObligationView, Presence } from "../../api/views.ts";
import type { Cell, Style } from "./output.ts";
import { SECOND_MS, MINUTE_MS, HOUR_MS, DAY_MS } from "../../wire/durations.ts";

/** Enough of an id to name a message by (6 characters or more do). Spec 4.4. */
export function shortId(id: string): string {
  return id.slice(0, 10);
}

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

function duration(lengthMs: number): string {
  if (lengthMs < MINUTE_MS) return `${Math.round(lengthMs / SECOND_MS)} s`;
  if (lengthMs < HOUR_MS) return `${Math.round(lengthMs / MINUTE_MS)} min`;
  return `${Math.round(lengthMs / HOUR_MS)} h`;
}

const STYLE_BY_PRESENCE: Record<Presence, Style> = {
  online: "green",
  late: "yellow",
  silent: "red",
  paused: "dim",
  unknown: "dim",
};

export function presenceCell(presence: Presence): Cell {
  return { text: presence, style: STYLE_BY_PRESENCE[presence] };
}

const STYLE_BY_SEVERITY: Record<string, Style> = {
  critical: "red",
  high: "red",
  medium: "yellow",
  low: "dim",
};

export function severityCell(severity: string): Cell {
  return { text: severity, style: STYLE_BY_SEVERITY[severity] };
}

/** One obligation as a table row: id, type, who asked whom, when it is due, subject. */
export function obligationRow(each: ObligationView, nowMs: number): Cell[] {
  return [
    { text: shortId(each.event_id), style: "bold" },
    { text: each.type },
    { text: `${each.from} → ${each.owed_by}` },
    dueCell(each, nowMs),
    { text: each.subject },
  ];
}

function dueCell({ overdue, due_at }: ObligationView, nowMs: number): Cell {
  if (overdue) return { text: `overdue, ${when(due_at, nowMs)}`, style: "red" };
  return { text: due_at === null ? "no deadline" : `due ${when(due_at, nowMs)}` };
}

/** Also said by `sent`, which lists what is in the logs. Heartbeats are lines, too. */
export function waitingText(lines: number): string {
  const those = lines === 1 ? "1 line of yours is" : `${lines} lines of yours are`;
  return `${those} stored here and not safe in the log yet, and get there without your help`;
}
