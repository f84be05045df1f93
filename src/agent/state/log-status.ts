import type { WaitReason } from "../../api/holds.ts";
import type { StorageError } from "../../storage/disk/disk.ts";
import type { Cursor } from "../../storage/files/tail.ts";
import { HOUR_MS, MINUTE_MS } from "../../wire/durations.ts";

/**
 * Why a log moves or does not: one state for each log, of peers and of our own. It is in memory
 * alone; what has to survive a restart (a hold, spec 1.6, and a line dated ahead, spec 2.4) is in
 * `LogAdmission`. Times are ms of the monotonic clock; before `dueMs` the log is not read.
 *
 * - `reading`: nothing stops us. `isAll`: everything in the file is taken in.
 * - `waiting`: the next line is there and stays unread, by a limit of ours or for the operator.
 * - `torn`: the next line is what a power cut left of one; its author has to restore it.
 * - `behind`: the file lacks lines that we know, or shows them in another order. Spec 1.6.
 * - `obstructed`: no plain file in its place. `before`: what it was in before.
 * - `damaged`: our own log was changed by another program; nothing is written to any of ours.
 */
export type LogStatus =
  | { readonly kind: "reading"; readonly isAll: boolean; readonly dueMs: number }
  | {
      readonly kind: "waiting";
      readonly why: Limit;
      readonly detail: string;
      readonly sinceMs: number;
      readonly dueMs: number;
    }
  | Torn
  | Behind
  | {
      readonly kind: "obstructed";
      /** Of a log of ours: why nothing is written to it. */
      readonly problem: StorageError | undefined;
      readonly before: Torn | Behind | undefined;
      readonly sinceMs: number;
      readonly dueMs: number;
    }
  | { readonly kind: "damaged"; readonly problem: StorageError; readonly dueMs: number };

/** What makes the next line wait that is there and whole. */
export type Limit = Extract<
  WaitReason,
  "late" | "ahead" | "comparison" | "rate" | "storage" | "closing"
>;
/** What makes a log wait for its file to change. */
export type Disorder = Extract<WaitReason, "behind" | "reordered" | "order">;

export interface Torn {
  readonly kind: "torn";
  /** The offset of the torn line. */
  readonly at: number;
  readonly sinceMs: number;
  readonly dueMs: number;
  /** What the file looked like when it was last read (`lookOf`), and when that was. */
  readonly look: string;
  readonly lookedMs: number;
  /** Up to here the log has been searched for what follows the torn line. */
  readonly searched: Cursor | undefined;
}

export interface Behind {
  readonly kind: "behind";
  readonly why: Disorder;
  readonly detail: string;
  readonly sinceMs: number;
  readonly dueMs: number;
  /** While the file looks so it is not looked through again. */
  readonly look: string;
}

/** What was seen of a log, or decided about it. `forMs`: for so long it is left alone. */
export type Observation =
  /** Lines were taken in, or there are none, and nothing stopped the reading. */
  | { readonly saw: "lines"; readonly isAll: boolean }
  /** Reading stopped before a line although nothing is wrong with the log itself. */
  | { readonly saw: "stop"; readonly forMs: number }
  | {
      readonly saw: "limit";
      readonly why: Limit;
      readonly detail: string;
      readonly forMs: number;
      /** For so long the line has waited already, before this process began. */
      readonly waitedMs: number;
    }
  | {
      readonly saw: "tear";
      readonly at: number;
      /** "" when we do not know how the file looked when it was read. */
      readonly look: string;
      readonly forMs: number;
      /** Where the lines end that were read with the tear; `isMore`: more follows them. */
      readonly rest: Cursor | undefined;
      readonly isMore: boolean;
    }
  /** The search for what follows a tear has come so far, or is over. */
  | { readonly saw: "searched"; readonly upTo: Cursor }
  | { readonly saw: "search over"; readonly isFound: boolean }
  /** The file looks as it did when it was found torn or out of order. */
  | { readonly saw: "no change"; readonly forMs: number }
  | {
      readonly saw: "disorder";
      readonly why: Disorder;
      readonly detail: string;
      readonly look: string;
      readonly forMs: number;
    }
  /** A comparison has found all that we know, in order. */
  | { readonly saw: "order"; readonly forMs: number }
  | { readonly saw: "obstruction"; readonly problem?: StorageError; readonly forMs: number }
  | { readonly saw: "damage"; readonly problem: StorageError; readonly forMs: number }
  /** A line over the limit goes on; its end is searched for meanwhile. */
  | { readonly saw: "long line"; readonly forMs: number }
  /** The operator has decided that the log is taken in again. `isFromBeginning`: from its beginning. */
  | { readonly saw: "decision"; readonly isFromBeginning: boolean };

/** A log of which nothing has been read. */
export const UNREAD: LogStatus = { kind: "reading", isAll: false, dueMs: 0 };

/** How long an author has to restore its log, before what waits for it goes on. */
const WAIT_FOR_AUTHOR_MS = HOUR_MS;
/** Spec 1.6: the operator is told when lines have been missing, or out of order, for so long. */
const TOLD_AFTER_MS = 10 * MINUTE_MS;
/** For so long a log may be torn, or out of its place, before that is shown. */
const SHOWN_AFTER_MS = 10_000;
/** An unchanged file is read again after so long: its times are only as exact as its host's clock. */
const READ_AGAIN_MS = MINUTE_MS;

