import type { Log } from "../../wire/layout.ts";
import { firstLineNow, hasEverLeft } from "../../wire/roster/members.ts";
import type { Breach, Incident, IncidentsState } from "./incident-state.ts";
import { deadlineCadence } from "../heartbeats/liveness.ts";
import { beatsFrom, firstBeatCovering, namedRefused } from "../logs/covering-beats.ts";
import type { LogsState } from "../logs/logs-state.ts";
import type { Env } from "../env.ts";
import type { SafeMode } from "../escalations/safe-mode-end.ts";
import { DAY_MS, MINUTE_MS } from "../../wire/durations.ts";

/** Spec 3.5: an author's next escalation counts only so long after the last that was honoured. */
const BETWEEN_HONOURED_MS = DAY_MS;
/** Spec 3.5: the second beat is dated at least so long after the one that shows the incident read. */
const LEAST_WAIT_MS = 10 * MINUTE_MS;
/**
 * Ignored escalations that are remembered of each author; those that are over are forgotten first. So
 * no agent makes others forget what stops them for another one.
 */
const MAX_BREACHES = 256;

/** Spec 3.5: all that a daemon sends in safe mode. */
const SAFE_MODE_TYPES: ReadonlySet<string> = new Set([
  "heartbeat",
  "ack",
  "incident",
  "correction",
  "release",
  "agent_card",
  "shutdown",
]);

export function isGrave(incident: Pick<Incident, "severity">): boolean {
  return incident.severity === "high" || incident.severity === "critical";
}

/**
 * Judges the first escalation of an incident by the log of the addressee that it names. Spec 3.5: a
 * beat that covers the incident as read and is not busy; then a second one, the first that covers
 * the escalation and is dated ten minutes and one cadence after it or later; and no ack before that.
 * All of it is in logs and none of it can change, so it is judged once.
 */
export function judgeEscalation(
  state: IncidentsState,
  incident: Incident,
  answers: Log,
  env: Env,
  logs: LogsState,
): void {
  const { first, line, log, shown } = incident;
  if (first === undefined || first.settled || first.of !== answers.owner) return;
  const beats = shown.get(first.of);
  if (beats?.fromStart === true) first.settled = true;
  if (beats?.fromStart === true || beats?.read === undefined) return;
  const seen = firstBeatCovering(logs, answers.name, log, first.line, { liveOnly: false });
  if (seen === undefined) return;
  const { read } = beats;
  const waitMs = Math.max(LEAST_WAIT_MS, deadlineCadence(read.cadenceMs, env));
  const second = beatsFrom(logs, answers.name, Math.max(seen.line, read.line + 1)).find(
    (beat) => beat.timestampMs >= read.timestampMs + waitMs,
  );
  if (second === undefined) return;
  first.settled = true;
  const acked = (incident.acks.get(first.of)?.line ?? Infinity) < second.line;
  const refused = [line, first.line].some((each) =>
    namedRefused(logs, answers.name, second.line, log, each),
  );
  if (acked || refused) return;
  addBreach(state, {
    author: incident.author,
    of: first.of,
    incident: incident.id,
    escalation: first.id,
    log,
    line: first.line,
    secondBeatMs: second.timestampMs,
    resumed: first.resumed,
  });
}

/**
 * Whether and why we are in safe mode; of several reasons the oldest. An author that we hold does not
 * stop us, and neither does an incident that is settled between its author and the addressee. Spec 3.5.
 */
export function safeMode(state: IncidentsState, env: Env): SafeMode | undefined {
  const endedHere = state.resumedHere.get(env.self) ?? [];
  const standing = honoured(state, env).find(
    (breach) =>
      !breach.resumed &&
      !isSettled(state, breach) &&
      !endedHere.includes(breach.escalation) &&
      !env.reading.heldPeers.has(breach.author) &&
      !hasLeftSince(breach, env),
  );
  if (standing === undefined) return undefined;
  return {
    active: true,
    since: new Date(standing.secondBeatMs).toISOString(),
    author: standing.author,
    incident_id: standing.incident,
    escalation_id: standing.escalation,
    of: standing.of,
  };
}

/**
 * The silent one has answered, or the author has resolved it, before or after safe mode began. What is
 * no longer remembered could not be answered any more, so it counts as settled.
 */
function isSettled(state: IncidentsState, { log, incident: id, of, author }: Breach): boolean {
  const incident = state.declared.get(log)?.get(id);
  if (incident === undefined || incident.acks.has(of)) return true;
  return incident.resolvedBy.has(of) || incident.resolvedBy.has(author);
}

/** Spec 3.5: safe mode ends with the leaving of its author, and does not come back with it. */
function hasLeftSince({ author, log, line }: Breach, { layout }: Env): boolean {
  if (!layout.members.includes(author)) return true;
  return hasEverLeft(layout.left, author) && line < firstLineNow(layout.left, author, log);
}

/** Whether a message of that type may be sent now. */
export function maySend(type: string, safe: SafeMode | undefined): boolean {
  return safe === undefined || SAFE_MODE_TYPES.has(type);
}

/** The escalations that all who hold these lines honour, in the order of their second beats. */
function honoured(state: IncidentsState, env: Env): Breach[] {
  const lastByAuthor = new Map<string, number>();
  return [...state.breaches].sort(inOrder).filter((breach) => {
    if (!isTrusted(breach, env)) return false;
    const last = lastByAuthor.get(breach.author);
    if (last !== undefined && breach.secondBeatMs - last < BETWEEN_HONOURED_MS) return false;
    lastByAuthor.set(breach.author, breach.secondBeatMs);
    return true;
  });
}

/** Ties are broken by the place of the escalations: log, then line. */
function inOrder(a: Breach, b: Breach): number {
  if (a.secondBeatMs !== b.secondBeatMs) return a.secondBeatMs - b.secondBeatMs;
  if (a.log !== b.log) return a.log < b.log ? -1 : 1;
  return a.line - b.line;
}

/** Spec 3.5: ATTESTED or TRUSTED for us since before the second beat. We trust ourselves. */
function isTrusted(breach: Breach, env: Env): boolean {
  if (breach.author === env.self) return true;
  const { tier, sinceMs } = env.tierOf(breach.author);
  if (tier !== "ATTESTED" && tier !== "TRUSTED") return false;
  return sinceMs === undefined || sinceMs < breach.secondBeatMs;
}

function addBreach(state: IncidentsState, breach: Breach): void {
  state.breaches.push(breach);
  const ofAuthor = state.breaches.filter(({ author }) => author === breach.author);
  if (ofAuthor.length <= MAX_BREACHES) return;
  const forgotten = ofAuthor.find(({ resumed }) => resumed) ?? ofAuthor[0];
  state.breaches = state.breaches.filter((each) => each !== forgotten);
}
