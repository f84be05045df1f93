import { firstCodePoints } from "../../wire/json/code-points.ts";
import { isChained } from "../../wire/chain.ts";
import { answerLog, type Log } from "../../wire/layout.ts";
import { addresseesOf } from "../addressing.ts";
import { MAX_KEPT_SUBJECT } from "../bounds.ts";
import { dueOf } from "../due.ts";
import type { Env } from "../env.ts";
import { isFolded, type CoreEvent, type LineEvent } from "../events.ts";
import { asContinued } from "../logs/continued.ts";
import type { LogsState } from "../logs/logs-state.ts";
import type { NamingAnswer, Request, RequestEnd } from "./request.ts";
import { requestLine, type RequestLine } from "./request-line.ts";
import { judgeRequest } from "./request-outcome.ts";
import {
  addRequest,
  answersAhead,
  follow,
  keepAhead,
  nameKey,
  requestKey,
  requestsOf,
  rivalsOf,
  type RequestsState,
} from "./requests-state.ts";

/** Answers of one addressee that are read, the first ones of its log: the others change nothing. */
const MAX_ANSWERS = 64;

type Said<Is extends RequestLine["is"]> = Extract<RequestLine, { readonly is: Is }>;

/**
 * Folds an event after the logs have. `touched` are the logs whose coverage it changed. Returns the
 * settled requests about which more is known now. Spec 3.8.
 */
export function applyRequests(
  state: RequestsState,
  event: CoreEvent,
  env: Env,
  logs: LogsState,
  touched: ReadonlySet<string>,
): ReadonlySet<Request> {
  const changed = new Set<Request>();
  const concerned = event.kind === "line" && isFolded(event) ? takeAll(state, event, env) : [];
  for (const request of concerned) {
    judge(state, request, env, logs, changed);
    // An answer that comes after the end is shown as late.
    if (request.outcome !== undefined) changed.add(request);
  }
  for (const log of touched) {
    for (const key of [...(state.open.get(log) ?? [])]) {
      const request = state.requests.get(key);
      if (request !== undefined) judge(state, request, env, logs, changed);
    }
  }
  return changed;
}

function judge(
  state: RequestsState,
  request: Request,
  env: Env,
  logs: LogsState,
  changed: Set<Request>,
): void {
  const { outcome } = request;
  judgeRequest(request, rivalsOf(state, request, env), logs);
  if (request.outcome?.by !== outcome?.by) changed.add(request);
  follow(state, request);
}

/** The requests about which that line says something, of closed logs that go on with it too. */
function takeAll(state: RequestsState, event: LineEvent, env: Env): Request[] {
  const continued = asContinued(event, env.layout).filter(
    ({ message }) => requestLine(message)?.is !== "request",
  );
  return [event, ...continued].flatMap((each) => takeLine(state, each, env));
}

function takeLine(state: RequestsState, event: LineEvent, env: Env): Request[] {
  const log = env.layout.logs.get(event.log);
  const says = requestLine(event.message);
  if (log === undefined || says === undefined) return [];
  switch (says.is) {
    case "request":
      return addresseesOf(event.message, log, env).map((handle) =>
        takeRequest(state, event, says, log, handle, env),
      );
    case "answer":
      return takeAnswer(state, event, says, log, env);
    default:
      return takeEnd(state, event, says);
  }
}

function takeRequest(
  state: RequestsState,
  event: LineEvent,
  { requestId, requestType, plan }: Said<"request">,
  log: Log,
  addressee: string,
  env: Env,
): Request {
  const { message, line, at, live, own, refused } = event;
  const { id, subject, correlationId, timestampMs, body } = message;
  const answers = answerLog(env.layout, log, addressee);
  if (answers === undefined) throw new Error(`${addressee} has no log that answers ${log.name}`);
  const key = requestKey(id, addressee);
  const known = state.requests.get(key);
  if (known !== undefined) return known;
  const request: Request = {
    key,
    id,
    log: log.name,
    line,
    answerLog: answers.name,
    asker: log.owner,
    addressee,
    requestId,
    requestType,
    subject: firstCodePoints(subject, MAX_KEPT_SUBJECT),
    plan: [log.owner, addressee].includes(env.self) ? plan : undefined,
    correlationId,
    chained: isChained(message),
    timestampMs,
    at,
    live,
    own,
    refused,
    dueMs: dueOf(body, timestampMs),
    isVoid: undefined,
    answers: [],
    end: undefined,
    outcome: undefined,
    judgedTo: line,
    waitsAt: undefined,
  };
  addRequest(state, request);
  for (const answer of answersAhead(state, request)) addAnswer(request, answer);
  return request;
}

/** Spec 3.8: on a chained line an answer names the request by its event id. */
function takeAnswer(
  state: RequestsState,
  event: LineEvent,
  says: Said<"answer">,
  log: Log,
  env: Env,
): Request[] {
  const { message, line, at } = event;
  const { id, timestamp, timestampMs, correlationId } = message;
  const { approves, reason, acks, parks } = says;
  const answer: NamingAnswer = {
    said: {
      id,
      line,
      at,
      timestamp,
      approves,
      reason,
      parks,
      refused: event.refused !== undefined,
    },
    acks,
    timestampMs,
    correlationId,
    requestId: says.requestId.toLowerCase(),
  };
  const asked =
    acks === undefined ? requestsNamed(state, answer, log, env) : requestWithId(state, acks, log);
  // One that names no event id may be to a request that is still to come, too.
  if (acks === undefined || asked.length === 0) keepAhead(state, log.name, answer);
  return asked.filter((request) => addAnswer(request, answer));
}

/** That request to the log's author, if this log answers it: its beats are about that one alone. */
function requestWithId(state: RequestsState, id: string, log: Log): Request[] {
  const request = state.requests.get(requestKey(id, log.owner));
  return request?.answerLog === log.name ? [request] : [];
}

/** The requests to that log's author with that name, in any log that it answers. */
function requestsNamed(
  state: RequestsState,
  { requestId }: NamingAnswer,
  { name: answers, owner }: Log,
  env: Env,
): Request[] {
  return [...env.layout.logs.keys()]
    .flatMap((log) => state.named.get(nameKey({ log, requestId })) ?? [])
    .flatMap((key) => state.requests.get(key) ?? [])
    .filter(({ answerLog: log, addressee }) => log === answers && addressee === owner);
}

/** False for what is no answer to that request. */
function addAnswer(request: Request, answer: NamingAnswer): boolean {
  const { acks, requestId, correlationId, timestampMs, said } = answer;
  if (requestId !== request.requestId.toLowerCase()) return false;
  if (correlationId !== request.correlationId) return false;
  // Without its id only the dates say that the answer came after the request.
  const isAfter = acks === undefined ? timestampMs >= request.timestampMs : acks === request.id;
  if (!isAfter || request.answers.length >= MAX_ANSWERS) return false;
  request.answers.push(said);
  return true;
}

/** The asker's own line about requests of its log. */
function takeEnd(state: RequestsState, event: LineEvent, says: Said<RequestEnd["is"]>): Request[] {
  const { id, timestamp } = event.message;
  const ended = requestsOf(state, event.log, says.request).filter(
    ({ line, addressee, end }) =>
      line < event.line && end === undefined && (says.of === undefined || says.of === addressee),
  );
  const { is, reason } = says;
  for (const request of ended) request.end = { is, id, line: event.line, timestamp, reason };
  return ended;
}
