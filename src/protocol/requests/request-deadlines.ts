import { DAY_MS } from "../../wire/durations.ts";
import { fromPlain } from "../../wire/json/json.ts";
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
    if (request === undefined || now.wallMs < requestDueMs(request)) return [];
    return mayEnd(request, logs, env) ? [expiry(request)] : [];
  });
}

/** An answer that we hold is not late, even if no beat of ours covers it yet. */
function mayEnd(request: Request, logs: LogsState, { reading }: Env): boolean {
  const { log, answerLog, answers, end } = request;
  if (end !== undefined) return false;
  if (!reading.holdsBack(answerLog) && !reading.caughtUp(answerLog, requestDueMs(request))) {
    return false;
  }
  return answers.every(({ line }) => namedRefused(logs, log, Infinity, answerLog, line));
}

function expiry({ id, log, addressee, subject, correlationId }: Request): Effect {
  const reason = `${addressee} did not answer in time`;
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
