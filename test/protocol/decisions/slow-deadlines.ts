import { toPlain } from "../../../src/wire/json/json.ts";
import type { OutcomeScript } from "../../support/scripts/outcome-script.ts";
import { hours, minutes, seconds, type ScriptLine } from "../../support/scripts/wire-script.ts";

/** `limits` of the wire. */
export interface Times {
  readonly answerMinutes: number;
  readonly proposalHours: number;
}

interface Head {
  lines: number;
  read_lines: number;
  event_id?: string;
}

interface Body {
  state?: string;
  next_eta?: string;
  due?: string;
  required?: string[];
  heads?: Record<string, Head>;
}

const bodyOf = ({ message }: ScriptLine): Body => toPlain(message.body) as Body;

/**
 * Spec 3.4, "Deadlines", word for word over whole logs: when the time of a required party ends, by
 * the clock of the proposer, who takes in each line when it is written. Deliberately slow and without
 * any state.
 */
export function slowEndMs(
  script: OutcomeScript,
  proposal: ScriptLine,
  party: string,
  { answerMinutes, proposalHours }: Times,
): number {
  const due = dueOf(proposal);
  const beats = (script.script.lines.get(script.logOf(party)) ?? []).filter(
    ({ message }) => message.type === "heartbeat",
  );
  const reading = beats.find(
    (beat) =>
      !["busy", "paused"].includes(String(bodyOf(beat).state)) &&
      readLines(script, beats, beat, proposal.log) >= proposal.line,
  );
  if (reading === undefined) return Math.max(proposal.at + hours(proposalHours), due ?? 0);
  const advertised = beats.at(-1);
  const cadence =
    advertised === undefined
      ? 0
      : Date.parse(bodyOf(advertised).next_eta ?? "") - advertised.message.timestampMs;
  const twoHeartbeats = 2 * Math.min(Math.max(seconds(90), cadence), seconds(1_200));
  return Math.max(reading.at + twoHeartbeats, due ?? reading.at + minutes(answerMinutes));
}

function dueOf(proposal: ScriptLine): number | undefined {
  const due = Date.parse(bodyOf(proposal).due ?? "");
  const afterMs = due - proposal.message.timestampMs;
  return afterMs >= minutes(2) && afterMs <= hours(24 * 30) ? due : undefined;
}

/** The largest `read_lines` up to that beat, of lines that heads up to there cover. */
function readLines(
  script: OutcomeScript,
  beats: readonly ScriptLine[],
  upTo: ScriptLine,
  target: string,
): number {
  let covered = 0;
  let read = 0;
  for (const beat of beats.filter(({ line }) => line <= upTo.line)) {
    const head = bodyOf(beat).heads?.[target];
    if (head === undefined) continue;
    const chained = (script.script.lines.get(target) ?? [])
      .slice(0, head.lines)
      .findLast(({ message }) => message.seq !== undefined);
    if (chained?.message.id === head.event_id) covered = Math.max(covered, head.lines);
    read = Math.max(read, Math.min(head.read_lines, head.lines, covered));
  }
  return read;
}
