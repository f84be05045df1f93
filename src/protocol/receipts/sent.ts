import { answerLog, ownLogs } from "../../wire/layout.ts";
import { saysClosed, saysContinued } from "../../wire/roster/closing.ts";
import { addresseesOf } from "../addressing.ts";
import { textField } from "../body.ts";
import { readUpTo } from "../logs/covering-beats.ts";
import type { LogsState } from "../logs/logs-state.ts";
import { beatNaming } from "../logs/line-ranges.ts";
import { isFolded, type CoreEvent, type LineEvent } from "../events.ts";
import type { Env } from "../env.ts";
import { answersWhat, isPlainRequest } from "../threads/answering.ts";

/** Sent messages whose receipts are remembered, the newest ones. */
export const MAX_SENT = 2_048;

export type ReceiptStage = "stored" | "delivered" | "read" | "answered" | "refused";

/** How far a message has come with one addressee. It only rises. Spec 3.2. */
export interface Receipt {
  stage: ReceiptStage;
  /** When that was proved to us. */
  at: number;
  reason?: string;
}

export interface SentMessage {
  readonly id: string;
  readonly log: string;
  readonly line: number;
  readonly at: number;
  readonly timestamp: string;
  readonly type: string;
  readonly subject: string;
  readonly correlationId: string;
  /** By addressee. */
  readonly receipts: Map<string, Receipt>;
}

export interface SentState {
  /** By event id, in the order in which they were sent. */
  readonly messages: Map<string, SentMessage>;
  /** Their ids by own log, in its order. */
  readonly order: Map<string, string[]>;
  /** By own log and reader: the lines up to which it has been delivered and read. */
  readonly marks: Map<string, Map<string, { delivered: number; read: number }>>;
  /** Our plain requests that not every addressee has answered. */
  readonly requests: Set<string>;
}

/** A peer's beat names a message of ours as refused. */
export interface Refusal {
  readonly message: SentMessage;
  readonly by: string;
  /** As the beat names it. Spec 3.2. */
  readonly reason: string;
}

const RANK: Readonly<Record<ReceiptStage, number>> = {
  stored: 0,
  delivered: 1,
  read: 2,
  answered: 3,
  // Nothing comes after it.
  refused: 4,
};

export function emptySent(): SentState {
  return { messages: new Map(), order: new Map(), marks: new Map(), requests: new Set() };
}

export function applySent(
  state: SentState,
  event: CoreEvent,
  env: Env,
  logs: LogsState,
  touched: ReadonlySet<string>,
): readonly Refusal[] {
  if (event.kind === "line" && isFolded(event)) {
    if (event.own) takeOwn(state, event, env);
    else takeAnswer(state, event);
  }
  const refusals: Refusal[] = [];
  if (!("log" in event)) return refusals;
  for (const own of ownLogs(env.layout, env.self)) {
    for (const reader of env.layout.roster) {
      const answers = answerLog(env.layout, own, reader)?.name;
      if (answers === undefined || !touched.has(answers)) continue;
      refusals.push(...takeCoverage(state, own.name, reader, answers, logs, event.at));
    }
  }
  return refusals;
}

function takeOwn(state: SentState, event: LineEvent, env: Env): void {
  const { message } = event;
  const log = env.layout.logs.get(event.log);
  if (log === undefined || message.type === "heartbeat" || state.messages.has(message.id)) return;
  if (saysClosed(message) || saysContinued(message)) return;
  const receipts = new Map<string, Receipt>();
  for (const handle of addresseesOf(message, log, env)) {
    receipts.set(handle, { stage: "stored", at: event.at });
  }
  state.messages.set(message.id, {
    id: message.id,
    log: event.log,
    line: event.line,
    at: event.at,
    timestamp: message.timestamp,
    type: message.type,
    subject: message.subject,
    correlationId: message.correlationId,
    receipts,
  });
  if (isPlainRequest(message)) state.requests.add(message.id);
  const order = state.order.get(event.log);
  if (order === undefined) state.order.set(event.log, [message.id]);
  else order.push(message.id);
  if (state.messages.size > MAX_SENT) forgetOldest(state);
}

function forgetOldest(state: SentState): void {
  const oldest = state.messages.values().next().value;
  if (oldest === undefined) return;
  state.messages.delete(oldest.id);
  state.requests.delete(oldest.id);
  const order = state.order.get(oldest.log) ?? [];
  // Nearly always the first: a log's messages are remembered in its order.
  const at = order.indexOf(oldest.id);
  if (at >= 0) order.splice(at, 1);
}

