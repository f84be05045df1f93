import type { RefusalReason } from "../../admission/checks.ts";
import { answerLog, writtenTo } from "../../wire/layout.ts";
import { isForUs } from "../addressing.ts";
import { textField } from "../body.ts";
import { markAt } from "../logs/coverage.ts";
import type { HeadBody } from "../effects.ts";
import { readUpTo } from "../logs/covering-beats.ts";
import { headsOf } from "../logs/logs.ts";
import type { LogsState } from "../logs/logs-state.ts";
import type { LineRange } from "../logs/line-ranges.ts";
import type { CoreEvent, LineEvent } from "../events.ts";
import type { Env } from "../env.ts";
import {
  forgetAfter,
  forgetUpTo,
  isFull,
  MAX_NAMED_REFUSALS,
  namedReason,
  noRefusedLines,
  noteCopy,
  noteRefused,
  noteTaken,
  type RefusedLines,
} from "./refused-lines.ts";
import { isAutomatic } from "../incidents/incident-lines.ts";
import { isMail } from "../routing.ts";
import { applySent, emptySent, type Refusal, type SentState } from "./sent.ts";

/**
 * Unread lines that are remembered one by one, per log; those after them only as a number.
 * @internal
 */
export const MAX_UNREAD = 8_192;

/** What we have taken in of the peers' logs, and what became of what we sent. Spec 3.2. */
export interface ReceiptsState {
  /** By name of the peer's log. */
  readonly taken: Map<string, TakenLog>;
  readonly sent: SentState;
}

export interface TakenLog {
  /** Lines refused that no beat of ours has named yet. */
  readonly refused: RefusedLines;
  /** Lines routed to the agent and not marked read, in order. */
  unread: UnreadLine[];
  /** Unread lines after those, when there are too many. */
  more: { readonly from: number; readonly count: number } | undefined;
  /** Our own beats say that everything routed up to this line was read. */
  readFloor: number;
  /** The newest message for us that no beat of ours covers yet. */
  news: number | undefined;
}

export interface UnreadLine {
  readonly id: string;
  readonly line: number;
  readonly at: number;
  /** Its correlation id. */
  readonly thread: string;
  /** Of high priority, or an incident. */
  readonly urgent?: true;
  /** An incident that a daemon has declared by itself: no agent is woken for it. Spec 8.3. */
  readonly automatic?: true;
}

/** The fields of a body in which our agent names what it answers. */
const ANSWERS = ["acks", "counters", "resolves"];

export function emptyReceipts(): ReceiptsState {
  return { taken: new Map(), sent: emptySent() };
}

/**
 * Folds one event, after `applyLogs`, whose answer `touched` is: the logs whose authors' coverage
 * may have changed. Answers which messages of ours a peer has refused, as the event shows.
 */
export function applyReceipts(
  state: ReceiptsState,
  event: CoreEvent,
  env: Env,
  logs: LogsState,
  touched: ReadonlySet<string>,
): readonly Refusal[] {
  switch (event.kind) {
    case "line":
      if (!event.own) takeLine(state, event, env, logs);
      else if (event.message.type === "heartbeat") takeOwnBeat(state, event, env, logs);
      else takeOwnAnswer(state, event);
      break;
    case "refused":
      takeRefusal(
        state,
        event.log,
        { first: event.first ?? event.line, last: event.line },
        event.reason,
        env,
        logs,
      );
      break;
    case "skipped": {
      const taken = state.taken.get(event.log);
      if (event.isCopy === true && taken !== undefined) noteCopy(taken.refused, event.line);
      break;
    }
    case "reset":
      for (const { log, lines } of event.logs) {
        if (lines !== undefined) takenOf(state, log).refused.isAnew = true;
      }
      break;
    case "rewound": {
      // Lines that will be read again are not named before that.
      const taken = state.taken.get(event.log);
      if (taken !== undefined) forgetAfter(taken.refused, event.line);
      break;
    }
    case "read":
      takeRead(state, event.ids);
      break;
    default:
  }
  return applySent(state.sent, event, env, logs, touched);
}

