import type { RefusalReason } from "../../admission/checks.ts";
import { isState } from "../../trust/tiers.ts";
import { addresseesOf, isToAll } from "../addressing.ts";
import { field, textField } from "../body.ts";
import type { CoreEvent, LineEvent } from "../events.ts";
import type { Env } from "../env.ts";
import { EVICTION_BATCH, ROOM, MAX_KEPT_SUBJECT } from "../bounds.ts";
import {
  answersWhat,
  asksForAnswer,
  isPlainRequest,
  namedRequest,
  type Answers,
  type NamedRequest,
} from "./answering.ts";
import { firstCodePoints } from "../../wire/json/code-points.ts";

/** Threads remembered; beyond, the one untouched for longest goes. */
const MAX_THREADS = 4_096;
/** The same where the oldest have open obligations: these go last. */
const MAX_WAITING_THREADS = 16_384;
/** Messages remembered of one thread: beyond, the oldest of its most frequent author goes. */
const MAX_MESSAGES = 1_024;
/** Messages remembered in all: beyond, whole threads go as above, until there is room again. */
const MAX_ALL_MESSAGES = 16_384;
const MAX_ALL_WAITING_MESSAGES = 4 * MAX_ALL_MESSAGES;

/** Threads by correlation id: what lists and obligations need, never bodies. Spec 3.3. */
export interface ThreadsState {
  /** Least recently touched first. */
  readonly threads: Map<string, Thread>;
  /** In all threads. */
  messageCount: number;
  /** Threads forgotten to stay within bounds. */
  dropped: number;
}

/** All messages with one correlation id; several threads when several agents began one. */
export interface Thread {
  readonly correlationId: string;
  messages: ThreadMessage[];
  omitted: number;
}

export interface ThreadMessage {
  readonly id: string;
  readonly log: string;
  readonly line: number;
  readonly at: number;
  readonly from: string;
  /** The agents who may owe an answer. */
  readonly to: readonly string[];
  /** In an outbox: it names nobody. */
  readonly toAll?: true;
  readonly type: string;
  readonly subject: string;
  readonly timestamp: string;
  readonly root: boolean;
  /** Whether its addressees owe an answer: an ack was asked for, or it is a plain request. */
  readonly asks: boolean;
  readonly plainRequest: boolean;
  readonly request?: NamedRequest;
  /** Of a `shutdown`: it asks for nothing, its author has left. Spec 3.11. */
  readonly isFarewell?: true;
  /** The event id that it answers or corrects. */
  readonly target: string | undefined;
  readonly answers: Answers;
  readonly refused: RefusalReason | undefined;
}

export function emptyThreads(): ThreadsState {
  return { threads: new Map(), messageCount: 0, dropped: 0 };
}

/** Every authentic line but those that say how an agent is: they are no conversation. Spec 2.3. */
export function applyThreads(state: ThreadsState, event: CoreEvent, env: Env): void {
  if (event.kind !== "line" || isState(event.message.type)) return;
  const message = threadMessageOf(event, env);
  if (message === undefined) return;
  const { correlationId } = event.message;
  const thread = state.threads.get(correlationId) ?? { correlationId, messages: [], omitted: 0 };
  state.threads.delete(correlationId);
  state.threads.set(correlationId, thread);
  const isKnown = thread.messages.some(({ id, log }) => id === message.id && log === message.log);
  if (isKnown) return;
  thread.messages.push(message);
  state.messageCount += 1;
  if (thread.messages.length > MAX_MESSAGES) dropMessage(state, thread);
  else keepMessagesBounded(state);
  keepThreadsBounded(state);
}

/** What a thread keeps of a line; undefined when no log of the layout has that name. */
export function threadMessageOf(
  event: Pick<LineEvent, "message" | "log" | "line" | "at" | "refused">,
  env: Env,
): ThreadMessage | undefined {
  const { message } = event;
  const log = env.layout.logs.get(event.log);
  if (log === undefined) return undefined;
  const { body, type } = message;
  const request = namedRequest(message);
  return {
    id: message.id,
    log: event.log,
    line: event.line,
    at: event.at,
    from: log.owner,
    to: addresseesOf(message, log, env),
    ...(log.addressee === undefined && isToAll(message) ? { toAll: true } : {}),
    type,
    subject: firstCodePoints(message.subject, MAX_KEPT_SUBJECT),
    timestamp: message.timestamp,
    root: message.correlationId === message.timestamp,
    asks: asksForAnswer(message),
    plainRequest: isPlainRequest(message),
    ...(request === undefined ? {} : { request }),
    ...(type === "shutdown" && field(body, "leaves") !== undefined ? { isFarewell: true } : {}),
    target: TARGETS.map((name) => textField(body, name)).find((id) => id !== undefined),
    answers: answersWhat(message),
    refused: event.refused,
  };
}

/** False for a subject that may have been cut to stay within bounds. */
export function isWholeSubject({ subject }: ThreadMessage): boolean {
  return Array.from(subject).length < MAX_KEPT_SUBJECT;
}

const TARGETS = ["acks", "counters", "reverts", "corrects", "resolves", "escalates", "resumes"];

/** One author cannot push another's messages out: whoever has most in the thread loses its oldest. */
function dropMessage(state: ThreadsState, thread: Thread): void {
  const author = mostFrequentAuthor(thread.messages);
  const oldest = thread.messages.findIndex(
    ({ root, asks, from }) => !root && !asks && from === author,
  );
  thread.messages.splice(Math.max(oldest, 1), 1);
  thread.omitted += 1;
  state.messageCount -= 1;
}

