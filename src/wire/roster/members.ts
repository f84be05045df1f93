/** A line of a log, by its place. */
export interface LogPlace {
  /** 1-based count of whole lines, archives included; 0: before the first one. */
  readonly lines: number;
  /** Undefined in a log that was never chained. */
  readonly seq: number | undefined;
  readonly eventId: string | undefined;
}

/** From where on an agent is a member again. */
export interface Return {
  readonly atMs: number;
  /** Its first lines after the return, by log. */
  readonly logs: ReadonlyMap<string, LogPlace>;
}

/** A time during which a handle of the roster is no member. Spec 1.1. */
export interface Absence {
  /** Undefined: it was none before. */
  readonly atMs: number | undefined;
  /** Its last lines before it left, by log; a log that is not named had none. */
  readonly logs: ReadonlyMap<string, LogPlace>;
  /** Undefined while it is away. */
  readonly back: Return | undefined;
}

/** Who left, and when, in the order of time. Spec 1.1, `left`. */
export type Absences = ReadonlyMap<string, readonly Absence[]>;

export const NOBODY_LEFT: Absences = new Map();

/** Whether a handle is away now. */
export function isAway(left: Absences, handle: string): boolean {
  const last = left.get(handle)?.at(-1);
  return last !== undefined && last.back === undefined;
}

/** The roster without those that are away, in its order. */
export function membersOf(roster: readonly string[], left: Absences): readonly string[] {
  return left.size === 0 ? roster : roster.filter((handle) => !isAway(left, handle));
}

/** Since when a handle is a member, in ms; -Infinity: from the beginning. Not asked of one that is away. */
export function memberSinceMs(left: Absences, handle: string): number {
  return left.get(handle)?.at(-1)?.back?.atMs ?? -Infinity;
}

/** Whether a handle was a member at that time, in ms. */
export function wasMember(left: Absences, handle: string, ms: number): boolean {
  const absences = left.get(handle) ?? [];
  return absences.every(
    ({ atMs = -Infinity, back }) => ms < atMs || (back !== undefined && ms >= back.atMs),
  );
}

/** Whether a handle had been a member at some time before it left. */
export function hasEverLeft(left: Absences, handle: string): boolean {
  return left.get(handle)?.some(({ atMs }) => atMs !== undefined) === true;
}

/** Where a line is. `seq`: of a chained one. */
export interface LinePlace {
  readonly line: number;
  readonly seq: number | undefined;
}

/**
 * Whether a line of that agent comes after its last line before it left, and before its first one after
 * its return. A chained line goes by the chain, another one by its place. Spec 1.1, `left_member`.
 */
export function isAfterLast(left: Absences, owner: string, log: string, at: LinePlace): boolean {
  return absenceAt(left, owner, log, at) !== undefined;
}

/** The absence in which that line was written. */
function absenceAt(left: Absences, owner: string, log: string, at: LinePlace): Absence | undefined {
  return left.get(owner)?.find(({ atMs, logs, back }) => {
    if (atMs === undefined || !isPast(at, logs.get(log))) return false;
    if (back === undefined) return true;
    const first = back.logs.get(log);
    return first !== undefined && isBefore(at, first);
  });
}

function isPast({ line, seq }: LinePlace, last: LogPlace | undefined): boolean {
  return seq === undefined ? line > (last?.lines ?? 0) : seq > (last?.seq ?? 0);
}

function isBefore({ line, seq }: LinePlace, first: LogPlace): boolean {
  return seq === undefined || first.seq === undefined ? line < first.lines : seq < first.seq;
}

/** The absence behind which a chained line is the first one; undefined where it follows on none. */
export function absenceBefore(
  left: Absences,
  owner: string,
  log: string,
  seq: number,
): Absence | undefined {
  return left.get(owner)?.find(({ back }) => back?.logs.get(log)?.seq === seq);
}

/** The line of that log with which its author's present membership begins; 1 where nothing says so. */
export function firstLineNow(left: Absences, owner: string, log: string): number {
  return left.get(owner)?.at(-1)?.back?.logs.get(log)?.lines ?? 1;
}
