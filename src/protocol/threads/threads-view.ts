import type { RefusalReason } from "../../admission/checks.ts";
import type { Tier } from "../../trust/tiers.ts";
import { partyTime } from "../decisions/answer-times.ts";
import { proposalsView, type ProposalView } from "../decisions/proposals-view.ts";
import { proposalsById } from "../decisions/proposals-state.ts";
import { ackDueMs } from "../incidents/incident-deadlines.ts";
import { mayOwe, type Asking } from "../addressing.ts";
import type { Env } from "../env.ts";
import { authorTier, isVerified, listedSubject } from "../routing.ts";
import { requestDueMs } from "../requests/request-deadlines.ts";
import type { Request } from "../requests/request.ts";
import { requestKey } from "../requests/requests-state.ts";
import type { State } from "../state.ts";
import {
  openObligations,
  splitThread,
  type Obligation,
  type Thread,
  type ThreadMessage,
  type ThreadPart,
} from "./threads.ts";
import { DAY_MS, MINUTE_MS } from "../../wire/durations.ts";
import { parseTimestamp } from "../../wire/timestamp.ts";

/** An answer that an agent owes. Spec 3.3. */
export interface ObligationView {
  event_id: string;
  correlation_id: string;
  type: string;
  /** Of a request with an answer, by which `respond` names it. Spec 3.8. */
  request_id: string | null;
  /** Of the same; null where its asker is below VERIFIED. */
  request_type: string | null;
  /** What the daemons carry out when a proposal is ratified (`add_key`, `layout`, …). Spec 3.4. */
  action: string | null;
  /** A text of ours when `from` is below VERIFIED. Spec 2.3. */
  subject: string;
  /** Of a proposal: the words that are recorded once it is ratified; null of anything else. */
  decision: string | null;
  from: string;
  owed_by: string;
  due_at: string | null;
  /** Of a proposal that has not been read: the minutes to answer once it is, if these end first. */
  minutes_from_reading?: number;
  overdue: boolean;
  since: string;
}

/** A message as the fold knows it; its text is in `log` at `line`. */
export interface ThreadMessageView {
  event_id: string;
  log: string;
  line: number;
  received_at: string;
  from: string;
  type: string;
  subject: string;
  timestamp: string;
  /** How far its author is believed; null: of no tier, or blocked. */
  tier: Tier | null;
  refused: RefusalReason | null;
  /** Event ids of the corrections of this message. Spec 1.7. */
  corrections: string[];
}

/** A thread without the texts of its messages. */
export interface ThreadOutline {
  correlation_id: string;
  /** Event id of the root; null when we do not hold it. */
  root: string | null;
  subject: string;
  status: "open" | "waiting_on" | "closed";
  waiting_on: string[];
  participants: string[];
  messages: ThreadMessageView[];
  /** Older messages that are not listed any more. */
  omitted: number;
  obligations: ObligationView[];
  proposals: ProposalView[];
}

/** All open obligations, oldest first. Spec 3.3. */
export function pendingView(state: State, env: Env, nowMs: number): ObligationView[] {
  return [...state.threads.threads.values()]
    .flatMap((thread) =>
      obligationsOf(state, thread.messages, env).map((obligation) =>
        obligationView(state, obligation, env, nowMs, thread.correlationId),
      ),
    )
    .sort((a, b) => compareText(a.since, b.since) || compareText(a.event_id, b.event_id));
}

/** A thread as views: several when several agents began one by that correlation id. Spec 3.3. */
export function threadViewsOf(
  state: State,
  env: Env,
  nowMs: number,
  thread: Thread,
): ThreadOutline[] {
  const proposals = proposalsView(state.proposals, state.logs, env, thread.correlationId);
  return splitThread(thread).map((part) => {
    const ids = new Set(part.messages.map(({ id }) => id));
    const obligations = obligationsOf(state, part.messages, env);
    return {
      correlation_id: thread.correlationId,
      root: part.root?.id ?? null,
      subject: subjectOf(part, env),
      status: statusOf(part, obligations),
      waiting_on: [...new Set(obligations.map(({ owedBy }) => owedBy))],
      participants: [...new Set(part.messages.map(({ from }) => from))],
      messages: part.messages
        .filter((message) => isShown(message, env))
        .map((message) => messageView(part, message, env)),
      omitted: thread.omitted,
      obligations: obligations.map((obligation) =>
        obligationView(state, obligation, env, nowMs, thread.correlationId),
      ),
      proposals: proposals.filter(({ proposal_id: id }) => ids.has(id)),
    };
  });
}

function subjectOf({ root, messages }: ThreadPart, env: Env): string {
  const first = root ?? messages[0];
  return first === undefined ? "" : listedSubject(env, first.from, first.subject);
}

/** A thread in which nothing was ever asked stays open; one that owes nothing more is closed. */
function statusOf(part: ThreadPart, open: readonly Obligation[]): ThreadOutline["status"] {
  if (open.length > 0) return "waiting_on";
  return part.messages.some(({ asks }) => asks) ? "closed" : "open";
}

