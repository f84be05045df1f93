import { answerLog, type Layout, type Log } from "../../wire/layout.ts";
import { isAfter } from "./continued.ts";
import type { Head } from "./heads.ts";
import { dropMarks, markAt, markOf, markUpTo, noMarks, placeUpTo } from "./chain-marks.ts";
import type { ClaimedHead, Coverage, LogState, LogsState } from "./logs-state.ts";
import { beatNaming, lastAtOrBelow, nameRanges, type LineRange } from "./line-ranges.ts";

/**
 * Waiting heads of one reader, over lines that we do not hold. We read round-robin, so an honest
 * reader has few.
 */
const MAX_WAITING = 65_536;
/** Ranges of refusals that count, per reader and target: the first ones. */
const MAX_REFUSED = 16_384;
const MAX_HEAD_MISMATCHES = 64;
const MAX_MARKS = 16_384;
/** Beats that are never pruned: the newest of each log. */
const BEATS_KEPT = 512;
const JUDGED_BEFORE_SPLICE = 1_024;

/** What the author of `log` covers of `target`, to be written to. */
export function openCoverage(log: LogState, target: string): Coverage {
  let coverage = log.covers.get(target);
  if (coverage === undefined) {
    coverage = { steps: [], reads: [], fromStart: 0, waiting: [], next: 0, refused: [] };
    log.covers.set(target, coverage);
  }
  return coverage;
}

/**
 * What a beat names as refused. Beyond the bound no more is named in that log: whether a beat has
 * named a line depends on its log up to that beat alone, so that all readers agree, whenever they
 * ask. To forget old ranges instead would change answers that were given before.
 */
export function nameRefused(coverage: Coverage, ranges: readonly LineRange[], beat: number): void {
  nameRanges(coverage.refused, ranges, beat, MAX_REFUSED);
}

/**
 * Spec 3.4: heads that fall back count as the largest before them, so they add nothing; nor does
 * what is said to be read and was before.
 */
export function claim(coverage: Coverage, beat: number, head: Head): void {
  if (coverage.overflow !== undefined) return;
  const last = coverage.waiting.at(-1);
  if (last === undefined ? addsNothing(coverage, head) : sameHead(last.head, head)) return;
  if (coverage.waiting.length - coverage.next >= MAX_WAITING) {
    coverage.overflow = beat;
    return;
  }
  const { lines, seq, eventId, readLines } = head;
  coverage.waiting.push({
    beat,
    head: {
      lines,
      readLines,
      ...(seq === undefined ? {} : { seq }),
      ...(eventId === undefined ? {} : { eventId }),
    },
  });
}

function addsNothing(coverage: Coverage, head: Head): boolean {
  return head.lines <= covered(coverage) && head.readLines <= readSoFar(coverage);
}

function sameHead(a: ClaimedHead, b: ClaimedHead): boolean {
  const isSamePlace = a.lines === b.lines && a.seq === b.seq && a.eventId === b.eventId;
  return isSamePlace && a.readLines === b.readLines;
}

function covered(coverage: Coverage): number {
  return coverage.steps.at(-1)?.lines ?? 0;
}

/** How many lines the agent of the reader has read, by all its heads that are judged. Spec 3.2. */
export function readSoFar(coverage: Coverage): number {
  return coverage.reads.at(-1)?.lines ?? 0;
}

/**
 * Judges waiting heads in the order of their beats, as far as we hold what they count. A later head
 * never overtakes an earlier one: nothing at or after that beat can be judged without it.
 */
export function judgeWaiting(
  state: LogsState,
  reader: LogState,
  target: string,
  coverage: Coverage,
): boolean {
  const held = state.get(target);
  let changed = false;
  for (;;) {
    const first = coverage.waiting[coverage.next];
    if (first === undefined || first.head.lines > (held?.lines ?? 0)) break;
    coverage.next += 1;
    changed = true;
    if (first.head.lines > covered(coverage)) judgeHead(reader, target, coverage, first, held);
    takeRead(coverage, first);
  }
  if (coverage.next === coverage.waiting.length || coverage.next >= JUDGED_BEFORE_SPLICE) {
    coverage.waiting.splice(0, coverage.next);
    coverage.next = 0;
  }
  return changed;
}

type Waiting = Coverage["waiting"][number];

function judgeHead(
  reader: LogState,
  target: string,
  coverage: Coverage,
  { beat, head }: Waiting,
  held: LogState | undefined,
): void {
  const lines = isInPlace(held, head)
    ? head.lines
    : (believedUpTo(held, coverage, { beat, head }) ?? 0);
  if (lines > covered(coverage)) {
    coverage.steps.push({ beat, lines });
    if (beat === reader.firstBeat) coverage.fromStart = lines;
    if (beat === reader.backBeat) coverage.fromBack = lines;
  } else if (!isAfter(beat) && contradicts(held, head)) {
    reader.mismatches.push({ beat, target, lines: head.lines });
    if (reader.mismatches.length > MAX_HEAD_MISMATCHES) reader.mismatches.shift();
  }
}

