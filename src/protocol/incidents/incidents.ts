import { answerLog, type Log } from "../../wire/layout.ts";
import { readersAddressed } from "../addressing.ts";
import { askBeats, judgeCoverage } from "./incident-coverage.ts";
import {
  incidentLine,
  isSigned,
  resumedHere,
  type IncidentLine,
  type Severity,
} from "./incident-lines.ts";
import {
  MAX_INCIDENTS,
  type AnswerMark,
  type Incident,
  type IncidentsState,
} from "./incident-state.ts";
import type { LogsState } from "../logs/logs-state.ts";
import { asContinued } from "../logs/continued.ts";
import { isFolded, type CoreEvent, type LineEvent } from "../events.ts";
import type { Env } from "../env.ts";
import { isGrave } from "./safe-mode.ts";

export type { IncidentsState } from "./incident-state.ts";

/** Answers remembered per log that may be to an incident which we do not hold yet. */
const MAX_ANSWERS_AHEAD = 4_096;
/** Lines that wait to be mirrored; what comes when it is full is not mirrored. */
const MAX_MIRROR_LINES = 256;
const MAX_MIRROR_CHARACTERS = 8 * 1_024 * 1_024;
/** Escalations that one agent has ended for itself. */
const MAX_RESUMED_HERE = 256;

type Answer = Extract<IncidentLine, { is: "ack" | "resolution" }>;

/**
 * Folds one event, after `applyLogs`, whose answer `touched` is: the logs whose authors' coverage
 * may have changed.
 */
export function applyIncidents(
  state: IncidentsState,
  event: CoreEvent,
  env: Env,
  logs: LogsState,
  touched: ReadonlySet<string>,
): void {
  if (event.kind === "mirrored") {
    state.mirror = state.mirror.filter(({ id }) => id !== event.id);
    return;
  }
  if (event.kind === "line" && isFolded(event)) {
    const log = env.layout.logs.get(event.log);
    if (log !== undefined) takeLine(state, event, log, env);
    for (const each of asContinued(event, env.layout)) takeContinued(state, each, env);
  }
  for (const name of touched) {
    const answers = env.layout.logs.get(name);
    if (answers !== undefined) judgeCoverage(state, answers, env, logs);
  }
}

function takeLine(state: IncidentsState, event: LineEvent, log: Log, env: Env): void {
  const { message } = event;
  const ended = resumedHere(message);
  if (ended !== undefined) resumeHere(state, log.owner, ended);
  const line = incidentLine(message);
  switch (line.is) {
    case "declared":
      declare(state, event, log, line.severity, env);
      return;
    case "escalation": {
      const incident = state.declared.get(log.name)?.get(line.incident);
      if (incident !== undefined) escalate(state, incident, event, line.of, env);
      return;
    }
    case "resume":
      if (isSigned(message)) resume(state, event, log, line.escalation, env);
      return;
    case "ack":
    case "resolution":
      takeAnswer(state, event, log, line, env);
      return;
    case "other":
  }
}

/** What a line of an outbox says of incidents in a closed log of its pair; it begins none there. */
function takeContinued(state: IncidentsState, event: LineEvent, env: Env): void {
  const log = env.layout.logs.get(event.log);
  if (log === undefined || incidentLine(event.message).is === "declared") return;
  takeLine(state, event, log, env);
}

function declare(
  state: IncidentsState,
  event: LineEvent,
  log: Log,
  severity: Severity,
  env: Env,
): void {
  const { message } = event;
  const incidents = state.declared.get(log.name) ?? new Map<string, Incident>();
  if (incidents.has(message.id)) return;
  const incident: Incident = {
    id: message.id,
    log: log.name,
    line: event.line,
    author: log.owner,
    at: event.at,
    live: event.live,
    timestamp: message.timestamp,
    severity,
    subject: message.subject,
    correlationId: message.correlationId,
    to: readersAddressed(message, log, env),
    acks: new Map(),
    shown: new Map(),
    escalations: new Map(),
    first: undefined,
    resolvedBy: new Set(),
  };
  incidents.set(incident.id, incident);
  state.declared.set(log.name, incidents);
  const oldest = incidents.keys().next().value;
  if (incidents.size > MAX_INCIDENTS && oldest !== undefined) {
    incidents.delete(oldest);
    state.forgotten.set(log.name, (state.forgotten.get(log.name) ?? 0) + 1);
  }
  mirror(state, incident, event, env);
  for (const handle of incident.to) {
    takeAnswersAhead(state, incident, handle, log, env);
    askBeats(state, incident, handle, env);
  }
}

/**
 * Spec 3.5: escalations are not escalated, and only the first of an incident can be honoured. One that
 * names nobody who was asked escalates nothing: an author may write any number of them.
 */
