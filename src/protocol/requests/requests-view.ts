import type { RefusalReason } from "../../admission/checks.ts";
import { MIN_ID_PREFIX } from "../../wire/limits.ts";
import { awaitedLine } from "../logs/coverage.ts";
import type { LogsState } from "../logs/logs-state.ts";
import type { Env } from "../env.ts";
import { authorTier, isVerified, listedSubject } from "../routing.ts";
import { isAbandoned, requestDueMs } from "./request-deadlines.ts";
import { isPastJudging } from "./request-outcome.ts";
import type { Request, RequestOutcome } from "./request.ts";
import { rivalsOf, type RequestsState } from "./requests-state.ts";

/** In place of a type that a stranger has chosen. */
const NOT_SHOWN = "(not shown)";

/** `void`: its asker had another one open with that name, so nobody answers it. */
export type RequestStatus = "pending" | RequestOutcome["status"] | "void";

/** One request to one agent, as `deaddrop requests` prints it. Spec 3.8. */
export interface RequestView {
  request_id: string;
  request_type: string;
  /** Event id: with `target` it tells this request from all others. */
  event_id: string;
  correlation_id: string;
  from: string;
  target: string;
  /** A text of ours when `from` is below VERIFIED; no other word of it is shown then. Spec 2.3. */
  subject: string;
  /** What is to be approved, as text, cut; null where there is none or it is no longer kept here. */
  plan: string | null;
  status: RequestStatus;
  /** Why it ended as it did; null where nobody said. */
  reason: string | null;
  asked_at: string;
  /** Why we refuse it: then it asks nothing of us; null: we do not. */
  refused: RefusalReason | null;
  /** Until when an answer is waited for, by the asker's clock as far as we know it. */
  due_at: string;
  /** Event id of the line that settled it. */
  decided_by: string | null;
  /** What the addressee said, if we hold it: what counts, or the first that may. */
  answer: { event_id: string; approve: boolean } | null;
  /** Event ids of answers that came too late. */
  late_answers: string[];
  /** What a pending one waits for, to follow "waits for"; null when it has ended. */
  waits_for: string | null;
}

/**
 * All that are remembered, oldest first.
 *
 * @param named only those of which `request_id` or event id begin so, with 6 characters or more
 */
export function requestsView(
  state: RequestsState,
  logs: LogsState,
  env: Env,
  named?: string,
): RequestView[] {
  return [...state.requests.values()]
    .filter((request) => named === undefined || isNamed(request, named.toLowerCase()))
    .sort(inOrder)
    .map((request) => viewOf(state, request, logs, env));
}

function inOrder(a: Request, b: Request): number {
  if (a.at !== b.at) return a.at - b.at;
  if (a.log !== b.log) return a.log < b.log ? -1 : 1;
  return a.line - b.line || (a.addressee < b.addressee ? -1 : 1);
}

/** A whole event id is nothing else: no asker can take it as the name of a request of its own. */
function isNamed({ id, requestId }: Request, name: string): boolean {
  if (name.length === id.length) return id === name;
  if (name.length < MIN_ID_PREFIX) return false;
  return id.startsWith(name) || requestId.toLowerCase().startsWith(name);
}

function viewOf(state: RequestsState, request: Request, logs: LogsState, env: Env): RequestView {
  const { outcome, isVoid, asker, answers, plan } = request;
  const isBelieved = (author: string): boolean => isVerified(authorTier(env, author));
  const isOver = outcome === undefined && isAbandoned(request, logs, env);
  const open = isOver ? "expired" : "pending";
  const status = isVoid === true ? "void" : (outcome?.status ?? open);
  const answer = outcome === undefined ? answers[0] : outcome.answer;
  const late = outcome === undefined ? [] : answers.filter(({ id }) => id !== outcome.answer?.id);
  return {
    request_id: request.requestId,
    request_type: isBelieved(asker) ? request.requestType : NOT_SHOWN,
    event_id: request.id,
    correlation_id: request.correlationId,
    from: asker,
    target: request.addressee,
    subject: listedSubject(env, asker, request.subject),
    plan: isBelieved(asker) ? (plan ?? null) : null,
    status,
    reason:
      outcome !== undefined && isBelieved(whoSaid(request, outcome))
        ? (outcome.reason ?? null)
        : null,
    refused: request.refused ?? null,
    asked_at: new Date(request.at).toISOString(),
    due_at: new Date(requestDueMs(request)).toISOString(),
    decided_by: outcome?.by ?? null,
    answer: answer === undefined ? null : { event_id: answer.id, approve: answer.approves },
    late_answers: late.map(({ id }) => id),
    waits_for: status === "pending" ? waitsFor(state, request, logs, env) : null,
  };
}

/** Whose words the reason is. */
function whoSaid({ asker, addressee }: Request, { answer }: RequestOutcome): string {
  return answer === undefined ? asker : addressee;
}

/** An earlier request of that name which may have been open when this one was written. */
function unsettledRival(state: RequestsState, request: Request, env: Env): Request | undefined {
  const rivals = rivalsOf(state, request, env) ?? [];
  return rivals.find(({ outcome, isVoid }) => outcome === undefined && isVoid !== true);
}

function waitsFor(state: RequestsState, request: Request, logs: LogsState, env: Env): string {
  const { log, answerLog, asker, addressee, answers } = request;
  const rival = request.isVoid === undefined ? unsettledRival(state, request, env) : undefined;
  if (rival !== undefined) {
    const why = waitsFor(state, rival, logs, env);
    return `what became of ${rival.id.slice(0, 8)} to ${rival.addressee}, asked before with this request_id: ${why}`;
  }
  if (isPastJudging(logs, request)) {
    return `nothing that can come: too many heartbeats of ${asker} came before lines that they count; ask again`;
  }
  const line = awaitedLine(logs.get(log), answerLog);
  if (line !== undefined) return `lines of ${answerLog} up to ${line}, which heads in ${log} count`;
  return answers.length === 0 ? `an answer of ${addressee}` : `the next heartbeat of ${asker}`;
}