/**
 * Spec 3.2: when the list of refusals is full, reading of that log stops until our next beat.
 * @internal
 */
export function mustPause(state: ReceiptsState, logName: string): boolean {
  const taken = state.taken.get(logName);
  return taken !== undefined && isFull(taken.refused);
}

/** Whether news, or a log that had to pause, calls for a beat in that log of ours before its time. */
export function owesBeat(state: ReceiptsState, ownLog: string, env: Env): boolean {
  for (const [name, taken] of state.taken) {
    if (taken.news === undefined && !mustPause(state, name)) continue;
    if (answeredIn(name, env) === ownLog) return true;
  }
  return false;
}

/** Our heads for a beat in that log: all logs that we answer there, as far as we hold them. */
export function headsFor(
  state: ReceiptsState,
  logs: LogsState,
  ownLog: string,
  env: Env,
): Record<string, HeadBody> {
  const heads: Record<string, HeadBody> = {};
  for (const name of env.layout.logs.keys()) {
    const log = logs.get(name);
    if (log === undefined || answeredIn(name, env) !== ownLog) continue;
    if (isCoveredWhole(name, logs, env)) continue;
    const taken = state.taken.get(name);
    const refused = taken?.refused.ranges ?? [];
    // Spec 3.2: heads never pass a refusal that is not named.
    const unnamed = refused[MAX_NAMED_REFUSALS];
    const last = Math.min(log.closing?.line ?? Infinity, log.lines);
    const lines = unnamed === undefined ? last : Math.min(last, unnamed.first - 1);
    const mark = markAt(log, lines);
    const read = taken === undefined ? lines : Math.min(readLines(taken, log.lines), lines);
    // The author counts the lines that are in the log now.
    const { earlier = 0, recounted = earlier } = log;
    const named = refused.slice(0, MAX_NAMED_REFUSALS).filter(({ last }) => last > recounted);
    heads[name] = {
      lines: Math.max(lines - earlier, 0),
      ...(mark === undefined || mark.line <= earlier ? {} : { seq: mark.seq, event_id: mark.id }),
      read_lines: Math.max(read - earlier, 0),
      refused: named.map(
        ({ first, last, reason }) =>
          [Math.max(first, recounted + 1) - earlier, last - earlier, reason] as const,
      ),
    };
  }
  return heads;
}

/** Whether our beats have covered a closed log, as read, to the line that closed it. Spec 1.6. */
function isCoveredWhole(name: string, logs: LogsState, env: Env): boolean {
  const log = env.layout.logs.get(name);
  const end = logs.get(name)?.closing?.line;
  const answers = log === undefined ? undefined : answerLog(env.layout, log, env.self);
  if (end === undefined || answers === undefined) return false;
  return readUpTo(logs, answers.name, name) >= end;
}

/** Messages that the agent has not marked read, of one peer or of all. */
export function unreadCount(state: ReceiptsState, env: Env, peer?: string): number {
  let count = 0;
  for (const [name, taken] of state.taken) {
    if (peer !== undefined && env.layout.logs.get(name)?.owner !== peer) continue;
    count += taken.unread.length + (taken.more?.count ?? 0);
  }
  return count;
}

/** The ids of unread messages, of those logs if some are named; at most MAX_UNREAD of each log. */
export function* unreadIds({ taken }: ReceiptsState, logs?: readonly string[]): Generator<string> {
  for (const [log, { unread }] of taken) {
    if (logs?.includes(log) === false) continue;
    for (const { id } of unread) yield id;
  }
}

/** The log of ours in which a beat speaks of that log now. */
function answeredIn(peerLog: string, env: Env): string | undefined {
  const log = env.layout.logs.get(peerLog);
  const answers = log === undefined ? undefined : answerLog(env.layout, log, env.self);
  return answers === undefined ? undefined : writtenTo(answers);
}

