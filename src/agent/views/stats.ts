import { incidentsView } from "../../protocol/incidents/incident-view.ts";
import { provedEntries } from "../../protocol/decisions/decisions.ts";
import { ratifiedDecisions } from "../../protocol/decisions/decisions-view.ts";
import { proposalsView } from "../../protocol/decisions/proposals-view.ts";
import { talliedIds, type TallyState } from "../../protocol/tally.ts";
import type { StatsView } from "../../api/views.ts";
import type { Session } from "../session/session.ts";
import { DAY_MS } from "../../wire/durations.ts";
import { growthOf } from "./growth.ts";

/** The record of a wire as we have seen it. Spec 4.4, `stats`. */
export function statsView(session: Session): StatsView {
  const { memory, env, world, place } = session;
  const { tally } = memory.state;
  const { messages, byType, forgotten } = tally;
  const proposals = proposalsView(memory.state.proposals, memory.state.logs, env);
  const incidents = incidentsView(memory.state.incidents, env, memory.state.logs);
  const counts = memory.state.incidents.forgotten.values();
  const older = [...counts].reduce((sum, count) => sum + count, 0);
  const decided = decidedProposals(session);
  const withStatus = (wanted: string): string[] =>
    proposals.flatMap(({ proposal_id: id, status }) => (status === wanted ? id : []));
  const tallied = talliedIds(tally, "agreed");
  const agreed = talliedIds(tally, "agreed", [...withStatus("ratified"), ...decided]);
  const rejected = talliedIds(tally, "rejected", withStatus("rejected"));
  return {
    days: daysOf(tally),
    messages,
    heartbeat_share: messages === 0 ? 0 : (byType.get("heartbeat") ?? 0) / messages,
    by_type: Object.fromEntries([...byType].sort(([a], [b]) => (a < b ? -1 : 1))),
    // What was agreed to long ago is mostly recorded: it must not be counted twice.
    proposal_ack_pairs: Math.max(agreed.size, tallied.size + forgotten.agreed),
    decisions: decided.size,
    incidents: incidents.length + older,
    incidents_forgotten: older,
    incidents_acked_in_time: incidents.filter(({ addressees }) =>
      addressees.every(({ acked, escalated }) => acked && !escalated),
    ).length,
    disagreements: rejected.size + forgotten.rejected,
    growth: growthOf(world.disk, place),
  };
}

function daysOf({ firstTimestampMs, lastTimestampMs }: TallyState): number {
  if (firstTimestampMs === undefined || lastTimestampMs === undefined) return 0;
  return Math.max(1, Math.ceil((lastTimestampMs - firstTimestampMs) / DAY_MS));
}

/** Proposals that became decisions: what logs alone ratify, and what is recorded and proved. */
function decidedProposals({ memory }: Pick<Session, "memory">): ReadonlySet<string> {
  const { proposals, decisions } = memory.state;
  const recorded = provedEntries(decisions).map(({ record }) => record.proposal_id);
  const ratified = ratifiedDecisions(proposals).map(({ proposal_id: id }) => id);
  return new Set([...recorded, ...ratified].filter((id) => id !== undefined));
}