/** Spec 3.2: the largest `read_lines` so far counts, and never more than what is covered. */
function takeRead(coverage: Coverage, { beat, head }: Waiting): void {
  const lines = Math.min(head.readLines, covered(coverage));
  if (lines > readSoFar(coverage)) coverage.reads.push({ beat, lines });
}

/** The line of `target` up to which a reader's beat counts what we do not hold; else `undefined`. */
export function awaitedLine(reader: LogState | undefined, target: string): number | undefined {
  const coverage = reader?.covers.get(target);
  return coverage?.waiting[coverage.next]?.head.lines;
}

/** Spec 3.4: a head that names an event id which is not at that place covers nothing. */
function isInPlace(held: LogState | undefined, head: ClaimedHead): boolean {
  const mark = held === undefined ? undefined : markUpTo(held.marks, head.lines);
  if (mark === undefined) return head.eventId === undefined && head.seq === undefined;
  return head.eventId === mark.id && (head.seq === undefined || head.seq === mark.seq);
}

/**
 * A reader may have refused a torn line that its author restores later; the line is then in the
 * chain. A head over it still covers what it names, if the author of the head has refused all
 * chained lines after that. Otherwise a decision would lose the beat that made it. See
 * docs/decisions/009.
 */
function believedUpTo(
  held: LogState | undefined,
  { refused }: Coverage,
  { beat, head }: Waiting,
): number | undefined {
  const { ids, seqs, lines } = held?.marks ?? noMarks();
  const places = head.eventId === undefined ? [] : ids.placesOf(head.eventId);
  const at = places.findLast((place) => seqs[place] === head.seq);
  const named = at === undefined ? undefined : lines[at];
  if (at === undefined || named === undefined || named > head.lines) return undefined;
  const later = lines.slice(at + 1).filter((line) => line <= head.lines);
  return later.every((line) => (beatNaming(refused, line) ?? Infinity) <= beat) ? named : undefined;
}

/**
 * Whether a head says something untrue. One that names no event, or an older one, covers nothing
 * but may be honest: its author had no pin for the lines after that. A mark that was pruned cannot
 * be held against anyone.
 */
function contradicts(held: LogState | undefined, head: ClaimedHead): boolean {
  if (head.eventId === undefined) return false;
  const marks = held?.marks ?? noMarks();
  const named = markOf(marks, head.eventId);
  if (named === undefined)
    return head.seq === undefined || head.seq >= (markAt(marks, 0)?.seq ?? 0);
  return named.line > head.lines || (head.seq !== undefined && head.seq !== named.seq);
}

/**
 * Exact: a head at or below what every reader has covered can only fall back, and falling back
 * covers nothing new, so the marks below are never needed again. Past MAX_MARKS (a reader that
 * never reads) the oldest go too, and heads over them cover nothing.
 */
export function pruneMarks(state: LogsState, layout: Layout, name: string): void {
  const log = state.get(name);
  if (log === undefined) return;
  let base = Infinity;
  for (const reader of coveringLogs(layout, name)) {
    const coverage = state.get(reader.name)?.covers.get(name);
    base = Math.min(base, coverage === undefined ? 0 : covered(coverage));
  }
  const { marks } = log;
  dropMarks(marks, Math.max(placeUpTo(marks, base), marks.lines.length - MAX_MARKS));
}

/** The logs whose beats may cover that log. */
export function coveringLogs(layout: Layout, name: string): Log[] {
  const log = layout.logs.get(name);
  if (log === undefined) return [];
  return layout.roster.flatMap((handle) => answerLog(layout, log, handle) ?? []);
}

/**
 * Bounded memory: drops the beats of a log below `keepFrom`, the lowest line that an open
 * proposal still asks about, but never the newest, nor one whose heads still wait. Returns the
 * line below which they are forgotten.
 */
export function pruneBeats(state: LogsState, name: string, keepFrom: number): number {
  const log = state.get(name);
  if (log === undefined) return 0;
  let lowest = Math.min(keepFrom, log.beats[log.beats.length - BEATS_KEPT]?.line ?? 0);
  for (const coverage of log.covers.values()) {
    lowest = Math.min(lowest, coverage.waiting[coverage.next]?.beat ?? Infinity);
  }
  log.beats = log.beats.slice(lastAtOrBelow(log.beats, lowest - 1, (beat) => beat.line) + 1);
  for (const coverage of log.covers.values()) {
    coverage.steps = stepsFrom(coverage.steps, lowest);
    coverage.reads = stepsFrom(coverage.reads, lowest);
  }
  return lowest;
}

/** What a beat at or after that line may still ask for. */
function stepsFrom(steps: Coverage["steps"], beat: number): Coverage["steps"] {
  return steps.slice(
    Math.max(
      lastAtOrBelow(steps, beat, (step) => step.beat),
      0,
    ),
  );
}

/** Whether it is time to prune: seldom enough to cost nothing. */
export function wantsPruning(state: LogsState, name: string): boolean {
  const beats = state.get(name)?.beats.length ?? 0;
  return beats > 2 * BEATS_KEPT && beats % BEATS_KEPT === 0;
}