/** The status of a log after an observation. Pure; called by `observe` alone. */
function next(status: LogStatus, seen: Observation, nowMs: number): LogStatus {
  const dueMs = nowMs + ("forMs" in seen ? seen.forMs : 0);
  switch (seen.saw) {
    case "lines":
      return { kind: "reading", isAll: seen.isAll, dueMs: 0 };
    case "stop":
    case "order":
      return { kind: "reading", isAll: false, dueMs: seen.forMs === 0 ? 0 : dueMs };
    case "limit": {
      const { why, detail, waitedMs } = seen;
      const isSame = status.kind === "waiting" && status.why === why;
      const sinceMs = isSame ? status.sinceMs : nowMs - waitedMs;
      return { kind: "waiting", why, detail, sinceMs, dueMs };
    }
    case "tear":
      return torn(underlying(status), seen, nowMs);
    case "searched":
      return status.kind === "torn" ? { ...status, searched: seen.upTo } : status;
    case "search over": {
      if (status.kind !== "torn") return status;
      // It is read again, whatever it looks like; at once when there is something to be read.
      const rest = { ...status, look: "", searched: undefined };
      return seen.isFound ? { ...rest, dueMs: 0 } : rest;
    }
    case "no change":
    case "long line":
      return { ...status, dueMs };
    case "disorder": {
      const { why, detail, look } = seen;
      const before = underlying(status);
      const sinceMs = before?.kind === "behind" ? before.sinceMs : nowMs;
      return { kind: "behind", why, detail, look, sinceMs, dueMs };
    }
    case "obstruction":
      // Until it is read again it may be damaged still, and that closes our other logs too.
      if (status.kind === "damaged") return { ...status, dueMs };
      return {
        kind: "obstructed",
        problem: seen.problem,
        before: underlying(status),
        sinceMs: status.kind === "obstructed" ? status.sinceMs : nowMs,
        dueMs,
      };
    case "damage":
      return { kind: "damaged", problem: seen.problem, dueMs };
    case "decision":
      return decided(status, seen.isFromBeginning);
  }
}

/** The operator's decision removes neither an obstruction nor a tear. */
function decided(status: LogStatus, isFromBeginning: boolean): LogStatus {
  if (status.kind === "damaged") return { ...status, dueMs: 0 };
  if (status.kind === "obstructed") return { ...status, before: undefined, dueMs: 0 };
  return status.kind === "torn" && !isFromBeginning ? { ...status, look: "", dueMs: 0 } : UNREAD;
}

function torn(
  before: Torn | Behind | undefined,
  { at, look, forMs, rest, isMore }: Observation & { saw: "tear" },
  nowMs: number,
): Torn {
  const known = before?.kind === "torn" && before.at === at ? before : undefined;
  // What follows is searched for in what was not read with it, and at once.
  const isBegun = known?.searched === undefined && rest !== undefined && isMore;
  return {
    kind: "torn",
    at,
    sinceMs: known?.sinceMs ?? nowMs,
    dueMs: isBegun ? 0 : nowMs + forMs,
    look: look === "" ? (known?.look ?? "") : look,
    lookedMs: look === "" ? (known?.lookedMs ?? nowMs) : nowMs,
    searched: known?.searched ?? rest,
  };
}

/** What a log is in when no obstruction is in its place. */
function underlying(status: LogStatus): Torn | Behind | undefined {
  if (status.kind === "obstructed") return status.before;
  return status.kind === "torn" || status.kind === "behind" ? status : undefined;
}

/** The only place where a log's status changes. */
export function observe(log: { status: LogStatus }, seen: Observation, nowMs: number): LogStatus {
  log.status = next(log.status, seen, nowMs);
  return log.status;
}

/** Whether all that is in the file is taken in. */
export function isCaughtUp(status: LogStatus): boolean {
  return status.kind === "reading" && status.isAll;
}

/**
 * Whether the unread part of the log may stay unread for long: a limit of ours holds it back, or
 * the operator has to decide, or its author has not restored it, or cleared its place, within an hour.
 */
export function isHeldBack(status: LogStatus, nowMs: number): boolean {
  if (status.kind === "waiting") return true;
  if (status.kind === "reading" || status.kind === "damaged") return false;
  return nowMs - status.sinceMs >= WAIT_FOR_AUTHOR_MS;
}

/** Whether the operator has to know of it, and may end it: programs that copy files need seconds. */
export function isLong(status: LogStatus, nowMs: number): status is Behind {
  return status.kind === "behind" && nowMs - status.sinceMs >= TOLD_AFTER_MS;
}

/**
 * Why the log does not move, for the operator to see. A tear and an obstruction that pass within
 * seconds are not shown: a program that copies files leaves both.
 */
export function shownWait(
  status: LogStatus,
  nowMs: number,
): { readonly why: WaitReason; readonly detail: string; readonly sinceMs: number } | undefined {
  if (status.kind === "waiting") return status;
  const before = underlying(status);
  if (before?.kind === "behind") return before;
  const isShown = (sinceMs: number): boolean => nowMs - sinceMs >= SHOWN_AFTER_MS;
  if (status.kind === "obstructed" && isShown(status.sinceMs)) {
    const detail = status.problem?.message ?? "no plain file that we may read is in its place";
    return { why: "obstructed", detail, sinceMs: status.sinceMs };
  }
  if (before === undefined || !isShown(before.sinceMs)) return undefined;
  const { at, sinceMs } = before;
  return { why: "hole", detail: `its line at byte ${at} is torn: it holds zero bytes`, sinceMs };
}

/** Whether a file looks as it did when it was found torn: to read it again shows nothing new. */
export function isStillTorn(status: LogStatus, look: string, nowMs: number): boolean {
  if (status.kind !== "torn" || look === "" || status.look !== look) return false;
  return nowMs - status.lookedMs < READ_AGAIN_MS;
}
