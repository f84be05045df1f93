import { firstCodePoints } from "../../wire/json/code-points.ts";
import { isChained } from "../../wire/chain.ts";
import type { Log } from "../../wire/layout.ts";
import { MAX_KEPT_SUBJECT } from "../bounds.ts";
import { dueOf } from "../due.ts";
import type { Env } from "../env.ts";
import type { LineEvent } from "../events.ts";
import { asContinued } from "../logs/continued.ts";
import { coveringLogs } from "../logs/coverage.ts";
import { isBeatOf } from "../logs/covering-beats.ts";
import type { LogsState } from "../logs/logs-state.ts";
import { numberThread } from "../logs/known-lines.ts";
import { actionOf, asksForLayout } from "./proposal.ts";
import {
  addLine,
  linesOf,
  newTopic,
  sizeOf,
  topicKey,
  type Topic,
  type TopicLine,
} from "./proposal-thread.ts";
import {
  boundLines,
  boundTopics,
  keepContent,
  keepMove,
  openIn,
  proposalKey,
  type ProposalsState,
} from "./proposals-state.ts";
import { contentDigest, decisionContent } from "./record/decision-record.ts";
import { requiredOf } from "./required-parties.ts";

/** Spec 3.4: so many round trips of counters, and both operators are told. */
const MAX_ROUND_TRIPS = 3;

/**
 * Adds a line to its thread, and to those of closed logs that go on with it. Answers the threads on
 * whose outcomes it may bear.
 */
export function takeMessage(
  state: ProposalsState,
  event: LineEvent,
  env: Env,
  logs: LogsState,
): Topic[] {
  return [
    ...takeLine(state, event, env, logs),
    ...asContinued(event, env.layout).flatMap((each) => takeContinued(state, each, env, logs)),
  ];
}

/** The thread of a line that may bear on outcomes. */
function takeLine(state: ProposalsState, event: LineEvent, env: Env, logs: LogsState): Topic[] {
  const log = env.layout.logs.get(event.log);
  if (log === undefined) return [];
  const { correlationId } = event.message;
  const key = topicKey(env.layout, event.log, correlationId);
  const topic = state.topics.get(key) ?? newTopic(key, correlationId, numberThread(state.names));
  const line = addToTopic(state, topic, event, logs);
  // A message that decides nothing may still be the one that an ack names.
  if (line?.says === "proposal") addProposal(state, topic, event, log, env);
  noteDivergence(state, topic, event, line, env);
  return [topic];
}

/**
 * What a line of an outbox is to a thread of a closed log that goes on with it. Where all logs of the
 * pair are closed, no thread begins there any more. Spec 1.6.
 */
function takeContinued(
  state: ProposalsState,
  event: LineEvent,
  env: Env,
  logs: LogsState,
): Topic[] {
  const { correlationId } = event.message;
  const key = topicKey(env.layout, event.log, correlationId);
  const known = state.topics.get(key);
  const readers = coveringLogs(env.layout, event.log);
  const mayBegin = readers.some(({ name }) => logs.get(name)?.closing === undefined);
  if (known === undefined && !mayBegin) return [];
  const topic = known ?? newTopic(key, correlationId, numberThread(state.names));
  const line = addToTopic(state, topic, event, logs);
  noteDivergence(state, topic, event, line, env);
  return [topic];
}

function addToTopic(
  state: ProposalsState,
  topic: Topic,
  event: LineEvent,
  logs: LogsState,
): TopicLine | undefined {
  state.topics.delete(topic.key);
  state.topics.set(topic.key, topic);
  boundTopics(state);
  const sizeBefore = sizeOf(topic);
  const isOwnBeat = (id: string): boolean => isBeatOf(logs, event.log, id, event.line);
  const line = addLine(topic, event, state.names, isOwnBeat);
  state.lineCount += sizeOf(topic) - sizeBefore;
  boundLines(state, topic);
  return line;
}

function noteDivergence(
  state: ProposalsState,
  topic: Topic,
  { live }: LineEvent,
  line: TopicLine | undefined,
  env: Env,
): void {
  if (line?.says !== "proposal" || !live || roundTrips(topic) < MAX_ROUND_TRIPS) return;
  if (concernsUs(state, topic, env)) state.diverging.add(topic.key);
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
    action: actionOf(message),
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
  if (chained && asksForLayout(message) !== undefined) keepMove(state, key);
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
