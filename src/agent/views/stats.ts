import { incidentsView } from "../../protocol/incidents/incident-view.ts";
import { ratifiedDecisions } from "../../protocol/decisions/decisions-view.ts";
import { proposalsView } from "../../protocol/decisions/proposals-view.ts";
import type { StatsView } from "../../api/views.ts";
import type { Session } from "../session/session.ts";
import { storedMessages } from "../state/stored-messages.ts";
import { DAY_MS } from "../../wire/durations.ts";

/** The record of a wire as we have seen it. Spec 4.4, `stats`. */
export function statsView(session: Session): StatsView {
  const { memory, env } = session;
  const byType = new Map<string, number>();
  let messages = 0;
  let first = Infinity;
  let last = -Infinity;
  for (const { message } of storedMessages(session, ({ verdict }) => verdict === "accepted")) {
    messages += 1;
    byType.set(message.type, (byType.get(message.type) ?? 0) + 1);
    first = Math.min(first, message.timestampMs);
    last = Math.max(last, message.timestampMs);
  }
  const proposals = proposalsView(memory.state.proposals, memory.state.logs, env);
  const incidents = incidentsView(memory.state.incidents, env, memory.state.logs);
  return {
    days: messages === 0 ? 0 : Math.ceil((last - first) / DAY_MS),
    messages,
    heartbeat_share: messages === 0 ? 0 : (byType.get("heartbeat") ?? 0) / messages,
    by_type: Object.fromEntries([...byType].sort(([a], [b]) => (a < b ? -1 : 1))),
    proposal_ack_pairs: proposals.filter(({ status }) => status === "ratified").length,
    decisions: ratifiedDecisions(memory.state.proposals).length,
    incidents: incidents.length,
    incidents_acked_in_time: incidents.filter(({ addressees }) =>
      addressees.every(({ acked, escalated }) => acked && !escalated),
    ).length,
    disagreements: proposals.filter(({ status }) => status === "rejected").length,
  };
}
