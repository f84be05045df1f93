import { DAY_MS } from "../../wire/durations.ts";
import { fromPlain } from "../../wire/json/json.ts";
import { lastLineOf, mayOwe } from "../addressing.ts";
import type { Effect } from "../effects.ts";
import type { Env, Now } from "../env.ts";
import { namedRefused } from "../logs/covering-beats.ts";
import type { LogsState } from "../logs/logs-state.ts";
import type { Request } from "./request.ts";
import type { RequestsState } from "./requests-state.ts";

/** Spec 3.8: how long a request waits for an answer, unless it says `due`. */
const ANSWER_MS = DAY_MS;

/** Until when an answer is waited for, by the asker's clock. */
export function requestDueMs({ at, dueMs }: Request): number {
  return dueMs ?? at + ANSWER_MS;
}

/** Requests of ours whose time is over. Spec 3.8. */
export function decideRequests(
  { running, requests }: RequestsState,
  logs: LogsState,
  env: Env,
  now: Now,
): Effect[] {
  return [...running].flatMap((key) => {
    const request = requests.get(key);
    if (request === undefined) return [];
    const isOver = isAbandoned(request, logs, env);
    if (!isOver && now.wallMs < requestDueMs(request)) return [];
    return mayEnd(request, isOver, logs, env) ? [expiry(request, isOver)] : [];
  });
}

/** An answer that we hold is not late, even if no beat of ours covers it yet. */
function mayEnd(request: Request, isOver: boolean, logs: LogsState, { reading }: Env): boolean {
  const { log, answerLog, answers, end } = request;
  if (end !== undefined) return false;
  if (
    !isOver &&
    !reading.holdsBack(answerLog) &&
    !reading.caughtUp(answerLog, requestDueMs(request))
  ) {
    return false;
  }
  return answers.every(({ line }) => namedRefused(logs, log, Infinity, answerLog, line));
}

/**
 * Whether asker or addressee has left since, and we hold all that the addressee wrote before. Spec 3.8:
 * such a request is expired.
 */
export function isAbandoned(
  { log, line, asker, addressee, answerLog, timestampMs }: Request,
  logs: LogsState,
  env: Env,
): boolean {
  const asked = { log, line, from: asker, timestampMs, toAll: false };
  if (mayOwe(logs, env, addressee, asked)) return false;
  const last = lastLineOf(addressee, answerLog, env) ?? 0;
  return (logs.get(answerLog)?.lines ?? 0) >= last;
}

function expiry({ id, log, addressee, subject, correlationId }: Request, isOver: boolean): Effect {
  const reason = isOver ? `${addressee} has left this wire` : `${addressee} did not answer in time`;
  return {
    do: "send",
    log,
    draft: {
      to: [addressee],
      type: "correction",
      subject: `expired: ${subject}`,
      body: fromPlain({ corrects: id, expires: id, of: addressee, reason }),
      correlationId,
    },
  };
}