/** Refused lines of an agent below VERIFIED are not shown: the quarantine keeps them. */
function isShown({ refused, from }: ThreadMessage, env: Env): boolean {
  return refused === undefined || isVerified(authorTier(env, from));
}

function messageView(part: ThreadPart, message: ThreadMessage, env: Env): ThreadMessageView {
  const corrections = part.messages.filter((other) => corrects(other, message, part));
  return {
    event_id: message.id,
    log: message.log,
    line: message.line,
    received_at: new Date(message.at).toISOString(),
    from: message.from,
    type: message.type,
    subject: message.subject,
    timestamp: message.timestamp,
    tier: authorTier(env, message.from),
    refused: message.refused ?? null,
    corrections: corrections.map(({ id }) => id),
  };
}

/**
 * An author corrects its own messages only; without an event id the correction is of the thread's
 * root. Spec 1.7.
 */
function corrects(other: ThreadMessage, message: ThreadMessage, part: ThreadPart): boolean {
  if (other.type !== "correction" || other.from !== message.from) return false;
  return (other.target ?? part.root?.id) === message.id;
}

/** A decided proposal, a request that has ended and a resolved incident ask for nothing any more. */
function obligationsOf(state: State, messages: readonly ThreadMessage[], env: Env): Obligation[] {
  return openObligations(messages).filter(({ message, owedBy }) => {
    if (!mayOwe(state.logs, env, owedBy, askingOf(message))) return false;
    if (message.type === "incident") {
      const incident = state.incidents.declared.get(message.log)?.get(message.id);
      // One that was forgotten for its author's later ones is owed no longer.
      return incident !== undefined && incident.resolvedBy.size === 0;
    }
    const request = requestOf(state, message, owedBy);
    if (request !== undefined) return request.outcome === undefined && request.isVoid !== true;
    if (message.type !== "proposal") return true;
    const proposal = proposalsById(state.proposals, message.id, env)[0];
    if (proposal === undefined) return false;
    return proposal.outcome === undefined && proposal.required.includes(owedBy);
  });
}

function askingOf({ log, line, from, timestamp, toAll }: ThreadMessage): Asking {
  const timestampMs = parseTimestamp(timestamp) ?? -Infinity;
  return { log, line, from, timestampMs, toAll: toAll === true };
}

/** What a request with an answer has come to with that addressee. Spec 3.8. */
function requestOf(
  { requests }: State,
  { id, request }: ThreadMessage,
  owedBy: string,
): Request | undefined {
  if (request?.is !== "request") return undefined;
  return requests.requests.get(requestKey(id, owedBy));
}

function obligationView(
  state: State,
  { message, owedBy }: Obligation,
  env: Env,
  nowMs: number,
  correlationId: string,
): ObligationView {
  const { dueMs, fromReadingMs } = dueOf(state, message, owedBy, env, nowMs);
  const believed = isVerified(authorTier(env, message.from));
  const proposal = believed ? proposalsById(state.proposals, message.id, env)[0] : undefined;
  const requestType = requestOf(state, message, owedBy)?.requestType ?? null;
  return {
    event_id: message.id,
    correlation_id: correlationId,
    type: message.type,
    request_id: message.request?.is === "request" ? message.request.id : null,
    request_type: believed ? requestType : null,
    action: proposal?.action ?? null,
    subject: listedSubject(env, message.from, message.subject),
    decision: proposal?.content?.decision ?? null,
    from: message.from,
    owed_by: owedBy,
    due_at: dueMs === undefined ? null : new Date(dueMs).toISOString(),
    ...(fromReadingMs === undefined
      ? {}
      : { minutes_from_reading: Math.round(fromReadingMs / MINUTE_MS) }),
    overdue: dueMs !== undefined && nowMs >= dueMs,
    since: new Date(message.at).toISOString(),
  };
}

/**
 * By type: an incident within one cadence, a proposal by its `due` or as it will be reverted, else a day.
 * Without `dueMs` no time runs yet: the agent has not read the incident.
 */
function dueOf(
  state: State,
  message: ThreadMessage,
  owedBy: string,
  env: Env,
  nowMs: number,
): { readonly dueMs: number | undefined; readonly fromReadingMs?: number } {
  if (message.type === "incident") {
    const incident = state.incidents.declared.get(message.log)?.get(message.id);
    return { dueMs: incident && ackDueMs(incident, owedBy, env, state.logs) };
  }
  const request = requestOf(state, message, owedBy);
  if (request !== undefined) return { dueMs: requestDueMs(request) };
  const [proposal] = proposalsById(state.proposals, message.id, env);
  if (proposal?.required.includes(owedBy) !== true) return { dueMs: message.at + DAY_MS };
  const { stage, endsMs, fromReadingMs } = partyTime(proposal, owedBy, state.logs, env);
  if (stage === "read" || stage === "busy") return { dueMs: endsMs };
  // It stays open longer for those who do not know of it, but this is what its author asks for.
  if (proposal.dueMs !== undefined && proposal.dueMs > nowMs) return { dueMs: proposal.dueMs };
  return nowMs + fromReadingMs < endsMs ? { dueMs: endsMs, fromReadingMs } : { dueMs: endsMs };
}

function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
