import { firstCodePoints } from "../../wire/code-points.ts";
import { isChained } from "../../wire/chain.ts";
import type { Log } from "../../wire/layout.ts";
import { dueOf } from "../due.ts";
import { readingOf } from "./answer-times.ts";
import { judgeChained } from "./chained-outcome.ts";
import { contentDigest, decisionContent } from "./record/decision-record.ts";
import { isBeatOf } from "../logs/covering-beats.ts";
import type { LogsState } from "../logs/logs-state.ts";
import type { Proposal } from "./proposal.ts";
import {
  boundLines,
  boundTopics,
  deleteFirst,
  dropContent,
  keepContent,
  openIn,
  proposalKey,
  proposalsIn,
  type ProposalsState,
} from "./proposals-state.ts";
import { isFolded, type CoreEvent, type LineEvent } from "../events.ts";
import type { Env } from "../env.ts";
import { requiredOf } from "./required-parties.ts";
import { answerLogName, type Case } from "./party-position.ts";
import { addLine, linesOf, newTopic, sizeOf, topicKey, type Topic } from "./proposal-thread.ts";
import { judgeUnchained } from "./unchained-outcome.ts";
import { MAX_KEPT_SUBJECT } from "../bounds.ts";

/** Open proposals of one log that are judged with every beat; beyond, the oldest wait for a line. */
const MAX_WATCHED = 4_096;
/** Spec 3.4: so many round trips of counters, and both operators are told. */
const MAX_ROUND_TRIPS = 3;

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
    const topic = takeLine(state, event, env, logs);
    judgeAll(state, topic === undefined ? [] : openIn(state, topic), env, logs, changed);
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

/** The thread of a line that bears on outcomes. */
function takeLine(
  state: ProposalsState,
  event: LineEvent,
  env: Env,
  logs: LogsState,
): Topic | undefined {
  const log = env.layout.logs.get(event.log);
  if (log === undefined) return undefined;
  const { correlationId } = event.message;
  const key = topicKey(env.layout, event.log, correlationId);
  const topic = state.topics.get(key) ?? newTopic(key, correlationId);
  state.topics.delete(key);
  state.topics.set(key, topic);
  boundTopics(state);
  const sizeBefore = sizeOf(topic);
  const isOwnBeat = (id: string): boolean => isBeatOf(logs, event.log, id, event.line);
  const line = addLine(topic, event, state.names, isOwnBeat);
  state.lineCount += sizeOf(topic) - sizeBefore;
  boundLines(state, topic);
  // A message that decides nothing may still be the one that an ack names.
  if (line === undefined) return topic;
  if (line.says === "proposal") {
    addProposal(state, topic, event, log, env);
    if (event.live && roundTrips(topic) >= MAX_ROUND_TRIPS && concernsUs(state, topic, env)) {
      state.diverging.add(key);
    }
  }
  return topic;
}

function addProposal(
  state: ProposalsState,
  topic: Topic,
  event: LineEvent,
  log: Log,
  env: Env,
): void {
  const { message } = event;
  const chained = isChained(message);
  const { parties, problem, awaitsRoster } = requiredOf(message, log, env.layout);
  const key = proposalKey(message.id, event.log, chained);
  const content = decisionContent(message, env.policy.domains);
  const isParty = log.owner === env.self || parties.includes(env.self);
  const mayRecord = problem === undefined && (isParty || !env.layout.roster.includes(env.self));
  state.proposals.set(key, {
    key,
    topic: topic.key,
    id: message.id,
    correlationId: message.correlationId,
    log: event.log,
    line: event.line,
    from: log.owner,
    subject: firstCodePoints(message.subject, MAX_KEPT_SUBJECT),
    required: parties,
    problem,
    awaitsRoster,
    chained,
    timestampMs: message.timestampMs,
    at: event.at,
    live: event.live,
    own: event.own,
    dueMs: dueOf(message.body, message.timestampMs),
    digest: contentDigest(content),
    content: mayRecord ? content : undefined,
    outcome: undefined,
    settled: false,
    elsewhere: new Set(),
    named: false,
    readings: new Map(),
    judgedTo: event.line,
  });
  if (mayRecord && !event.own) keepContent(state, key);
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

/** Round trips of counters between the two agents with most proposals in the thread. */
function roundTrips(topic: Topic): number {
  const counts = [...topic.lines.keys()]
    .map((log) => linesOf(topic, log).filter((line) => line.says === "proposal").length)
    .sort((a, b) => b - a);
  const [most = 0, second = 0] = counts;
  return Math.floor((Math.min(most, second + 1) + second - 1) / 2);
}

function concernsUs(state: ProposalsState, topic: Topic, env: Env): boolean {
  const open = openIn(state, topic);
  return open.some(
    (proposal) => proposal.from === env.self || proposal.required.includes(env.self),
  );
}
