import type { GrowthView } from "../../agent/answers/growth.ts";
import type { WaitsFor } from "../../agent/answers/sent.ts";
import type { TransportView } from "../../api/transport.ts";
import type {
  ClaimStatus,
  IncidentView,
  ObligationView,
  Presence,
  ProposalStatus,
  RequestStatus,
} from "../../api/views.ts";
import { askedWords } from "../../framing/asked-words.ts";
import { wordRows } from "../../framing/message-text.ts";
import { sanitise } from "../../framing/sanitise.ts";
import { shortId } from "../../framing/short-id.ts";
import { dueWords, when } from "../../framing/when.ts";
import type { Cell, Style, Paint } from "./output.ts";

/** Why a message is not delivered for now. Spec 2.4. */
export const WAITS_FOR: { readonly [Why in WaitsFor]: string } = {
  mail_waits: "waits for the comparison of digits",
  sent_ahead: "dated ahead of this clock, waits for your next line",
};

const STYLE_BY_PRESENCE: Record<Presence, Style> = {
  online: "green",
  late: "yellow",
  silent: "red",
  paused: "dim",
  unknown: "dim",
};

type Status = ClaimStatus | ProposalStatus | RequestStatus | IncidentView["status"];

/** All other ones are dimmed: they need nobody's attention. */
const STATUSES: readonly (readonly [Style, ...Status[]])[] = [
  ["green", "held", "ratified", "approved", "resolved"],
  ["yellow", "open", "pending", "waiting"],
  ["cyan", "acked"],
  ["red", "contested", "lost", "denied", "rejected", "disputed", "escalated"],
];

export function statusCell(status: Status): Cell {
  return { text: status, style: STATUSES.find(([, ...all]) => all.includes(status))?.[0] ?? "dim" };
}

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
    askedWords(each),
    `${each.from} → ${each.owed_by}`,
    dueCell(each, nowMs),
    each.subject,
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

/** How the wire is shared with other machines, in one row and what is wrong. Empty: by its folder alone. */
export function transportText(view: TransportView | null, nowMs: number, paint: Paint): string {
  if (view === null) return "";
  const { remote, branch, fetched_at: fetched, waiting, problem } = view;
  const last = fetched === null ? "not fetched yet" : `fetched ${when(fetched, nowMs)}`;
  const pushed = waiting === 0 ? "all pushed" : `${counted(waiting, "file")} to be pushed`;
  const rows = [
    `${paint("bold", "Remote")}  ${sanitise(remote)} (${sanitise(branch)}), ${last}, ${pushed}`,
    ...(problem === null ? [] : [paint("red", sanitise(`${problem.detail} → ${problem.hint}`))]),
  ];
  return rows.join("\n");
}

/** "1 file", "2 files". */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

const UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB"];

/** How large it is, and what to do where something has to be done. */
export function growthText({ files, bytes, advice }: GrowthView): string {
  const size = `${sizeText(bytes)} in ${counted(files, "file")}`;
  return advice === undefined ? size : `${size}; ${advice}`;
}

/** A size such as "12 MiB", with one decimal below ten. */
export function sizeText(bytes: number): string {
  let [amount, unit] = [bytes, 0];
  while (amount >= 1_024 && unit < UNITS.length - 1) {
    amount /= 1_024;
    unit += 1;
  }
  const digits = unit === 0 || amount >= 10 ? 0 : 1;
  return `${amount.toFixed(digits)} ${UNITS[unit] ?? ""}`;
}
