import { fromPlain } from "../../wire/json/json.ts";
import { quote } from "../../wire/quote.ts";
import type { Effect } from "../effects.ts";
import { deadlineCadence } from "../heartbeats/liveness.ts";
import { firstBeatCovering, lastBeat } from "../logs/logs.ts";
import type { LogsState } from "../logs/logs-state.ts";
import type { Proposal } from "./proposal.ts";
import type { ProposalsState } from "./proposals-state.ts";
import type { Env, Now } from "../env.ts";
import { caseOf } from "./proposals.ts";
import { answerLogName, positionSoFar } from "./party-position.ts";
import { linesOf, type Topic } from "./proposal-thread.ts";
import { DAY_MS } from "../../wire/durations.ts";

const CADENCES_TO_ANSWER = 2;

/** Our proposals whose time is over, and threads that do not converge. Spec 3.4, "Deadlines". */
export function decideProposals(
  state: ProposalsState,
  logs: LogsState,
  env: Env,
  now: Now,
): Effect[] {
  const effects: Effect[] = [];
  for (const key of state.running) {
    const proposal = state.proposals.get(key);
    const topic = proposal === undefined ? undefined : state.topics.get(proposal.topic);
    if (proposal === undefined || topic === undefined) continue;
    const silent = overdueParty(state, proposal, topic, logs, env, now);
    if (silent !== undefined) effects.push(...revert(proposal, silent));
  }
  for (const key of state.diverging) {
    const topic = state.topics.get(key);
    if (topic !== undefined) effects.push(notConverging(topic));
  }
  return effects;
}

/**
 * A required party whose time to answer is over while the logs concerned are read to their end; a
 * counter stops nothing. An ack that we have read is not late, even if no beat of ours covers it.
 */
function overdueParty(
  state: ProposalsState,
  proposal: Proposal,
  topic: Topic,
  logs: LogsState,
  env: Env,
  now: Now,
): string | undefined {
  if (isReverted(proposal, topic)) return undefined;
  const isLastCall = now.wallMs >= proposal.at + DAY_MS;
  const answers = proposal.required.map((party) => ({
    party,
    log: answerLogName(env.layout, proposal, party),
  }));
  // Spec 2.4, 3.4: no deadline but the 24 h runs against a peer whose lines we hold back.
  const isRead = answers.every(({ log }) =>
    env.reading.holdsBack(log) ? isLastCall : env.reading.caughtUp(log),
  );
  if (!isRead) return undefined;
  const of = caseOf(state, topic, env, logs);
  const open = answers.filter(({ party }) => {
    const { ack, rejection } = positionSoFar(of, proposal, party);
    return ack === undefined && rejection === undefined;
  });
  const late = open.find(
    ({ log }) => isLastCall || now.wallMs >= answerDueMs(proposal, logs, env, log),
  );
  return late?.party;
}

function isReverted(proposal: Proposal, topic: Topic): boolean {
  return linesOf(topic, proposal.log).some(
    (line) => line.says === "revert" && line.target === proposal.id,
  );
}

/** Twice its cadence from its first live beat that covers the proposal. */
export function answerDueMs(proposal: Proposal, logs: LogsState, env: Env, log: string): number {
  const question = { liveOnly: true, writtenAt: proposal.at };
  const covering = firstBeatCovering(logs, log, proposal.log, proposal.line, question);
  if (covering === undefined) return Infinity;
  const cadence = deadlineCadence(lastBeat(logs, log)?.cadenceMs, env);
  return covering.at + CADENCES_TO_ANSWER * cadence;
}

function revert(proposal: Proposal, silent: string): Effect[] {
  const reason = `${silent} did not answer in time`;
  return [
    {
      do: "send",
      log: proposal.log,
      draft: {
        to: proposal.required,
        type: "correction",
        subject: `reverted: ${proposal.subject}`,
        body: fromPlain({ corrects: proposal.id, reverts: proposal.id, reason }),
        correlationId: proposal.correlationId,
      },
    },
    {
      do: "tell",
      incident: {
        key: `proposal_silent:${proposal.key}`,
        cause: "proposal_silent",
        peer: silent,
        subject: `no answer to: ${proposal.subject}`,
        detail: `${reason}; the proposal is reverted. Ask again in a new thread`,
        concernsWire: false,
      },
    },
  ];
}

function notConverging(topic: Topic): Effect {
  return {
    do: "tell",
    incident: {
      key: `not_converging:${topic.key}`,
      cause: "not_converging",
      subject: "proposals go back and forth",
      detail: `thread ${quote(topic.correlationId)}: three round trips of counters and no agreement; the operators should talk`,
      concernsWire: false,
    },
  };
}
