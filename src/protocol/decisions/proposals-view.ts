import { awaitedLine } from "../logs/coverage.ts";
import type { LogsState } from "../logs/logs-state.ts";
import { isPastJudging, logsAskedFor } from "./chained-outcome.ts";
import { isVoid, type Outcome, type Proposal } from "./proposal.ts";
import { caseOf } from "./proposals.ts";
import type { ProposalsState } from "./proposals-state.ts";
import type { Env } from "../env.ts";
import { authorTier, isVerified, listedSubject } from "../routing.ts";
import { answerLogName, positionSoFar, type Case, type Position } from "./party-position.ts";

/** `replaced`: reverted, because its proposer agreed to a sibling. Spec 3.4. */
export type ProposalStatus = EndStatus | "open" | "void";

/** What became of a proposal, as it is shown. */
export type EndStatus = Outcome["status"] | "replaced";

/** One proposal, as `deaddrop proposals` prints it. */
export interface ProposalView {
  proposal_id: string;
  correlation_id: string;
  proposer: string;
  /** A text of ours when the proposer is below VERIFIED. Spec 2.3. */
  subject: string;
  /** The words that are recorded once it is ratified; null where they are not kept here. */
  decision: string | null;
  required: string[];
  /** `void`: it can never be ratified, see `problem`. */
  status: ProposalStatus;
  problem: string | null;
  /** What an open one waits for, to follow "waits for"; null when it has ended. */
  waits_for: string | null;
  /** Event id of the line that decided. */
  decided_by: string | null;
  /** Of a replaced one: the sibling that its proposer agreed to. */
  replaced_by: string | null;
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
  const topic = state.topics.get(proposal.topic);
  const of = topic === undefined ? undefined : caseOf(state, topic, env, logs);
  const positions = new Map(
    proposal.required.map((party) => [party, of && positionSoFar(of, proposal, party)]),
  );
  return {
    proposal_id: proposal.id,
    correlation_id: proposal.correlationId,
    proposer: proposal.from,
    subject: listedSubject(env, proposal.from, proposal.subject),
    decision: isVerified(authorTier(env, proposal.from))
      ? (proposal.content?.decision ?? null)
      : null,
    required: [...proposal.required],
    status: outcome === undefined ? (isVoid(proposal) ? "void" : "open") : endStatus(outcome),
    problem: problem ?? null,
    waits_for: outcome !== undefined || isVoid(proposal) ? null : waitsFor(of, proposal, positions),
    decided_by: outcome?.by ?? null,
    replaced_by: outcome?.replacedBy ?? null,
    support: Object.fromEntries(
      [...positions].map(([party, position]) => [party, supportOf(proposal, position)]),
    ),
  };
}

export function endStatus(outcome: Outcome): EndStatus {
  return outcome.replacedBy === undefined ? outcome.status : "replaced";
}

function supportOf({ id, outcome }: Proposal, position: Position | undefined): string | null {
  if (position === undefined) return outcome?.status === "ratified" ? id : null;
  return position.rejection === undefined ? (position.support ?? null) : "rejected";
}

/** Every proposal that has not ended says why. Spec 3.4. */
function waitsFor(
  of: Case | undefined,
  proposal: Proposal,
  positions: ReadonlyMap<string, Position | undefined>,
): string {
  const { from, log, problem, required, chained } = proposal;
  if (problem !== undefined) return `\`config accept\`: ${problem}`;
  if (of === undefined) return "lines of its thread that are no longer remembered";
  const answers = required.map((party) => answerLogName(of.layout, proposal, party));
  if ([log, ...answers].some((name) => of.topic.full.has(name))) {
    return "nothing that can come: its thread is too long; propose again in a new one";
  }
  if (chained && isPastJudging(of, proposal)) {
    return `nothing that can come: too many heartbeats of ${from} came before lines that they count; propose again in a new thread`;
  }
  const [reader, targets] = chained
    ? [log, logsAskedFor(of, proposal)]
    : [answers[0] ?? log, [log]];
  for (const target of targets) {
    const line = awaitedLine(of.logs.get(reader), target);
    if (line !== undefined)
      return `lines of ${target} up to ${line}, which heads in ${reader} count`;
  }
  const silent = [...positions].filter(
    ([, position]) => position?.ack === undefined && position?.rejection === undefined,
  );
  if (silent.length > 0) return `an answer of ${silent.map(([party]) => party).join(", ")}`;
  return `the next heartbeat of ${chained ? from : required.join(", ")}`;
}