/** What a reader's beats in its log `answers` say of our log; answers what is refused since. */
function takeCoverage(
  state: SentState,
  own: string,
  reader: string,
  answers: string,
  logs: LogsState,
  at: number,
): Refusal[] {
  const held = logs.get(answers);
  const beat = held?.beats.at(-1);
  if (held === undefined || beat === undefined) return [];
  const refusals: Refusal[] = [];
  const coverage = held.covers.get(own);
  const mark = markOf(state, own, reader);
  const covered =
    held.headsFrom !== undefined
      ? (coverage?.steps.at(-1)?.lines ?? 0)
      : coveredWithoutHeads(state, own, beat.at);
  const read = Math.min(readUpTo(logs, answers, own), covered);
  if (covered > mark.delivered) {
    for (const message of messagesAfter(state, own, mark.delivered, covered)) {
      const namedBy = beatNaming(coverage?.refused ?? [], message.line);
      if (namedBy === undefined) {
        raise(message, reader, { stage: "delivered", at });
        continue;
      }
      const naming = held.beats.find(({ line }) => line === namedBy)?.heads.get(own);
      const range = naming?.refused.find(
        ({ first, last }) => first <= message.line && message.line <= last,
      );
      const reason = range?.reason ?? "mixed";
      const isNew = raise(message, reader, { stage: "refused", at, reason });
      if (isNew) refusals.push({ message, by: reader, reason });
    }
    mark.delivered = covered;
  }
  if (read > mark.read) {
    for (const message of messagesAfter(state, own, mark.read, read)) {
      raise(message, reader, { stage: "read", at });
    }
    mark.read = read;
  }
  return refusals;
}

/** Spec 3: a peer whose beats carry no heads covers with a beat what we wrote before it came. */
function coveredWithoutHeads(state: SentState, own: string, beatAt: number): number {
  const order = state.order.get(own) ?? [];
  for (let index = order.length - 1; index >= 0; index -= 1) {
    const message = state.messages.get(order[index] ?? "");
    if (message !== undefined && message.at < beatAt) return message.line;
  }
  return 0;
}

/** Our messages in that log after line `from`, up to line `to`. */
function messagesAfter(state: SentState, own: string, from: number, to: number): SentMessage[] {
  const order = state.order.get(own) ?? [];
  const found: SentMessage[] = [];
  for (let index = order.length - 1; index >= 0; index -= 1) {
    const message = state.messages.get(order[index] ?? "");
    if (message === undefined || message.line <= from) break;
    if (message.line <= to) found.push(message);
  }
  return found;
}

function markOf(
  state: SentState,
  own: string,
  reader: string,
): { delivered: number; read: number } {
  let readers = state.marks.get(own);
  if (readers === undefined) {
    readers = new Map();
    state.marks.set(own, readers);
  }
  let mark = readers.get(reader);
  if (mark === undefined) {
    mark = { delivered: 0, read: 0 };
    readers.set(reader, mark);
  }
  return mark;
}

/** Spec 3.3: an ack, a counter-proposal, or the answer to a request, by the addressee. */
function takeAnswer(state: SentState, event: LineEvent): void {
  const { message, at } = event;
  const { type, body, from } = message;
  if (answersWhat(message) !== "nothing") answerRequests(state, event);
  if (type !== "ack" && type !== "proposal") return;
  const receipt: Receipt = { stage: "answered", at };
  const named = textField(body, type === "ack" ? "acks" : "counters");
  if (named !== undefined) {
    const answered = state.messages.get(named);
    if (answered !== undefined) raise(answered, from, receipt);
    return;
  }
  const request = type === "ack" && textField(body, "request_id") !== undefined;
  for (const answered of state.messages.values()) {
    if (answered.correlationId !== message.correlationId || answered.at > at) continue;
    if (type === "proposal" && answered.type !== "proposal") continue;
    if (request && answered.type !== "request") continue;
    raise(answered, from, receipt);
  }
}

/** Our plain requests of that thread which its author has not answered before. */
function answerRequests(state: SentState, { message, at }: LineEvent): void {
  for (const id of state.requests) {
    const asked = state.messages.get(id);
    if (asked === undefined || asked.correlationId !== message.correlationId) continue;
    if (asked.at <= at) raise(asked, message.from, { stage: "answered", at });
    const isSettled = [...asked.receipts.values()].every(
      ({ stage }) => RANK[stage] >= RANK.answered,
    );
    if (isSettled) state.requests.delete(id);
  }
}

/** False when that says nothing new. */
function raise(message: SentMessage, handle: string, receipt: Receipt): boolean {
  const known = message.receipts.get(handle);
  if (known === undefined || RANK[receipt.stage] <= RANK[known.stage]) return false;
  // A peer that has taken a message in has not refused it.
  if (receipt.stage === "refused" && known.stage !== "stored") return false;
  message.receipts.set(handle, receipt);
  return true;
}
