import { beatsFrom, coveredAt, hasLostBeats, namedRefused } from "../logs/covering-beats.ts";
import { lineAfter } from "../logs/continued.ts";
import type { LogsState } from "../logs/logs-state.ts";
import type { Request, RequestAnswer, RequestEnd, RequestOutcome } from "./request.ts";

/**
 * Reads the asker's log on from where the request was judged last. The first line that settles it
 * settles it for everybody: Spec 3.8, "One log decides". `judgedTo` moves over lines that do not.
 *
 * @param rivals earlier requests of the asker's log with that `request_id`, in its order, each judged
 *   already; undefined: too many
 */
export function judgeRequest(
  request: Request,
  rivals: readonly Request[] | undefined,
  logs: LogsState,
): void {
  request.isVoid ??= isSecond(request, rivals);
  if (request.isVoid !== false) return;
  if (!request.chained) request.outcome = byFirstAnswer(request);
  else request.outcome ??= byAskersLog(request, logs);
}

/** Whether beats are forgotten by which the request was to be judged. */
export function isPastJudging(logs: LogsState, { chained, log, judgedTo }: Request): boolean {
  return chained && hasLostBeats(logs, log, judgedTo);
}

/** Whether the asker had one of these open when it wrote this one; undefined: that is not known yet. */
function isSecond(request: Request, rivals: readonly Request[] | undefined): boolean | undefined {
  if (rivals === undefined) return true;
  let isKnown = true;
  for (const rival of rivals) {
    const wasOpen = isOpenAt(rival, request);
    if (wasOpen === true) return true;
    if (wasOpen === undefined) isKnown = false;
  }
  return isKnown ? false : undefined;
}

/** An asker that does not chain has no order of its lines and the answers: there it counts as open. */
function isOpenAt(rival: Request, { chained, line: place, log }: Request): boolean | undefined {
  // A request in the outbox comes after all lines of the closed log before it.
  const line = rival.log === log ? place : lineAfter(place);
  if (rival.isVoid === true) return false;
  if (!rival.chained || !chained) return true;
  if (rival.outcome !== undefined) return rival.outcome.line > line;
  if (rival.isVoid === undefined || (rival.waitsAt ?? Infinity) < line) return undefined;
  return true;
}

function byAskersLog(request: Request, logs: LogsState): RequestOutcome | undefined {
  const { log, answerLog, end } = request;
  request.waitsAt = undefined;
  if (isPastJudging(logs, request)) return undefined;
  for (const beat of beatsFrom(logs, log, request.judgedTo + 1)) {
    if (end !== undefined && end.line < beat.line) return ended(end);
    const isCovered = coveredAt(logs, log, beat.line, answerLog);
    if (isCovered === undefined) {
      request.waitsAt = beat.line;
      return undefined;
    }
    const answer = request.answers.find(
      ({ line }) => isCovered(line) && !namedRefused(logs, log, beat.line, answerLog, line),
    );
    if (answer !== undefined) return answered(answer, beat);
    request.judgedTo = beat.line;
  }
  return end === undefined ? undefined : ended(end);
}

/** An asker without heads: the addressee's log settles it, and else what the asker said last. */
function byFirstAnswer({ answers, end }: Request): RequestOutcome | undefined {
  const [answer] = answers;
  if (answer !== undefined) return answered(answer, answer);
  return end === undefined ? undefined : ended(end);
}

function answered(
  answer: RequestAnswer,
  {
    id,
    line,
    timestamp,
  }: { readonly id: string; readonly line: number; readonly timestamp: string },
): RequestOutcome {
  const status = answer.approves ? "approved" : "rejected";
  return { status, by: id, line, at: timestamp, answer, reason: answer.reason };
}

function ended({ is, id, line, timestamp, reason }: RequestEnd): RequestOutcome {
  return { status: is, by: id, line, at: timestamp, answer: undefined, reason };
}
