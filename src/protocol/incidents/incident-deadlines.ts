import { answerLog } from "../../wire/layout.ts";
import { fromPlain } from "../../wire/json/json.ts";
import { parseTimestamp } from "../../wire/timestamp.ts";
import { mayOwe } from "../addressing.ts";
import type { Effect } from "../effects.ts";
import type { HeartbeatsState } from "../heartbeats/heartbeats.ts";
import {
  declaredIncidents,
  type CoveringBeat,
  type Incident,
  type IncidentsState,
} from "./incident-state.ts";
import { deadlineCadence, silenceMs } from "../heartbeats/liveness.ts";
import { lastBeat, namedRefused, readUpTo } from "../logs/covering-beats.ts";
import { listedSubject } from "../routing.ts";
import { HOUR_MS } from "../../wire/durations.ts";
import { MAX_SUBJECT_CODE_POINTS } from "../../wire/limits.ts";
import type { LogsState } from "../logs/logs-state.ts";
import type { Env, Now } from "../env.ts";
import { safeMode } from "./safe-mode.ts";
import { safeModeEnd, SHOWN_ID } from "../escalations/safe-mode-end.ts";

/** Lines mirrored at once; the rest follow when these are written. */
const MIRROR_AT_ONCE = 16;

/** What deadlines of incidents look at. */
export interface IncidentFacts {
  readonly incidents: IncidentsState;
  readonly heartbeats: HeartbeatsState;
  readonly logs: LogsState;
}

/** Mirrors, escalations of our own incidents that are overdue, and notices for our operator. */
export function decideIncidents(facts: IncidentFacts, env: Env, now: Now): Effect[] {
  const { incidents } = facts;
  const effects: Effect[] = incidents.mirror
    .slice(0, MIRROR_AT_ONCE)
    .map(({ id, raw }) => ({ do: "mirror", id, raw }));
  for (const incident of declaredIncidents(incidents)) {
    if (!incident.live || incident.resolvedBy.size > 0) continue;
    for (const handle of askedNow(incident, facts.logs, env)) {
      if (incident.author !== env.self && handle !== env.self) continue;
      effects.push(...decideAddressee(facts, incident, handle, env, now));
    }
  }
  return [...effects, ...tellSafeMode(incidents, env)];
}

/** Spec 1.1: nothing is asked of one that left, nor of one that came later. */
function askedNow(incident: Incident, logs: LogsState, env: Env): readonly string[] {
  const { log, line, author: from, timestamp, to } = incident;
  const asked = { log, line, from, timestampMs: parseTimestamp(timestamp) ?? 0, toAll: false };
  return to.filter((handle) => mayOwe(logs, env, handle, asked));
}

/**
 * When an addressee must have acked, by our clock: one cadence that it last advertised after its
 * first live beat that covers the incident as read and is not busy; undefined before that beat, and
 * for an addressee whose first beat covers it. Spec 3.5.
 */
export function ackDueMs(
  incident: Incident,
  handle: string,
  env: Env,
  logs: LogsState,
): number | undefined {
  const { readLive } = incident.shown.get(handle) ?? {};
  return readLive === undefined
    ? undefined
    : oneCadenceAfter(readLive, incident, handle, env, logs);
}

function oneCadenceAfter(
  beat: CoveringBeat,
  incident: Incident,
  handle: string,
  env: Env,
  logs: LogsState,
): number {
  const answers = answersOf(incident, handle, env);
  const last = answers === undefined ? undefined : lastBeat(logs, answers);
  return beat.at + deadlineCadence((last ?? beat).cadenceMs, env);
}

/** The log in which an addressee answers that incident. */
function answersOf(incident: Incident, handle: string, env: Env): string | undefined {
  const log = env.layout.logs.get(incident.log);
  return log === undefined ? undefined : answerLog(env.layout, log, handle)?.name;
}

/** What becomes of an incident with an addressee that has not acked it: ours, or one to us. */
function decideAddressee(
  facts: IncidentFacts,
  incident: Incident,
  handle: string,
  env: Env,
  now: Now,
): Effect[] {
  const answers = answersOf(incident, handle, env);
  if (answers === undefined || incident.acks.has(handle)) return [];
  const isOurs = incident.author === env.self;
  if (isOurs && env.reading.heldPeers.has(handle)) return [];
  // A deadline runs out only when we have read all that the addressee had written until then.
  const isOver = (dueMs: number): boolean =>
    now.wallMs >= dueMs && env.reading.caughtUp(answers, dueMs);
  const { fromStart, arrived, readLive } = incident.shown.get(handle) ?? {};
  if (fromStart === true) return [];
  if (readLive !== undefined) {
    const dueMs = oneCadenceAfter(readLive, incident, handle, env, facts.logs);
    if (!isOurs || incident.escalations.has(handle) || !isOver(dueMs)) return [];
    return [escalation(incident, handle)];
  }
  if (arrived !== undefined) {
    const dueMs = oneCadenceAfter(arrived, incident, handle, env, facts.logs);
    if (isOurs && !isOver(dueMs)) return [];
    return tellUnread(facts.logs, incident, handle, env, { dueMs, nowMs: now.wallMs });
  }
  const cadenceMs = facts.heartbeats.peerBeats.get(handle)?.cadenceMs;
  if (!isOurs || !isOver(incident.at + silenceMs(cadenceMs, env))) return [];
  return [tellNotCovered(facts, incident, handle, answers)];
}

