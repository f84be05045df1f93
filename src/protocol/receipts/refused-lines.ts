import { isAuthentic, REFUSAL_REASONS, type RefusalReason } from "../../admission/checks.ts";
import type { LineRange } from "../logs/line-ranges.ts";

/** At most so many ranges of refused lines are named per log and beat. Spec 3.2. */
export const MAX_NAMED_REFUSALS = 32;

/** What a beat says of refused lines: a reason of 2.4, or one of two words for several. Spec 3.2. */
export type NamedReason = string;

/** Bytes that prove nothing about anyone. */
const FOREIGN = "foreign";
/** Lines that were refused for different reasons. */
const MIXED = "mixed";
const REASONS: ReadonlySet<unknown> = new Set([...REFUSAL_REASONS, "closed_log", FOREIGN]);

/** The reason as a beat names it. */
export function namedReason(reason: RefusalReason): NamedReason {
  return isAuthentic(reason) ? reason : FOREIGN;
}

/** The reason that a peer's beat names; `mixed` when it is none that we know. */
export function readReason(value: unknown): NamedReason {
  return REASONS.has(value) ? (value as string) : MIXED;
}

interface RefusedRange extends LineRange {
  readonly reason: NamedReason;
  /** A line that was taken in is, or may be, between it and the range before it. */
  readonly isApart: boolean;
}

/**
 * Lines of one log that were refused and that no beat has named yet. Ranges rise; a range may hold
 * blank lines and copies, but never a line that was taken in: what a beat names counts for nothing.
 */
export interface RefusedLines {
  ranges: readonly RefusedRange[];
  /** The last line that was taken in. */
  lastTaken: number;
  /**
   * The log was read again from its beginning: what we had from it is a copy to us, and the line itself to
   * those who read the file for the first time.
   */
  isReset?: true;
}

export function noRefusedLines(): RefusedLines {
  return { ranges: [], lastTaken: 0 };
}

/** A line of its author's was taken in. */
export function noteTaken(lines: RefusedLines, line: number): void {
  lines.lastTaken = Math.max(lines.lastTaken, line);
}

/** A line was passed over that the log has shown before. */
export function noteCopy(lines: RefusedLines, line: number): void {
  if (lines.isReset === true) noteTaken(lines, line);
}

/** Lines were refused: neighbours of one reason are one range. */
export function noteRefused(lines: RefusedLines, range: LineRange, reason: NamedReason): void {
  const { ranges, lastTaken } = lines;
  const before = ranges.at(-1);
  // What is told a second time is in already.
  const first = Math.max(range.first, (before?.last ?? 0) + 1);
  if (first > range.last) return;
  const isApart = before === undefined || lastTaken > before.last;
  if (!isApart && before.reason === reason) {
    lines.ranges = [...ranges.slice(0, -1), { ...before, last: range.last }];
    return;
  }
  lines.ranges = joined([...ranges, { first, last: range.last, reason, isApart }]);
}

/** Whether a refusal more might not be named by the next beat. */
export function isFull({ ranges }: RefusedLines): boolean {
  return ranges.length >= MAX_NAMED_REFUSALS && joinable(ranges) < 0;
}

/** What was read after that line is read again. */
export function forgetAfter(lines: RefusedLines, line: number): void {
  lines.ranges = lines.ranges.flatMap((range) =>
    range.first > line ? [] : [{ ...range, last: Math.min(range.last, line) }],
  );
  lines.lastTaken = Math.min(lines.lastTaken, line);
}

/** A beat has named the refusals up to that line. */
export function forgetUpTo(lines: RefusedLines, line: number): void {
  lines.ranges = lines.ranges.flatMap((range) =>
    range.last <= line ? [] : [{ ...range, first: Math.max(range.first, line + 1) }],
  );
}

/** Ranges of different reasons are joined only when they are too many, the lowest ones first. */
function joined(ranges: readonly RefusedRange[]): readonly RefusedRange[] {
  if (ranges.length <= MAX_NAMED_REFUSALS) return ranges;
  const at = joinable(ranges);
  const [a, b] = [ranges[at - 1], ranges[at]];
  if (a === undefined || b === undefined) return ranges;
  const reason = a.reason === b.reason ? a.reason : MIXED;
  return [...ranges.slice(0, at - 1), { ...a, last: b.last, reason }, ...ranges.slice(at + 1)];
}

/** The first range that nothing separates from the one before it; -1 when there is none. */
function joinable(ranges: readonly RefusedRange[]): number {
  return ranges.findIndex(({ isApart }, at) => at > 0 && !isApart);
}
