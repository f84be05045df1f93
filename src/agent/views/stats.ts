import { booleanField, textField } from "../../protocol/body.ts";
import { incidentsView } from "../../protocol/incidents/incident-view.ts";
import { provedEntries } from "../../protocol/decisions/decisions.ts";
import { ratifiedDecisions } from "../../protocol/decisions/decisions-view.ts";
import { proposalsView } from "../../protocol/decisions/proposals-view.ts";
import type { RecalledMessage } from "../../admission/admitted-message.ts";
import type { StatsView } from "../../api/views.ts";
import type { Session } from "../session/session.ts";
import { storedMessages } from "../state/stored-messages.ts";
import { DAY_MS } from "../../wire/durations.ts";
import { growthOf } from "./growth.ts";

/** The record of a wire as we have seen it. Spec 4.4, `stats`. */
export function statsView(session: Session): StatsView {
  const { memory, env, world, place } = session;
  const tally = newTally();
  for (const { message } of storedMessages(session, ({ verdict }) => verdict === "accepted")) {
    count(tally, message);
  }
  const { messages, byType, first, last, agreed, rejected } = tally;
  const proposals = proposalsView(memory.state.proposals, memory.state.logs, env);
  const incidents = incidentsView(memory.state.incidents, env, memory.state.logs);
  const decided = decidedProposals(session);
  const withStatus = (wanted: string): string[] =>
    proposals.flatMap(({ proposal_id: id, status }) => (status === wanted ? id : []));
  return {
    days: messages === 0 ? 0 : Math.max(1, Math.ceil((last - first) / DAY_MS)),
    messages,
    heartbeat_share: messages === 0 ? 0 : (byType.get("heartbeat") ?? 0) / messages,
    by_type: Object.fromEntries([...byType].sort(([a], [b]) => (a < b ? -1 : 1))),
    proposal_ack_pairs: new Set([...agreed, ...withStatus("ratified"), ...decided]).size,
    decisions: decided.size,
    incidents: incidents.length,
    incidents_acked_in_time: incidents.filter(({ addressees }) =>
      addressees.every(({ acked, escalated }) => acked && !escalated),
    ).length,
    disagreements: new Set([...rejected, ...withStatus("rejected")]).size,
    growth: growthOf(world.disk, place),
  };
}

/** What the lines themselves say, also of proposals that memory has forgotten. */
interface Tally {
  messages: number;
  readonly byType: Map<string, number>;
  first: number;
  last: number;
  /** Who proposed, by event id. */
  readonly proposers: Map<string, string>;
  /** Proposals that somebody else has agreed to, and that somebody has rejected. */
  readonly agreed: Set<string>;
  readonly rejected: Set<string>;
}

function newTally(): Tally {
  return {
    messages: 0,
    byType: new Map(),
    first: Infinity,
    last: -Infinity,
    proposers: new Map(),
    agreed: new Set(),
    rejected: new Set(),
  };
}

function count(tally: Tally, { id, type, from, body, timestampMs }: RecalledMessage): void {
  tally.messages += 1;
  tally.byType.set(type, (tally.byType.get(type) ?? 0) + 1);
  tally.first = Math.min(tally.first, timestampMs);
  tally.last = Math.max(tally.last, timestampMs);
  if (type === "proposal") tally.proposers.set(id, from);
  const acks = type === "ack" ? textField(body, "acks") : undefined;
  const proposer = acks === undefined ? undefined : tally.proposers.get(acks);
  if (acks === undefined || proposer === undefined || proposer === from) return;
  const approves = booleanField(body, "approve");
  if (approves === true) tally.agreed.add(acks);
  if (approves === false) tally.rejected.add(acks);
}

/** Proposals that became decisions: what logs alone ratify, and what is recorded and proved. */
function decidedProposals({ memory }: Pick<Session, "memory">): ReadonlySet<string> {
  const { proposals, decisions } = memory.state;
  const recorded = provedEntries(decisions).map(({ record }) => record.proposal_id);
  const ratified = ratifiedDecisions(proposals).map(({ proposal_id: id }) => id);
  return new Set([...recorded, ...ratified].filter((id) => id !== undefined));
}
