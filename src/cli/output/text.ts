import type { ObligationView, Presence } from "../../api/views.ts";
import type { Cell, Style } from "./output.ts";
import { askedWords } from "../../framing/asked-words.ts";
import { wordRows } from "../../framing/message-text.ts";
import type { Paint } from "../../framing/paint.ts";
import { shortId } from "../../framing/short-id.ts";
import { dueWords, when } from "../../framing/when.ts";

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
    { text: askedWords(each) },
    { text: `${each.from} → ${each.owed_by}` },
    dueCell(each, nowMs),
    { text: each.subject },
  ];
}

/** What is recorded once that proposal is ratified, quoted below its row in a list. Spec 3.4.7. */
export function decisionRows(id: string, decision: string | null, paint: Paint): string[] {
  if (decision === null) return [];
  const restOf = (short: string): string => `deaddrop thread ${short} --event`;
  return wordRows(id, `decides: ${decision}`, { paint, restOf });
}

export function dueCell(owed: ObligationView, nowMs: number): Cell {
  const text = dueWords(owed, (time) => when(time, nowMs));
  return owed.overdue ? { text, style: "red" } : { text };
}

/** Shown by `status` and `sent`. Heartbeats count as lines. */
export function waitingText(lines: number): string {
  const those = lines === 1 ? "1 of your lines is" : `${lines} of your lines are`;
  return `${those} stored but not published yet; publishing is retried`;
}
