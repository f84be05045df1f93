import type { RefusalReason } from "../../admission/checks.ts";
import { isForUs } from "../addressing.ts";
import { textField } from "../body.ts";
import { headsOf } from "../logs/logs.ts";
import type { LogsState } from "../logs/logs-state.ts";
import type { LineRange } from "../logs/line-ranges.ts";
import type { CoreEvent, LineEvent } from "../events.ts";
import type { Env } from "../env.ts";
import {
  forgetAfter,
  forgetUpTo,
  namedReason,
  noteCopy,
  noteRefused,
  noteTaken,
} from "./refused-lines.ts";
import { isQuiet } from "./quiet.ts";
import { isMail } from "../routing.ts";
import { answeredIn, MAX_UNREAD, takenOf, type ReceiptsState } from "./receipts-state.ts";
import { addUnread, keepUnread, noUnread, type UnreadLine } from "./unread-lines.ts";
import { applySent, type Refusal } from "./sent.ts";

/** The fields of a body in which our agent names what it answers. */
const ANSWERS = ["acks", "counters", "resolves"];

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
        if (lines !== undefined) takenOf(state, log).refused.isReset = true;
      }
      break;
    case "rewound": {
      const taken = state.taken.get(event.log);
      if (taken === undefined) break;
      // Lines that will be read again are not named before that.
      forgetAfter(taken.refused, event.line);
      // A beat of ours said that they were read, since nothing in them was mail; what comes in their place may be.
      taken.readFloor = Math.min(taken.readFloor, event.line);
      break;
    }
    case "read":
      takeRead(state, event.ids);
      break;
    default:
  }
  return applySent(state.sent, event, env, logs, touched);
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
  const { unread } = taken;
  if (unread.lines.length < MAX_UNREAD && taken.more === undefined) {
    if (event.read === "so far") {
      keepUnread(unread, (each) => each > event.line);
      return;
    }
    addUnread(unread, unreadLine(event));
  } else {
    taken.more = { from: taken.more?.from ?? event.line, count: (taken.more?.count ?? 0) + 1 };
  }
}

function unreadLine({ message, line, at }: LineEvent): UnreadLine {
  const { id, priority, type, correlationId: thread } = message;
  return {
    ...{ id, line, at, thread },
    ...(priority === "high" || type === "incident" ? { urgent: true } : {}),
    ...(isQuiet(message) ? { quiet: true } : {}),
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
    const { unread, readFloor } = taken;
    keepUnread(unread, (line) => line > readFloor);
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
  for (const { unread } of state.taken.values()) {
    const [at] = unread.ids.placesOf(answered);
    if (at !== undefined) keepUnread(unread, (_line, place) => place > at);
  }
}

function takeRead(state: ReceiptsState, ids: readonly string[] | "all"): void {
  for (const taken of state.taken.values()) {
    if (ids === "all") {
      taken.unread = noUnread();
      taken.more = undefined;
      continue;
    }
    const read = new Set(ids.flatMap((id) => taken.unread.ids.placesOf(id)));
    if (read.size > 0) keepUnread(taken.unread, (_line, place) => !read.has(place));
  }
}
