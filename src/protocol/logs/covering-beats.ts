import { isAfter, placeOf } from "./continued.ts";
import { readSoFar } from "./coverage.ts";
import { beatNaming, lastAtOrBelow } from "./line-ranges.ts";
import type { BeatMark, LogsState } from "./logs-state.ts";

// What the heartbeats of a log say of the lines of others, by what is folded of them. Spec 3.2, 3.4.

/** Which lines of one log are covered; of a closed one also those of the outbox after it. */
export type Covered = (line: number) => boolean;

/**
 * What of `target` is validly covered by the beats of `reader` at or before the line `beat`: the
 * largest of them. `undefined`: it cannot be judged yet, because we do not hold the lines that one of
 * those beats counts. Spec 3.4, "How heads count". A closed log and its outbox are covered each by its
 * own heads. Spec 1.6.
 */
export function coveredAt(
  state: LogsState,
  reader: string,
  beat: number,
  target: string,
): Covered | undefined {
  const upTo = coverageAt(state, reader, beat, target);
  const { into } = state.get(target) ?? {};
  const after = into === undefined ? 0 : coverageAt(state, reader, beat, into);
  if (upTo === undefined || after === undefined) return undefined;
  return (line) => line <= upTo || (isAfter(line) && placeOf(state, target, line).line <= after);
}

/**
 * How many lines of `target` are covered at that beat, without those of an outbox after it.
 * @internal
 */
export function coverageAt(
  state: LogsState,
  reader: string,
  beat: number,
  target: string,
): number | undefined {
  const coverage = state.get(reader)?.covers.get(target);
  if (coverage === undefined) return 0;
  if ((coverage.waiting[coverage.next]?.beat ?? Infinity) <= beat) return undefined;
  if ((coverage.overflow ?? Infinity) <= beat) return undefined;
  const step = coverage.steps[lastAtOrBelow(coverage.steps, beat, (each) => each.beat)];
  return step?.lines ?? 0;
}

/** Whether any beat of `reader` at or before the line `beat` has named that line as refused. */
export function namedRefused(
  state: LogsState,
  reader: string,
  beat: number,
  target: string,
  line: number,
): boolean {
  const place = placeOf(state, target, line);
  const { refused = [] } = state.get(reader)?.covers.get(place.log) ?? {};
  const named = beatNaming(refused, place.line);
  return named !== undefined && named <= beat;
}

export interface CoveringQuestion {
  readonly liveOnly: boolean;
  /**
   * When the line was written, in ms: for a reader whose beats carry no heads, its next beat after
   * that counts as covering (spec 3). Without it such readers cover nothing.
   */
  readonly writtenAt?: number;
}

/** The first beat of `reader` that covers that line of `target`; once covered, always covered. */
export function firstBeatCovering(
  state: LogsState,
  reader: string,
  target: string,
  line: number,
  { liveOnly, writtenAt }: CoveringQuestion,
): BeatMark | undefined {
  const counts = (beat: BeatMark): boolean => beat.live || !liveOnly;
  return firstBeat(state, { reader, target, line, writtenAt, by: "steps" }, counts);
}

/**
 * The first beat of `reader` that covers that line as read and does not say `busy` (with `liveOnly`
 * neither `busy` nor `paused`): from there time runs against its agent. A reader without heads beats
 * for its agent: what it covers is read. Spec 3.
 */
export function firstBeatReading(
  state: LogsState,
  reader: string,
  target: string,
  line: number,
  { liveOnly, writtenAt }: CoveringQuestion,
): BeatMark | undefined {
  const counts = liveOnly ? isLiveAndFree : ({ state: says }: BeatMark) => says !== "busy";
  return firstBeat(state, { reader, target, line, writtenAt, by: "reads" }, counts);
}

/** The first beat that counts, from the one on that covers the line: as received or as read. */
function firstBeat(
  state: LogsState,
  of: {
    readonly reader: string;
    readonly target: string;
    readonly line: number;
    readonly writtenAt: number | undefined;
    readonly by: "steps" | "reads";
  },
  counts: (beat: BeatMark) => boolean,
): BeatMark | undefined {
  const { reader, target, line, writtenAt, by } = of;
  const log = state.get(reader);
  if (log === undefined) return undefined;
  if (log.headsFrom === undefined) {
    if (writtenAt === undefined) return undefined;
    return log.beats.find((beat) => beat.at > writtenAt && counts(beat));
  }
  const place = placeOf(state, target, line);
  const steps = log.covers.get(place.log)?.[by] ?? [];
  const step = steps[lastAtOrBelow(steps, place.line - 1, (each) => each.lines) + 1];
  return step === undefined ? undefined : beatsFrom(state, reader, step.beat).find(counts);
}

/**
 * For our own deadlines. A daemon that stops or is in safe mode says `paused`, and its agent may be
 * busy all the while (docs/decisions/032). For safe mode, which is the same for all
 * readers, only `busy` counts.
 */
function isLiveAndFree({ live, state }: BeatMark): boolean {
  return live && state !== "busy" && state !== "paused";
}

/** How many lines of `target` the agent of `reader` has read, by all beats that are judged. */
export function readUpTo(state: LogsState, reader: string, target: string): number {
  const coverage = state.get(reader)?.covers.get(target);
  return coverage === undefined ? 0 : readSoFar(coverage);
}

/**
 * Whether the very first beat of that reader's log covers that line, once any beat does: its agent
 * was not there when it was written. Spec 3.5.
 */
export function coveredFromStart(
  state: LogsState,
  reader: string,
  target: string,
  line: number,
): boolean {
  return (state.get(reader)?.covers.get(target)?.fromStart ?? 0) >= line;
}

/** The beats of a log at or after that line, in its order. */
export function beatsFrom(state: LogsState, name: string, line: number): readonly BeatMark[] {
  const beats = state.get(name)?.beats ?? [];
  return beats.slice(lastAtOrBelow(beats, line - 1, (beat) => beat.line) + 1);
}

/** Whether a beat of that log after that line may be forgotten that had to be asked about. */
export function hasLostBeats(state: LogsState, name: string, after: number): boolean {
  return (state.get(name)?.lostBeats ?? 0) > after;
}

/** Whether that id is one of the beats that we remember of a log, before that line. */
export function isBeatOf(state: LogsState, name: string, id: string, before: number): boolean {
  const beats = state.get(name)?.beats ?? [];
  return beats.some((beat) => beat.line < before && beat.id === id);
}

/** Whether a beat of that log before that line carries heads. */
export function hasHeadsBefore(state: LogsState, name: string, line: number): boolean {
  return (state.get(name)?.headsFrom ?? Infinity) < line;
}

export function lastBeat(state: LogsState, name: string): BeatMark | undefined {
  return state.get(name)?.beats.at(-1);
}
