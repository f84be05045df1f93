import { readingOf } from "./answer-times.ts";
import { judgeChained } from "./chained-outcome.ts";
import type { LogsState } from "../logs/logs-state.ts";
import type { Proposal } from "./proposal.ts";
import {
  deleteFirst,
  dropContent,
  openIn,
  proposalsIn,
  type ProposalsState,
} from "./proposals-state.ts";
import { isFolded, type CoreEvent } from "../events.ts";
import type { Env } from "../env.ts";
import { answerLogName, type Case } from "./party-position.ts";
import type { Topic } from "./proposal-thread.ts";
import { takeMessage } from "./thread-lines.ts";
import { judgeUnchained } from "./unchained-outcome.ts";

/** Open proposals of one log that are judged with every beat; beyond, the oldest wait for a line. */
const MAX_WATCHED = 4_096;

/**
 * Folds an event after the logs have. `touched` are the logs whose coverage it changed. Returns the
 * proposals about which more is known now.
 */
export function applyProposals(
  state: ProposalsState,
  event: CoreEvent,
  env: Env,
  logs: LogsState,
  touched: ReadonlySet<string>,
): ReadonlySet<Proposal> {
  const changed = new Set<Proposal>();
  if (event.kind === "told") state.diverging.delete(event.key.replace(/^not_converging:/u, ""));
  if (event.kind === "line" && isFolded(event) && event.message.type !== "heartbeat") {
    const topics = takeMessage(state, event, env, logs);
    const open = new Set(topics.flatMap((topic) => openIn(state, topic)));
    judgeAll(state, [...open], env, logs, changed);
  }
  for (const log of touched) noteReadings(state, log, env, logs);
  for (const log of touched) {
    const keys = [...(state.watched.get(log) ?? [])];
    const watched = keys.flatMap((key) => state.proposals.get(key) ?? []);
    judgeAll(state, watched, env, logs, changed);
  }
  return changed;
}

/** Which of our own proposals a beat in that log begins the time of. Spec 3.4, "Deadlines". */
function noteReadings(state: ProposalsState, log: string, env: Env, logs: LogsState): void {
  for (const key of state.running) {
    const proposal = state.proposals.get(key);
    for (const party of proposal?.required ?? []) {
      if (proposal === undefined || proposal.readings.has(party)) continue;
      if (answerLogName(env.layout, proposal, party) !== log) continue;
      const at = readingOf(proposal, party, logs, env);
      if (at !== undefined) proposal.readings.set(party, { at });
    }
  }
}

/**
 * An unchained proposal may be withdrawn by a chained one of the same log that is ratified, so those
 * are judged first, each log in its order. Spec 3.4, *mixed*.
 */
function judgeAll(
  state: ProposalsState,
  proposals: readonly Proposal[],
  env: Env,
  logs: LogsState,
  changed: Set<Proposal>,
): void {
  const inOrder = proposals.toSorted(
    (a, b) => Number(b.chained) - Number(a.chained) || a.line - b.line,
  );
  // What becomes of one unchained proposal bears on no other one: they are all one question.
  const unchained = new Map<string, Case>();
  for (const proposal of inOrder) {
    const topic = state.topics.get(proposal.topic);
    if (topic === undefined) continue;
    const known = proposal.chained ? undefined : unchained.get(topic.key);
    const of = known ?? caseOf(state, topic, env, logs);
    if (!proposal.chained) unchained.set(topic.key, of);
    judge(state, proposal, env, of, changed);
  }
}

function judge(
  state: ProposalsState,
  proposal: Proposal,
  env: Env,
  of: Case,
  changed: Set<Proposal>,
): void {
  if (proposal.settled) return;
  const { topic } = of;
  const { outcome, judgedTo } = proposal;
  const judged = proposal.chained ? judgeChained(of, proposal) : judgeUnchained(of, proposal);
  proposal.outcome = judged.outcome;
  proposal.settled = judged.settled;
  const isNew = proposal.judgedTo === proposal.line;
  if (isNew || proposal.outcome?.by !== outcome?.by || proposal.judgedTo !== judgedTo) {
    changed.add(proposal);
  }
  watch(state, topic, proposal, env);
  const { own, live, problem, key } = proposal;
  const isRunning = own && live && problem === undefined && proposal.outcome === undefined;
  if (isRunning) state.running.add(key);
  else state.running.delete(key);
  if (proposal.outcome === undefined) return;
  if (proposal.outcome.status === "ratified") state.contents.delete(proposal.key);
  else if (proposal.settled) dropContent(state, proposal);
}

/** Judges a proposal that an entry of decisions.jsonl names, now and from now on. */
export function nameProposal(
  state: ProposalsState,
  proposal: Proposal,
  env: Env,
  logs: LogsState,
): void {
  if (proposal.named) return;
  proposal.named = true;
  judgeAll(state, [proposal], env, logs, new Set());
}

/** What the proposals of a thread are judged by, as they are now: for one question only. */
export function caseOf(state: ProposalsState, topic: Topic, env: Env, logs: LogsState): Case {
  let known: readonly Proposal[] | undefined;
  const proposals = (): readonly Proposal[] => (known ??= proposalsIn(state, topic));
  return {
    logs,
    layout: env.layout,
    names: state.names,
    topic,
    proposals,
    byAcker: new Map(),
  };
}

/** A proposal alone in its thread is decided by no beat. */
function watch(state: ProposalsState, topic: Topic, proposal: Proposal, env: Env): void {
  const [party] = proposal.required;
  if (party === undefined && !proposal.chained) return;
  const log = proposal.chained ? proposal.log : answerLogName(env.layout, proposal, party ?? "");
  const watched = state.watched.get(log) ?? new Set<string>();
  const size = [...topic.lines.values()].reduce((sum, { length }) => sum + length, 0);
  const isAlone = size < 2;
  if (proposal.settled || (isAlone && !proposal.named)) {
    watched.delete(proposal.key);
  } else {
    watched.add(proposal.key);
    if (watched.size > MAX_WATCHED) deleteFirst(watched);
  }
  if (watched.size > 0) state.watched.set(log, watched);
  else state.watched.delete(log);
}