function escalate(
  state: IncidentsState,
  incident: Incident,
  event: LineEvent,
  of: string,
  env: Env,
): void {
  const { id } = event.message;
  mirror(state, incident, event, env);
  const isAsked = incident.to.includes(of);
  if (isAsked && !incident.escalations.has(of)) incident.escalations.set(of, id);
  if (incident.first !== undefined || !isSigned(event.message)) return;
  const judged = isGrave(incident) && isAsked;
  incident.first = { id, line: event.line, of, settled: !judged, resumed: false };
  if (!judged) return;
  askBeats(state, incident, of, env);
}

/** It is in the log of the escalation, so we hold the escalation, if there is one. */
function resume(
  state: IncidentsState,
  event: LineEvent,
  { name: logName }: Log,
  escalation: string,
  env: Env,
): void {
  for (const incident of state.declared.get(logName)?.values() ?? []) {
    if (incident.first?.id !== escalation) continue;
    incident.first.resumed = true;
    mirror(state, incident, event, env);
  }
  state.breaches = state.breaches.map((breach) =>
    breach.log === logName && breach.escalation === escalation
      ? { ...breach, resumed: true }
      : breach,
  );
}

function resumeHere(state: IncidentsState, handle: string, escalation: string): void {
  const known = state.resumedHere.get(handle) ?? [];
  if (known.includes(escalation)) return;
  state.resumedHere.set(handle, [...known, escalation].slice(-MAX_RESUMED_HERE));
}

function takeAnswer(
  state: IncidentsState,
  event: LineEvent,
  log: Log,
  answer: Answer,
  env: Env,
): void {
  const incidents = meantBy(state, event, log, answer, env);
  const mark: AnswerMark = { line: event.line, at: event.at };
  for (const incident of incidents) {
    takeMark(incident, answer.is, log.owner, mark);
    mirror(state, incident, event, env);
  }
  // A thread may have further incidents; an incident that is named is there only once.
  if (answer.incident !== undefined && incidents.length > 0) return;
  const ahead = state.ahead.get(log.name) ?? new Map<string, AnswerMark>();
  state.ahead.set(log.name, ahead);
  const key = answerKey(answer.is, answer.incident ?? `thread ${event.message.correlationId}`);
  if (ahead.has(key)) return;
  ahead.set(key, mark);
  const oldest = ahead.keys().next().value;
  if (ahead.size > MAX_ANSWERS_AHEAD && oldest !== undefined) ahead.delete(oldest);
}

/** Of the incidents that this log answers, and for a resolution its own, those that it means. */
function meantBy(
  state: IncidentsState,
  event: LineEvent,
  log: Log,
  answer: Answer,
  env: Env,
): Incident[] {
  const meant: Incident[] = [];
  for (const [name, incidents] of state.declared) {
    const target = env.layout.logs.get(name);
    if (target === undefined) continue;
    const own = name === log.name && answer.is === "resolution";
    if (!own && answerLog(env.layout, target, log.owner)?.name !== log.name) continue;
    const candidates =
      answer.incident === undefined ? incidents.values() : [incidents.get(answer.incident)];
    for (const incident of candidates) {
      if (incident === undefined || !(own || incident.to.includes(log.owner))) continue;
      const inThread = incident.correlationId === event.message.correlationId;
      if (answer.incident !== undefined || inThread) meant.push(incident);
    }
  }
  return meant;
}

/** Logs come in any order: we may have read an answer before its incident. */
function takeAnswersAhead(
  state: IncidentsState,
  incident: Incident,
  handle: string,
  log: Log,
  env: Env,
): void {
  const answers = answerLog(env.layout, log, handle);
  const ahead = answers === undefined ? undefined : state.ahead.get(answers.name);
  if (ahead === undefined) return;
  const acks = [incident.id, `thread ${incident.correlationId}`]
    .map((about) => ahead.get(answerKey("ack", about)))
    .filter((mark) => mark !== undefined)
    .sort((a, b) => a.line - b.line);
  if (acks[0] !== undefined) takeMark(incident, "ack", handle, acks[0]);
  const resolved = ahead.get(answerKey("resolution", incident.id));
  if (resolved !== undefined) takeMark(incident, "resolution", handle, resolved);
}

function takeMark(incident: Incident, is: Answer["is"], by: string, mark: AnswerMark): void {
  if (is === "resolution") incident.resolvedBy.add(by);
  else if (!incident.acks.has(by)) incident.acks.set(by, mark);
}

function answerKey(is: Answer["is"], about: string): string {
  return `${is} ${about}`;
}

/** Spec 3.5: the sender's daemon mirrors its incidents and the answers to them, in order. */
function mirror(state: IncidentsState, incident: Incident, event: LineEvent, env: Env): void {
  const { id } = event.message;
  if (incident.author !== env.self || !incident.live || !event.live) return;
  if (state.mirror.some((line) => line.id === id)) return;
  const characters = state.mirror.reduce((sum, { raw }) => sum + raw.length, event.raw.length);
  if (state.mirror.length >= MAX_MIRROR_LINES || characters > MAX_MIRROR_CHARACTERS) return;
  state.mirror.push({ id, raw: event.raw });
}
