import { answerLog, type Log } from "../../wire/layout.ts";
import type { CoveringBeat, Incident, IncidentsState } from "./incident-state.ts";
import {
  coveredFromStart,
  firstBeatCovering,
  firstBeatReading,
  namedRefused,
} from "../logs/covering-beats.ts";
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

function isAsking({ shown, live, first }: Incident, handle: string): boolean {
  const beats = shown.get(handle);
  if (beats?.fromStart === true) return false;
  if (beats?.read === undefined) return true;
  if (live && (beats.arrived === undefined || beats.readLive === undefined)) return true;
  return first !== undefined && first.of === handle && !first.settled;
}

/** Only heads show anything of an incident. Spec 3.5. */
function takeCoverage(incident: Incident, answers: Log, env: Env, logs: LogsState): void {
  const { log, line, live, shown } = incident;
  const covering = unlessRefused(incident, answers, logs, (liveOnly) =>
    firstBeatCovering(logs, answers.name, log, line, { liveOnly }),
  );
  if (covering(false) === undefined) return;
  const beats = shown.get(answers.owner) ?? {
    fromStart: coveredFromStart(logs, answers.name, log, line),
  };
  shown.set(answers.owner, beats);
  if (beats.fromStart) return;
  const reading = unlessRefused(incident, answers, logs, (liveOnly) =>
    firstBeatReading(logs, answers.name, log, line, { liveOnly }),
  );
  const note = (name: "arrived" | "read" | "readLive", beat: CoveringBeat | undefined): void => {
    if (beat !== undefined) beats[name] ??= beat;
  };
  note("read", reading(false));
  if (!live) return;
  note("arrived", covering(true));
  note("readLive", reading(true));
}

/** Spec 3.5: lines that beats name as refused are not covered. */
function unlessRefused(
  { log, line }: Incident,
  answers: Log,
  logs: LogsState,
  find: (liveOnly: boolean) => BeatMark | undefined,
): (liveOnly: boolean) => CoveringBeat | undefined {
  return (liveOnly) => {
    const beat = find(liveOnly);
    if (beat === undefined || namedRefused(logs, answers.name, beat.line, log, line)) {
      return undefined;
    }
    const { timestampMs, at, cadenceMs } = beat;
    return { line: beat.line, timestampMs, at, cadenceMs };
  };
}
