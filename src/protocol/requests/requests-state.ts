import { EVICTION_BATCH } from "../bounds.ts";
import type { Env } from "../env.ts";
import type { NamingAnswer, Request } from "./request.ts";

/** Requests remembered of one log, to all of their addressees: beyond, the oldest settled one goes, else the oldest. */
const MAX_REQUESTS_PER_LOG = 2_048;
/** Requests of one `request_id` in a log that are read: another one is void. */
const MAX_RIVALS = 64;
/** Requests whose plan is kept, the newest ones. */
const MAX_PLANS = 256;
/** Answers of one log that may be to requests which we do not hold yet: beyond, the oldest goes. */
const MAX_AHEAD_PER_LOG = 1_024;

/** Requests with an answer, and what became of them: a function of the logs. Spec 3.8. */
export interface RequestsState {
  /** By event id and addressee, oldest first. */
  readonly requests: Map<string, Request>;
  /** By log of the asker and `request_id`: keys, in the order of the log. */
  readonly named: Map<string, string[]>;
  /** By log of the asker: keys of all of them, in its order. */
  readonly byLog: Map<string, Set<string>>;
  /** By log of the asker: keys of those that its next lines may settle, in its order. */
  readonly open: Map<string, Set<string>>;
  /** Our own live ones that are open: their time runs. */
  readonly running: Set<string>;
  /** Those with a plan, oldest first. */
  readonly plans: Set<string>;
  /** By answering log: answers that nothing asked for yet, oldest first. */
  readonly ahead: Map<string, NamingAnswer[]>;
}

export function emptyRequests(): RequestsState {
  return {
    requests: new Map(),
    named: new Map(),
    byLog: new Map(),
    open: new Map(),
    running: new Set(),
    plans: new Set(),
    ahead: new Map(),
  };
}

export function requestKey(id: string, addressee: string): string {
  return `${id} ${addressee}`;
}

/** All of that asker's log with that `request_id`. */
export function nameKey({ log, requestId }: Pick<Request, "log" | "requestId">): string {
  return `${log} ${requestId.toLowerCase()}`;
}

/** One request of that log, to each of its addressees. */
export function requestsOf({ byLog, requests }: RequestsState, log: string, id: string): Request[] {
  const keys = [...(byLog.get(log) ?? [])].filter((key) => key.startsWith(`${id} `));
  return keys.flatMap((key) => requests.get(key) ?? []);
}

/**
 * Those before it with its `request_id` in the asker's log, and in the closed logs that this goes on
 * with; undefined: more than are read.
 */
export function rivalsOf(
  state: RequestsState,
  request: Request,
  { layout }: Pick<Env, "layout">,
): Request[] | undefined {
  const { log, requestId } = request;
  const { continues = [] } = layout.logs.get(log) ?? {};
  const rivals = continues.flatMap((name) => namedIn(state, nameKey({ log: name, requestId })));
  for (const rival of namedIn(state, nameKey(request))) {
    if (rival.line >= request.line || rivals.length > MAX_RIVALS) break;
    rivals.push(rival);
  }
  return rivals.length > MAX_RIVALS ? undefined : rivals;
}

function namedIn({ named, requests }: RequestsState, name: string): Request[] {
  return (named.get(name) ?? []).flatMap((key) => requests.get(key) ?? []);
}

export function addRequest(state: RequestsState, request: Request): void {
  const { key, log } = request;
  state.requests.set(key, request);
  const name = nameKey(request);
  state.named.set(name, [...(state.named.get(name) ?? []), key]);
  keysOf(state.byLog, log).add(key);
  if (request.plan !== undefined) keepPlan(state, key);
  const all = keysOf(state.byLog, log);
  if (all.size <= MAX_REQUESTS_PER_LOG) return;
  const open = state.open.get(log);
  const others = [...all].filter((each) => each !== key);
  const oldest = others.find((each) => open?.has(each) !== true) ?? others[0];
  if (oldest !== undefined) forget(state, oldest);
}

function keepPlan({ plans, requests }: RequestsState, key: string): void {
  plans.add(key);
  const [oldest = ""] = plans;
  if (plans.size <= MAX_PLANS) return;
  plans.delete(oldest);
  const request = requests.get(oldest);
  if (request !== undefined) request.plan = undefined;
}

/** Whether the next lines of the asker's log may settle it, and whether its time runs. */
export function follow(state: RequestsState, request: Request): void {
  const { key, log, own, live, isVoid, outcome } = request;
  const isOpen = isVoid !== true && (outcome === undefined || !request.chained);
  if (isOpen) keysOf(state.open, log).add(key);
  else dropKey(state.open, log, key);
  if (isOpen && own && live && outcome === undefined) state.running.add(key);
  else state.running.delete(key);
}

/** Keeps an answer whose request may still come. */
export function keepAhead(state: RequestsState, log: string, answer: NamingAnswer): void {
  const ahead = state.ahead.get(log) ?? [];
  state.ahead.set(log, ahead);
  ahead.push(answer);
  if (ahead.length > MAX_AHEAD_PER_LOG) ahead.splice(0, EVICTION_BATCH);
}

/** The answers that came before their request; those that name it are not kept any longer. */
export function answersAhead(state: RequestsState, { id, answerLog }: Request): NamingAnswer[] {
  const ahead = state.ahead.get(answerLog) ?? [];
  const found = ahead.filter(({ acks }) => acks === undefined || acks === id);
  const left = ahead.filter(({ acks }) => acks !== id);
  if (left.length === 0) state.ahead.delete(answerLog);
  else state.ahead.set(answerLog, left);
  return found;
}

/** The lowest line of a log whose beats may still settle a request. */
export function beatsNeededByRequests(state: RequestsState, log: string): number {
  return [...(state.open.get(log) ?? [])]
    .flatMap((key) => state.requests.get(key) ?? [])
    .filter(({ chained }) => chained)
    .reduce((lowest, { judgedTo }) => Math.min(lowest, judgedTo), Infinity);
}

function forget(state: RequestsState, key: string): void {
  const request = state.requests.get(key);
  if (request === undefined) return;
  const { log } = request;
  state.requests.delete(key);
  state.running.delete(key);
  state.plans.delete(key);
  dropKey(state.open, log, key);
  dropKey(state.byLog, log, key);
  const name = nameKey(request);
  const others = (state.named.get(name) ?? []).filter((each) => each !== key);
  if (others.length === 0) state.named.delete(name);
  else state.named.set(name, others);
}

function keysOf(of: Map<string, Set<string>>, log: string): Set<string> {
  const keys = of.get(log) ?? new Set<string>();
  of.set(log, keys);
  return keys;
}

function dropKey(of: Map<string, Set<string>>, log: string, key: string): void {
  const keys = of.get(log);
  keys?.delete(key);
  if (keys?.size === 0) of.delete(log);
}
