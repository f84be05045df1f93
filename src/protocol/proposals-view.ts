import { voiceSoFar } from "./deadlines.ts";
import type { LogsState } from "./logs.ts";
import type { Outcome, Proposal } from "./proposal.ts";
import type { ProposalsState } from "./proposals-state.ts";
import type { Env } from "./record.ts";
import { listedSubject } from "./routing.ts";
import { answerLogName } from "./support.ts";

export interface ProposalView {
  proposal_id: string;
  correlation_id: string;
  proposer: string;
  /** Words of ours when the proposer is below VERIFIED. Spec 2.3. */
  subject: string;
  required: string[];
  /** `void`: it can never be ratified, see `problem`. */
  status: Outcome["status"] | "open" | "void";
  problem: string | null;
  /** Event id of the line that decided. */
  decided_by: string | null;
  /** By required party: the proposal that it supports, "rejected", or null. */
  support: Record<string, string | null>;
}

/** Proposals, oldest first; of those long decided only the ratified ones are remembered. */
export function proposalsView(
  state: ProposalsState,
  logs: LogsState,
  env: Env,
  correlationId?: string,
): ProposalView[] {
  return [...state.proposals.values()]
    .filter((proposal) => correlationId === undefined || proposal.correlationId === correlationId)
    .sort((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1))
    .map((proposal) => viewOf(state, proposal, logs, env));
}

function viewOf(
  state: ProposalsState,
  proposal: Proposal,
  logs: LogsState,
  env: Env,
): ProposalView {
  const { outcome, problem } = proposal;
  return {
    proposal_id: proposal.id,
    correlation_id: proposal.correlationId,
    proposer: proposal.from,
    subject: listedSubject(env, proposal.from, proposal.subject),
    required: [...proposal.required],
    status: outcome?.status ?? (problem === undefined ? "open" : "void"),
    problem: problem ?? null,
    decided_by: outcome?.by ?? null,
    support: Object.fromEntries(
      proposal.required.map((party) => [party, supportOf(state, proposal, logs, env, party)]),
    ),
  };
}

function supportOf(
  state: ProposalsState,
  proposal: Proposal,
  logs: LogsState,
  env: Env,
  party: string,
): string | null {
  const topic = state.topics.get(proposal.topic);
  if (topic === undefined) return proposal.outcome?.status === "ratified" ? proposal.id : null;
  const voice = voiceSoFar(proposal, topic, logs, answerLogName(env.layout, proposal, party));
  return voice.rejection === undefined ? (voice.support ?? null) : "rejected";
}
