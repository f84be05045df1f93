import { isChained } from "../../wire/chain.ts";
import { answerLog, type Layout } from "../../wire/layout.ts";
import { booleanField, field, idField, textField } from "../body.ts";
import {
  kindOf,
  knownLine,
  learnDeciding,
  learnPlain,
  type KnownLine,
  type KnownLines,
} from "../logs/known-lines.ts";
import type { LineEvent } from "../events.ts";

/**
 * Lines of one log in one thread that can bear on outcomes; later ones do not count. Bounded by the
 * log alone, so that every reader counts the same. Spec 3.4.
 */
const MAX_LINES_PER_LOG = 1_024;
const MAX_OTHERS_PER_LOG = 4_096;

/**
 * One thread, as far as proposals are concerned, among the agents who can see all of it: all lines
 * with one correlation id. Spec 3.4 asks for no more than that, whatever 3.3 shows.
 */
export interface Topic {
  readonly key: string;
  /** Of this thread alone, of all that were ever begun. */
  readonly number: number;
  readonly correlationId: string;
  /** Proposals, acks and corrections by log, in the order of the log. */
  readonly lines: Map<string, TopicLine[]>;
  /** How many messages of each log decide nothing: an ack may name one of them (`PlainLines`). */
  readonly others: Map<string, number>;
  /** Logs with more deciding lines in this thread than are read. */
  readonly full: Set<string>;
}

/** A proposal, an ack or a correction. */
export interface TopicLine {
  readonly id: string;
  readonly log: string;
  readonly line: number;
  readonly from: string;
  /** The event id that the line answers. */
  readonly target: string | undefined;
  /** An answer to a request, or a correction that reverts nothing, says nothing here. */
  readonly says: "proposal" | "ack" | "revert" | "nothing";
  /** Of a revert: `body.replaced_by`. */
  readonly replacedBy?: string;
  /** An ack that does not reject. */
  readonly approves: boolean;
  /** An ack that says `approve: true`, as ours of proposals do. */
  readonly explicit: boolean;
  /** What the target is when it is a line of the same log before this one. */
  readonly namesOwn: "proposal" | "other" | undefined;
  /** An unchained ack that names nothing. Spec 3.4, "Answering". */
  readonly bare: boolean;
  readonly chained: boolean;
  readonly timestamp: string;
  readonly timestampMs: number;
  readonly refusedByUs: boolean;
}

/**
 * The agents who can see all of that log: a pair, or all agents. Proposals are decided among them,
 * so threads of different pairs never mix.
 */
export function topicKey(layout: Layout, logName: string, correlationId: string): string {
  const log = layout.logs.get(logName);
  const answer = log?.addressee === undefined ? undefined : answerLog(layout, log, log.addressee);
  const scope = answer === undefined ? "" : [logName, answer.name].sort().join(" ");
  return `${scope} ${correlationId}`;
}

export function newTopic(key: string, correlationId: string, number: number): Topic {
  return { key, number, correlationId, lines: new Map(), others: new Map(), full: new Set() };
}

/** How many lines are remembered of it. */
export function sizeOf({ lines, others }: Topic): number {
  const deciding = [...lines.values()].reduce((sum, { length }) => sum + length, 0);
  return [...others.values()].reduce((sum, count) => sum + count, deciding);
}

/** The lines of these threads that decide something: it follows from the threads, so nothing else keeps it. */
export function decidingIn(topics: Iterable<Topic>): KnownLines["deciding"] {
  const names: Pick<KnownLines, "deciding"> = { deciding: new Map() };
  for (const { key, lines } of topics) {
    for (const [log, all] of lines) {
      for (const { id, line, says } of all) learnDeciding(names, log, id, known(key, line, says));
    }
  }
  return names.deciding;
}

function known(thread: string, line: number, says: TopicLine["says"]): KnownLine {
  return { line, proposalIn: says === "proposal" ? thread : undefined };
}

/**
 * Adds a line to its thread and to the lines that acks may name.
 *
 * @param isOwnBeat whether that id is a heartbeat of the same log
 * @returns `undefined` for a line that bears on no outcome, or that was there before
 */
export function addLine(
  topic: Topic,
  event: LineEvent,
  names: KnownLines,
  isOwnBeat: (id: string) => boolean,
): TopicLine | undefined {
  const { message, log, line } = event;
  if (knownLine(names, log, message.id) !== undefined) return undefined;
  const says = saysWhat(event);
  if (says === undefined) {
    const others = topic.others.get(log) ?? 0;
    if (others >= MAX_OTHERS_PER_LOG) return undefined;
    topic.others.set(log, others + 1);
    learnPlain(names, log, { id: message.id, line, thread: topic.number });
    return undefined;
  }
  if (!hasRoom(topic, log)) {
    topic.full.add(log);
    return undefined;
  }
  const lines = linesOf(topic, log);
  const target = targetOf(event);
  const approve = booleanField(message.body, "approve");
  const replacedBy = says === "revert" ? idField(message.body, "replaced_by") : undefined;
  const added: TopicLine = {
    id: message.id,
    log,
    line,
    from: message.from,
    target,
    says,
    ...(replacedBy === undefined ? {} : { replacedBy }),
    approves: says === "ack" && approve !== false,
    explicit: says === "ack" && approve === true,
    namesOwn: target === undefined ? undefined : ownKind(names, log, target, isOwnBeat),
    bare: says === "ack" && isBare(event),
    chained: isChained(message),
    timestamp: message.timestamp,
    timestampMs: message.timestampMs,
    refusedByUs: event.refused !== undefined,
  };
  if (lines.length === 0) topic.lines.set(log, [added]);
  else lines.push(added);
  learnDeciding(names, log, message.id, known(topic.key, line, says));
  return added;
}

function ownKind(
  names: KnownLines,
  log: string,
  id: string,
  isOwnBeat: (id: string) => boolean,
): TopicLine["namesOwn"] {
  const named = knownLine(names, log, id);
  if (named === undefined) return isOwnBeat(id) ? "other" : undefined;
  return kindOf(named);
}

/** `undefined` for a message that is none of what decides. */
function saysWhat(event: LineEvent): TopicLine["says"] | undefined {
  const { type, body } = event.message;
  if (type === "proposal") return type;
  // Spec 3.4: an ack with a request id answers a request, and says nothing of any proposal.
  if (type === "ack") return field(body, "request_id") === undefined ? type : "nothing";
  if (type === "correction") return textField(body, "reverts") === undefined ? "nothing" : "revert";
  return undefined;
}

/** Spec 3.4: an ack that names nothing counts only on an unchained line. */
function isBare(event: LineEvent): boolean {
  return field(event.message.body, "acks") === undefined && !isChained(event.message);
}

function targetOf(event: LineEvent): string | undefined {
  const { type, body } = event.message;
  if (type === "ack") return textField(body, "acks");
  if (type === "proposal") return textField(body, "counters");
  return textField(body, "reverts") ?? textField(body, "corrects");
}

/** Whether one more line of that log in the thread would count. */
export function hasRoom(topic: Topic, log: string): boolean {
  return linesOf(topic, log).length < MAX_LINES_PER_LOG;
}

export function linesOf(topic: Topic, log: string): TopicLine[] {
  return topic.lines.get(log) ?? [];
}
