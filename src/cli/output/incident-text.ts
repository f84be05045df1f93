import type { Client } from "../../api/client.ts";
import type { IncidentAddressee, IncidentView, NoticeView } from "../../api/views.ts";
import type { Cli, GlobalFlags } from "../context.ts";
import { emit, table, type Cell, type Style } from "./output.ts";
import { safeJson } from "../../framing/sanitise.ts";
import { severityCell } from "./text.ts";
import { shortId } from "../../framing/short-id.ts";
import { when } from "../../framing/when.ts";
import { FOLLOW_PAUSE_MS } from "./listing.ts";

const STYLE_BY_STATUS: Record<IncidentView["status"], Style> = {
  open: "yellow",
  acked: "cyan",
  escalated: "red",
  resolved: "green",
};

export function incidentRow(each: IncidentView, nowMs: number, self: string): Cell[] {
  return [
    { text: shortId(each.event_id), style: "bold" },
    severityCell(each.severity),
    { text: each.status, style: STYLE_BY_STATUS[each.status] },
    { text: each.automatic ? `${each.from}, automatic` : each.from, style: "cyan" },
    { text: when(each.raised_at, nowMs), style: "dim" },
    { text: each.addressees.map((who) => addresseeText(who, nowMs, self)).join(", ") || "-" },
    { text: each.subject },
  ];
}

function addresseeText(who: IncidentAddressee, nowMs: number, self: string): string {
  if (who.acked) return `${who.handle}: acked`;
  if (who.escalated) return `${who.handle}: escalated`;
  // What is here has come here and may be read, whether or not a heartbeat of ours has said so.
  const isUnsaid = who.stage === "undelivered" || who.stage === "unread";
  if (who.handle === self && isUnsaid) return `${who.handle}: not acked`;
  const isDue = who.stage === "read" && who.due_at !== null;
  const state = isDue ? `due ${when(who.due_at ?? "", nowMs)}` : STAGE[who.stage ?? "unknown"];
  return `${who.handle}: ${state}`;
}

const STAGE: Record<NonNullable<IncidentAddressee["stage"]> | "unknown", string> = {
  undelivered: "not delivered yet",
  unread: "not read yet",
  busy: "read, but busy",
  read: "read",
  unknown: "not acked",
};

export function noticeRow(each: NoticeView, nowMs: number): Cell[] {
  return [
    { text: when(each.at, nowMs), style: "dim" },
    { text: each.cause, style: "yellow" },
    { text: each.peer ?? "-", style: "cyan" },
    { text: each.detail === "" ? each.subject : `${each.subject}: ${each.detail}` },
  ];
}

/** Shows each incident when it comes and whenever it changes, until it is interrupted. */
export async function followIncidents(
  cli: Cli,
  flags: GlobalFlags,
  client: Client,
  wanted: (incident: IncidentView) => boolean,
): Promise<never> {
  let shown = new Map<string, string>();
  for (;;) {
    const now = new Map<string, string>();
    for (const each of await client.view("incidents")) {
      const facts = safeJson(each);
      now.set(each.event_id, facts);
      // One that was shown open is shown resolved too.
      const known = shown.get(each.event_id);
      if (known === facts || (known === undefined && !wanted(each))) continue;
      emit(cli, flags, each, (paint) =>
        table([incidentRow(each, cli.clock.nowMs(), client.handle)], paint, cli.stdout.columns),
      );
    }
    shown = now;
    await cli.clock.sleep(FOLLOW_PAUSE_MS);
    // Without a daemon nobody but us takes in what peers write.
    if (!client.viaDaemon) await client.ask("tick");
  }
}
