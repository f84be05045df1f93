import { ackDueMs, stageOf, type IncidentStage } from "./incident-deadlines.ts";
import { wasMember } from "../../wire/roster/members.ts";
import { parseTimestamp } from "../../wire/timestamp.ts";
import type { Severity } from "./incident-lines.ts";
import { declaredIncidents, type Incident, type IncidentsState } from "./incident-state.ts";
import type { LogsState } from "../logs/logs-state.ts";
import type { Env } from "../env.ts";
import { listedSubject } from "../routing.ts";

/** One declared incident, as `incident list` prints it. */
export interface IncidentView {
  event_id: string;
  correlation_id: string;
  from: string;
  severity: Severity;
  /** A text of ours when `from` is below VERIFIED. Spec 2.3. */
  subject: string;
  raised_at: string;
  addressees: IncidentAddressee[];
  status: "open" | "acked" | "escalated" | "resolved";
  automatic: boolean;
}

export interface IncidentAddressee {
  handle: string;
  acked: boolean;
  acked_at: string | null;
  /** By when it must have acked; null while no time runs. */
  due_at: string | null;
  /** How far the incident has come with it; null: the beats that we know do not tell. */
  stage: IncidentStage | null;
  escalated: boolean;
}

/** Oldest first. */
export function incidentsView(state: IncidentsState, env: Env, logs: LogsState): IncidentView[] {
  const incidents = [...declaredIncidents(state)].sort((a, b) => a.at - b.at);
  return incidents.map((incident) => ({
    event_id: incident.id,
    correlation_id: incident.correlationId,
    from: incident.author,
    severity: incident.severity,
    subject: listedSubject(env, incident.author, incident.subject),
    raised_at: incident.timestamp,
    addressees: askedThen(incident, env).map((handle) => addressee(incident, handle, env, logs)),
    status: statusOf(incident, askedThen(incident, env)),
    automatic: false,
  }));
}

/** Spec 3.9: what a daemon that starts shows its operator. */
export function unresolvedIncidents(
  state: IncidentsState,
  env: Env,
  logs: LogsState,
): IncidentView[] {
  return incidentsView(state, env, logs).filter(({ status }) => status !== "resolved");
}

function addressee(
  incident: Incident,
  handle: string,
  env: Env,
  logs: LogsState,
): IncidentAddressee {
  const ack = incident.acks.get(handle);
  const dueMs = ackDueMs(incident, handle, env, logs);
  return {
    handle,
    acked: ack !== undefined,
    acked_at: ack === undefined ? null : new Date(ack.at).toISOString(),
    due_at: dueMs === undefined ? null : new Date(dueMs).toISOString(),
    stage: stageOf(incident, handle, env, logs),
    escalated: incident.escalations.has(handle),
  };
}

/** The addressees who were members when it was raised. */
function askedThen({ to, timestamp }: Incident, { layout }: Env): readonly string[] {
  if (layout.left.size === 0) return to;
  const raisedMs = parseTimestamp(timestamp) ?? 0;
  return to.filter((handle) => wasMember(layout.left, handle, raisedMs));
}

function statusOf(incident: Incident, to: readonly string[]): IncidentView["status"] {
  if (incident.resolvedBy.size > 0) return "resolved";
  if (to.length > 0 && to.every((handle) => incident.acks.has(handle))) return "acked";
  return incident.escalations.size > 0 ? "escalated" : "open";
}
