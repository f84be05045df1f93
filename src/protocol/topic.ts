import { isChained } from "../wire/chain.ts";
import { answerLog, type Layout } from "../wire/layout.ts";
import { booleanField, field, textField } from "./body.ts";
import type { LineEvent } from "./record.ts";

/**
 * Lines of one log in one thread that can bear on outcomes; later ones do not count. Bounded by the
 * log alone, so that every reader counts the same.
 */
const MAX_LINES_PER_LOG = 1_024;
const MAX_OTHERS_PER_LOG = 4_096;
/** Deeper chains of "this names that" belong to no thread in particular. */
const MAX_NAMING_DEPTH = 64;

/** One thread, as far as proposals are concerned, among the agents who can see all of it. */
export interface Topic {
  readonly key: string;
  readonly correlationId: string;
  /** By log, in the order of the log. */
  readonly lines: Map<string, TopicLine[]>;
  /** Messages of the thread that decide nothing, by id, to tell an ack of them from others. */
  readonly others: Map<string, OtherLine>;
  readonly otherCounts: Map<string, number>;
  /** Agents who began a thread of this name, with the line of their first root. */
  readonly roots: Map<string, number>;
}

export interface OtherLine {
  readonly id: string;
  readonly log: string;
  readonly line: number;
  readonly from: string;
  readonly root: boolean;
  /** The event id that the line answers. */
  readonly target: string | undefined;
}

/** A proposal, an ack, or a revert. */
export interface TopicLine extends OtherLine {
  readonly says: "proposal" | "ack" | "revert";
  /** An ack that does not reject. */
  readonly approves: boolean;
  /** An unchained ack that names nothing. Spec 3.4, "Answering". */
  readonly bare: boolean;
  readonly chained: boolean;
  readonly timestamp: string;
  readonly timestampMs: number;
  readonly refusedByUs: boolean;
}

/**
 * The agents who can see all of what stands in that log: a pair, or everybody. Proposals are
 * decided among them, so threads of different pairs never mix.
 */
export function topicKey(layout: Layout, logName: string, correlationId: string): string {
  const log = layout.logs.get(logName);
  const answer = log?.addressee === undefined ? undefined : answerLog(layout, log, log.addressee);
  const scope = answer === undefined ? "" : [logName, answer.name].sort().join(" ");
  return `${scope} ${correlationId}`;
}

export function newTopic(key: string, correlationId: string): Topic {
  return {
    key,
    correlationId,
    lines: new Map(),
    others: new Map(),
    otherCounts: new Map(),
    roots: new Map(),
  };
}

/** How many lines are remembered of it. */
export function sizeOf({ lines, others }: Topic): number {
  return [...lines.values()].reduce((sum, { length }) => sum + length, others.size);
}

/** Adds a line to its thread; `undefined` when it bears on no outcome, or was there before. */
export function addLine(topic: Topic, event: LineEvent): TopicLine | undefined {
  const { message, log, line } = event;
  const base: OtherLine = {
    id: message.id,
    log,
    line,
    from: message.from,
    root: message.correlationId === message.timestamp,
    target: targetOf(event),
  };
  if (findLine(topic, base.id) !== undefined || topic.others.has(base.id)) return undefined;
  if (base.root && !topic.roots.has(base.from)) topic.roots.set(base.from, line);
  const says = saysWhat(event);
  if (says === undefined) {
    const count = topic.otherCounts.get(log) ?? 0;
    if (count < MAX_OTHERS_PER_LOG) topic.others.set(base.id, base);
    topic.otherCounts.set(log, count + 1);
    return undefined;
  }
  const lines = linesOf(topic, log);
  if (lines.length >= MAX_LINES_PER_LOG) return undefined;
  const added: TopicLine = {
    ...base,
    says,
    approves: says === "ack" && booleanField(message.body, "approve") !== false,
    bare: says === "ack" && isBare(event),
    chained: isChained(message),
    timestamp: message.timestamp,
    timestampMs: message.timestampMs,
    refusedByUs: event.refused !== undefined,
  };
  if (lines.length === 0) topic.lines.set(log, [added]);
  else lines.push(added);
  return added;
}

function saysWhat(event: LineEvent): TopicLine["says"] | undefined {
  const { type, body } = event.message;
  if (type === "proposal" || type === "ack") return type;
  if (type === "correction" && textField(body, "reverts") !== undefined) return "revert";
  return undefined;
}

/** Spec 3.4: an ack that names nothing counts only unchained, and as no answer to a request. */
function isBare(event: LineEvent): boolean {
  const { body } = event.message;
  const names = field(body, "acks") !== undefined || field(body, "request_id") !== undefined;
  return !names && !isChained(event.message);
}

function targetOf(event: LineEvent): string | undefined {
  const { type, body } = event.message;
  if (type === "ack") return textField(body, "acks");
  if (type === "proposal") return textField(body, "counters");
  if (type === "correction") return textField(body, "reverts") ?? textField(body, "corrects");
  return undefined;
}

export function linesOf(topic: Topic, log: string): TopicLine[] {
  return topic.lines.get(log) ?? [];
}

export function findLine(topic: Topic, id: string): TopicLine | undefined {
  for (const lines of topic.lines.values()) {
    const found = lines.find((line) => line.id === id);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * Whether two lines belong to the same thread. Spec 3.3: roots with an equal correlation id from
 * different senders are threads that share a name. A line belongs to the thread of what it names,
 * else to the one that its sender began earlier in the same log, else to all of that name; so what
 * another agent begins later moves nobody's lines.
 */
export function inSameThread(topic: Topic, a: TopicLine, b: TopicLine): boolean {
  if (topic.roots.size < 2) return true;
  const left = threadOf(topic, a, 0);
  const right = threadOf(topic, b, 0);
  return left === undefined || right === undefined || left === right;
}

/** The agent who began its thread; `undefined` for a line of all threads of that name. */
function threadOf(topic: Topic, line: OtherLine, depth: number): string | undefined {
  if (depth > MAX_NAMING_DEPTH) return undefined;
  if (line.target !== undefined) {
    const named = findLine(topic, line.target) ?? topic.others.get(line.target);
    if (named !== undefined) return threadOf(topic, named, depth + 1);
  }
  if (line.root) return line.from;
  const own = topic.roots.get(line.from);
  const isBareAck = "bare" in line && line.bare === true;
  return own !== undefined && own < line.line && !isBareAck ? line.from : undefined;
}