function escalation(incident: Incident, of: string): Effect {
  const { id, severity, subject, correlationId, log, to } = incident;
  const body = { escalates: id, of, severity };
  return {
    do: "send",
    log,
    draft: {
      to,
      type: "incident",
      subject: [...`not acked by ${of}: ${subject}`].slice(0, MAX_SUBJECT_CODE_POINTS).join(""),
      body: fromPlain(body),
      priority: "high",
      correlationId,
    },
  };
}

/**
 * Spec 3.5: an agent that has not read the incident, or is busy, is not in breach. The operators of
 * both sides are told, and once more an hour later.
 */
function tellUnread(
  logs: LogsState,
  incident: Incident,
  handle: string,
  env: Env,
  { dueMs, nowMs }: { readonly dueMs: number; readonly nowMs: number },
): Effect[] {
  if (nowMs < dueMs) return [];
  const { id, log, author } = incident;
  const isToUs = handle === env.self;
  const time = nowMs < dueMs + HOUR_MS ? "first" : "again";
  const isBusy = isReadIn(logs, incident, answersOf(incident, handle, env));
  const who = isToUs ? "your agent" : `the agent of ${handle}`;
  const state = isBusy ? "is busy or paused and has not acked" : "has not read";
  const subject = listedSubject(env, author, incident.subject);
  const since = new Date(incident.at).toISOString();
  const remedy = isToUs
    ? "look at it yourself: deaddrop incident list"
    : `nothing escalates while that is so; the operator of ${handle} is told as well`;
  return [
    {
      do: "tell",
      incident: {
        key: `incident_unread:${log}:${id}:${handle}:${time}`,
        cause: "incident_unread",
        peer: isToUs ? author : handle,
        subject: `${who} ${state} an incident: ${subject}`,
        detail: `${incident.severity}, from ${author}, since ${since}; ${remedy}`,
        concernsWire: false,
      },
    },
  ];
}

function isReadIn(logs: LogsState, { log, line }: Incident, answers: string | undefined): boolean {
  return answers !== undefined && readUpTo(logs, answers, log) >= line;
}

/** How an incident has come to an addressee; null: not known here. Spec 3.5. */
export type IncidentStage = "undelivered" | "unread" | "busy" | "read" | "not_asked";

export function stageOf(
  incident: Incident,
  handle: string,
  env: Env,
  logs: LogsState,
): IncidentStage | null {
  const { fromStart, arrived, readLive } = incident.shown.get(handle) ?? {};
  if (fromStart === true) return "not_asked";
  const concernsUs = incident.author === env.self || handle === env.self;
  if (!incident.live || !concernsUs) return null;
  if (readLive !== undefined) return "read";
  if (arrived === undefined) return "undelivered";
  return isReadIn(logs, incident, answersOf(incident, handle, env)) ? "busy" : "unread";
}

/** Spec 3.5: an addressee that has not covered it is not in breach; our operator may look into it. */
function tellNotCovered(
  facts: IncidentFacts,
  incident: Incident,
  handle: string,
  answers: string,
): Effect {
  const refused = namedRefused(facts.logs, answers, Infinity, incident.log, incident.line);
  const why = refused
    ? `${handle} refused the line`
    : `no heartbeat of ${handle} shows that it has arrived`;
  return {
    do: "tell",
    incident: {
      key: `incident_not_covered:${incident.log}:${incident.id}:${handle}`,
      cause: "incident_not_covered",
      peer: handle,
      subject: `incident has not reached ${handle}: ${incident.subject}`,
      detail: `${why}, so it cannot be escalated; reach ${handle} by another way`,
      concernsWire: false,
    },
  };
}

function tellSafeMode(incidents: IncidentsState, env: Env): Effect[] {
  const safe = safeMode(incidents, env);
  if (safe === undefined || safe.author === env.self) return [];
  return [
    {
      do: "tell",
      incident: {
        key: `safe_mode:${safe.escalation_id}`,
        cause: "safe_mode",
        subject: `safe mode: ${safe.of} did not ack an incident of ${safe.author}`,
        detail:
          `since ${safe.since}, by escalation ${safe.escalation_id.slice(0, SHOWN_ID)} of incident ` +
          `${safe.incident_id.slice(0, SHOWN_ID)}; ${safeModeEnd(safe, env.self, "operator")}`,
        concernsWire: false,
      },
    },
  ];
}