function readLines(taken: TakenLog, lines: number): number {
  const first = taken.unread[0]?.line ?? taken.more?.from;
  return first === undefined ? lines : first - 1;
}

function takenOf(state: ReceiptsState, name: string): TakenLog {
  let taken = state.taken.get(name);
  if (taken === undefined) {
    taken = {
      refused: noRefusedLines(),
      unread: [],
      more: undefined,
      readFloor: 0,
      news: undefined,
    };
    state.taken.set(name, taken);
  }
  return taken;
}

function takeLine(state: ReceiptsState, event: LineEvent, env: Env, logs: LogsState): void {
  const { log, line, refused } = event;
  if (refused !== undefined)
    takeRefusal(state, log, { first: line, last: line }, refused, env, logs);
  else if (answeredIn(log, env) !== undefined) noteTaken(takenOf(state, log).refused, line);
  if (event.message.type === "heartbeat" || !isForUs(event, env)) return;
  const taken = takenOf(state, event.log);
  if (event.live) taken.news = event.line;
  if (!isMail(event, env) || event.line <= taken.readFloor || event.read === "alone") return;
  if (taken.unread.length < MAX_UNREAD && taken.more === undefined) {
    if (event.read === "so far") {
      taken.unread = taken.unread.filter(({ line }) => line > event.line);
      return;
    }
    taken.unread.push(unreadLine(event));
  } else {
    taken.more = { from: taken.more?.from ?? event.line, count: (taken.more?.count ?? 0) + 1 };
  }
}

function unreadLine({ message, line, at }: LineEvent): UnreadLine {
  const { id, priority, type, correlationId: thread } = message;
  return {
    ...{ id, line, at, thread },
    ...(priority === "high" || type === "incident" ? { urgent: true } : {}),
    ...(isAutomatic(message) ? { automatic: true } : {}),
  };
}

function takeRefusal(
  state: ReceiptsState,
  name: string,
  range: LineRange,
  reason: RefusalReason,
  env: Env,
  logs: LogsState,
): void {
  // Logs between other agents are read by us, but no head of ours speaks of them.
  if (answeredIn(name, env) === undefined) return;
  // Heads end at the line that has closed a log: no beat names what comes after it.
  if (range.first > (logs.get(name)?.closing?.line ?? Infinity)) return;
  noteRefused(takenOf(state, name).refused, range, namedReason(reason));
}

/** Takes in what our own beat says: after the loss of the journal this restores what it knew. */
function takeOwnBeat(state: ReceiptsState, event: LineEvent, env: Env, logs: LogsState): void {
  for (const [name, head] of headsOf(event.message.body, logs, env.layout)) {
    const taken = takenOf(state, name);
    forgetUpTo(taken.refused, head.lines);
    if (taken.news !== undefined && taken.news <= head.lines) taken.news = undefined;
    taken.readFloor = Math.max(taken.readFloor, head.readLines);
    taken.unread = taken.unread.filter(({ line }) => line > taken.readFloor);
  }
}

/** The id of the message that a message of ours answers, if it answers one. Spec 3.2. */
export function answeredBy({ body }: LineEvent["message"]): string | undefined {
  return ANSWERS.map((name) => textField(body, name)).find(Boolean);
}

/** Spec 3.2: answering marks as read all that the answered log has for our agent, up to there. */
function takeOwnAnswer(state: ReceiptsState, { message }: LineEvent): void {
  const answered = answeredBy(message);
  if (answered === undefined) return;
  for (const taken of state.taken.values()) {
    const at = taken.unread.findIndex(({ id }) => id === answered);
    if (at >= 0) taken.unread = taken.unread.slice(at + 1);
  }
}

function takeRead(state: ReceiptsState, ids: readonly string[] | "all"): void {
  const read = new Set(ids === "all" ? [] : ids);
  for (const taken of state.taken.values()) {
    taken.unread = ids === "all" ? [] : taken.unread.filter(({ id }) => !read.has(id));
    if (ids === "all") taken.more = undefined;
  }
}
