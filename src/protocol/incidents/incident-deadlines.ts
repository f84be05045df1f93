import { answerLog } from "../../wire/layout.ts";
import { fromPlain } from "../../wire/json/json.ts";
import type { Effect } from "../effects.ts";
import type { HeartbeatsState } from "../heartbeats/heartbeats.ts";
import { declaredIncidents, type Incident, type IncidentsState } from "./incident-state.ts";
import { deadlineCadence, silenceMs } from "../heartbeats/liveness.ts";
import { lastBeat, namedRefused } from "../logs/logs.ts";
import type { LogsState } from "../logs/logs-state.ts";
import type { Env, Now } from "../env.ts";
import { safeMode } from "./safe-mode.ts";

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
    if (incident.author !== env.self || !incident.live || incident.resolved !== undefined) continue;
    for (const handle of incident.to) {
      effects.push(...decideAddressee(facts, incident, handle, env, now));
    }
  }
  return [...effects, ...tellSafeMode(incidents, env)];
}

/**
 * When an addressee must have acked, by our clock: one cadence that it last advertised after its
 * first live beat that covers the incident; undefined before that beat. Spec 3.5.
 */
export function ackDueMs(
  incident: Incident,
  handle: string,
  env: Env,
  logs: LogsState,
): number | undefined {
  const covering = incident.coveredLive.get(handle);
  if (covering === undefined) return undefined;
  const log = env.layout.logs.get(incident.log);
  const answers = log === undefined ? undefined : answerLog(env.layout, log, handle);
  const last = answers === undefined ? undefined : lastBeat(logs, answers.name);
  return covering.at + deadlineCadence((last ?? covering).cadenceMs, env);
}

function decideAddressee(
  facts: IncidentFacts,
  incident: Incident,
  handle: string,
  env: Env,
  now: Now,
): Effect[] {
  const log = env.layout.logs.get(incident.log);
  const answers = log === undefined ? undefined : answerLog(env.layout, log, handle);
  if (answers === undefined || incident.acks.has(handle)) return [];
  // A deadline runs out only when we have read all that the addressee has written.
  if (env.reading.heldPeers.has(handle) || !env.reading.caughtUp(answers.name)) return [];
  const dueMs = ackDueMs(incident, handle, env, facts.logs);
  if (dueMs !== undefined) {
    if (now.wallMs < dueMs || incident.escalations.has(handle)) return [];
    return [escalation(incident, handle)];
  }
  const cadenceMs = facts.heartbeats.peerBeats.get(handle)?.cadenceMs;
  if (now.wallMs < incident.at + silenceMs(cadenceMs, env)) return [];
  return [tellNotCovered(facts, incident, handle, answers.name)];
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
      subject: [...`not acked by ${of}: ${subject}`].slice(0, 500).join(""),
      body: fromPlain(body),
      priority: "high",
      correlationId,
    },
  };
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
          `since ${safe.since}, by escalation ${safe.escalation_id} of incident ` +
          `${safe.incident_id}; end it with: deaddrop resume --here --reason …`,
        concernsWire: false,
      },
    },
  ];
}