function mostFrequentAuthor(messages: readonly ThreadMessage[]): string | undefined {
  const counts = new Map<string, number>();
  for (const { from } of messages) counts.set(from, (counts.get(from) ?? 0) + 1);
  return [...counts].toSorted((a, b) => b[1] - a[1])[0]?.[0];
}

function keepThreadsBounded(state: ThreadsState): void {
  const { size } = state.threads;
  if (size <= MAX_THREADS || size % EVICTION_BATCH !== 0) return;
  const isEnough = (dropped: number): boolean => dropped === EVICTION_BATCH;
  dropThreads(state, isEnough, size > MAX_WAITING_THREADS);
}

function keepMessagesBounded(state: ThreadsState): void {
  const { messageCount } = state;
  if (messageCount <= MAX_ALL_MESSAGES || messageCount % EVICTION_BATCH !== 0) return;
  const isEnough = (): boolean => state.messageCount <= MAX_ALL_MESSAGES - ROOM;
  dropThreads(state, isEnough, messageCount > MAX_ALL_WAITING_MESSAGES);
}

/** The one untouched for longest first; those with open obligations only when they may go too. */
function dropThreads(
  state: ThreadsState,
  isEnough: (dropped: number) => boolean,
  mayDropWaiting: boolean,
): void {
  const waiting: Thread[] = [];
  let dropped = 0;
  function drop({ correlationId, messages }: Thread): void {
    state.threads.delete(correlationId);
    state.messageCount -= messages.length;
    dropped += 1;
  }
  for (const thread of state.threads.values()) {
    if (isEnough(dropped) || waiting.length === EVICTION_BATCH) break;
    if (openObligations(thread.messages).length > 0) waiting.push(thread);
    else drop(thread);
  }
  for (const thread of mayDropWaiting ? waiting : []) {
    if (isEnough(dropped)) break;
    drop(thread);
  }
  state.dropped += dropped;
}

/** A message that asked for an answer, and one addressee who has not given it. */
export interface Obligation {
  readonly message: ThreadMessage;
  readonly owedBy: string;
}

/**
 * Answered: by a later ack, counter-proposal or answer of that addressee in the thread, a plain
 * request by any reply (spec 3.3); later by our receipt, or naming it. What we refused asks for
 * nothing and answers nothing.
 */
export function openObligations(messages: readonly ThreadMessage[]): Obligation[] {
  const taken = messages.filter(({ refused }) => refused === undefined);
  return taken
    .filter(({ asks }) => asks)
    .flatMap((message) =>
      message.to
        .filter((party) => !taken.some((answer) => isAnswer(answer, message, party)))
        .map((owedBy) => ({ message, owedBy })),
    );
}

function isAnswer(answer: ThreadMessage, asked: ThreadMessage, party: string): boolean {
  if (answer.from !== party || answer.answers === "nothing") return false;
  if (answer.answers === "plain requests" && !asked.plainRequest) return false;
  if (asked.request?.is === "request") {
    const { request, target = asked.id } = answer;
    return request?.is === "answer" && request.id === asked.request.id && target === asked.id;
  }
  return answer.target === asked.id || answer.at >= asked.at;
}

/** One thread, by who began it; several share a correlation id. Spec 3.3. */
export interface ThreadPart {
  readonly root: ThreadMessage | undefined;
  /** In the order of receipt, log and line. */
  readonly messages: readonly ThreadMessage[];
}

/**
 * The threads that share this name. A message belongs to the thread of what it names, else to the
 * one that its author began before in the same log, else to all of them.
 */
export function splitThread(thread: Thread): ThreadPart[] {
  const messages = [...thread.messages].sort(inOrder);
  const roots = new Map<string, ThreadMessage>();
  for (const message of messages) {
    if (message.root && !roots.has(message.from)) roots.set(message.from, message);
  }
  if (roots.size < 2) return [{ root: [...roots.values()][0], messages }];
  const byId = new Map(messages.map((message) => [message.id, message]));
  return [...roots].map(([author, root]) => ({
    root,
    messages: messages.filter((message) => {
      const began = beganBy(message, byId, roots);
      return began === undefined || began === author;
    }),
  }));
}

function beganBy(
  message: ThreadMessage,
  byId: ReadonlyMap<string, ThreadMessage>,
  roots: ReadonlyMap<string, ThreadMessage>,
): string | undefined {
  const named = message.target === undefined ? undefined : byId.get(message.target);
  // A line names earlier lines, so this ends; the bound is for ids that name each other.
  let subject = message;
  let next = named;
  for (let depth = 0; next !== undefined && depth < MAX_MESSAGES; depth++) {
    subject = next;
    next = subject.target === undefined ? undefined : byId.get(subject.target);
  }
  if (subject.root) return subject.from;
  const own = roots.get(subject.from);
  const isBareAck = subject.type === "ack" && subject.target === undefined;
  if (own === undefined || isBareAck || own.log !== subject.log) return undefined;
  return own.line < subject.line ? subject.from : undefined;
}

function inOrder(a: ThreadMessage, b: ThreadMessage): number {
  if (a.at !== b.at) return a.at - b.at;
  if (a.log !== b.log) return a.log < b.log ? -1 : 1;
  return a.line - b.line;
}
