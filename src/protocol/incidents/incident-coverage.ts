import { answerLog, type Log } from "../../wire/layout.ts";
import type { CoveringBeat, Incident, IncidentsState } from "./incident-state.ts";
import { firstBeatCovering, namedRefused, type CoveringQuestion } from "../logs/logs.ts";
import type { BeatMark, LogsState } from "../logs/logs-state.ts";
import type { Env } from "../env.ts";
import { isGrave, judgeEscalation } from "./safe-mode.ts";

/**
 * Asks the beats of an addressee about an incident from now on. No clock of ours runs on an
 * incident between other agents, and only a grave one can lead to safe mode.
 */
export function askBeats(
  state: IncidentsState,
  incident: Incident,
  handle: string,
  env: Env,
): void {
  if (incident.author !== env.self && handle !== env.self && !isGrave(incident)) return;
  const log = env.layout.logs.get(incident.log);
  const answers = log === undefined ? undefined : answerLog(env.layout, log, handle);
  if (answers === undefined) return;
  const asking = state.asking.get(answers.name) ?? [];
  if (asking.some(({ log: name, id }) => name === incident.log && id === incident.id)) return;
  // Incidents that are no longer remembered are not asked about either.
  const known = asking.filter((place) => state.declared.get(place.log)?.has(place.id));
  state.asking.set(answers.name, [...known, { log: incident.log, id: incident.id }]);
}

/** Looks again at what the beats in that log say, because its author's coverage has changed. */
export function judgeCoverage(
  state: IncidentsState,
  answers: Log,
  env: Env,
  logs: LogsState,
): void {
  const asking = state.asking.get(answers.name);
  if (asking === undefined || asking.length === 0) return;
  const still = asking.filter(({ log, id }) => {
    const incident = state.declared.get(log)?.get(id);
    if (incident === undefined) return false;
    takeCoverage(incident, answers, env, logs);
    judgeEscalation(state, incident, answers, env, logs);
    return isAsking(incident, answers.owner);
  });
  state.asking.set(answers.name, still);
}

function isAsking(incident: Incident, handle: string): boolean {
  const { covered, coveredLive, first } = incident;
  if (!covered.has(handle) || (incident.live && !coveredLive.has(handle))) return true;
  return first !== undefined && first.of === handle && !first.settled;
}

function takeCoverage(incident: Incident, answers: Log, env: Env, logs: LogsState): void {
  const { covered, coveredLive } = incident;
  const ask = (question: CoveringQuestion): CoveringBeat | undefined => {
    const beat = firstBeatCovering(logs, answers.name, incident.log, incident.line, question);
    if (beat === undefined) return undefined;
    // Spec 3.5: lines that beats name as refused are not covered.
    const refused = namedRefused(logs, answers.name, beat.line, incident.log, incident.line);
    return refused ? undefined : brief(beat);
  };
  if (!covered.has(answers.owner)) {
    const beat = ask({ liveOnly: false });
    if (beat !== undefined) covered.set(answers.owner, beat);
  }
  if (incident.live && !coveredLive.has(answers.owner)) {
    // Spec 3: a peer whose beats carry no heads covers with its next beat what we wrote. That
    // starts our clock, but no log proves it, so it leads to no safe mode.
    const ours = incident.author === env.self;
    const beat = ask({ liveOnly: true, ...(ours ? { writtenAt: incident.at } : {}) });
    if (beat !== undefined) coveredLive.set(answers.owner, beat);
  }
}

function brief({ line, timestampMs, at, cadenceMs }: BeatMark): CoveringBeat {
  return { line, timestampMs, at, cadenceMs };
}
