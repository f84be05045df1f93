import { StorageError, type Disk, type DiskFile, LOCK_WAIT_MS } from "../disk/disk.ts";
import { joinLines } from "../disk/line-splitter.ts";
import type { OwnLineCheck } from "./own-log-pieces.ts";
import { appendOwnLines } from "./own-log-append.ts";
import type { OwnLogScan } from "./own-log-scan.ts";
import type { OwnLine } from "./pending.ts";
import type { OwnCopy } from "./own-copy.ts";
import type { Quarantine } from "../files/quarantine.ts";
import { writeAgain } from "../disk/rewrite.ts";

/** One of our own logs, as the wire's layout names it. */
export interface OwnLog {
  readonly name: string;
  /** Absolute. */
  readonly path: string;
  /** Of the file, when it has to be made. */
  readonly mode: number;
}

export interface RecoveryContext {
  readonly disk: Disk;
  readonly quarantine: Quarantine;
  readonly check: OwnLineCheck;
  /** Our private copy of the log. */
  readonly copy: OwnCopy;
  /** It lacks lines of ours, somebody has seen: what heads.json says of its bytes proves nothing. */
  readonly isDoubted: boolean;
  /** Makes lines of others durable in pending before they are cut with our damage. */
  readonly carry: (lines: readonly OwnLine[]) => void;
  /** ISO-8601 time for quarantine entries. */
  readonly at: string;
}

/** What a repair did. */
export interface EndRepair {
  readonly cut: { readonly offset: number; readonly bytes: number } | undefined;
  readonly restored: readonly OwnLine[];
}

const COPIED_BYTES = 4 * 1024;
/** Of the cut bytes, how many are kept as evidence; pending has the lines themselves. */
const MAX_CUT_BYTES_KEPT = 256 * 1024;
/** Gives a log what it lacks of the lines that are owed to it, from an offset on. Spec 4.1. */
export function repairEnd(
  log: OwnLog,
  file: DiskFile,
  from: number,
  { cutAt, places, missing }: OwnLogScan,
  context: RecoveryContext,
): EndRepair {
  const isOurBeginning = cutAt !== undefined && isTornBefore(file, cutAt, missing);
  if (isOurBeginning) {
    writeAgain(file, from, file.stat().size);
    goOn(log, file, cutAt, missing, context);
    return { cut: undefined, restored: missing };
  }
  const cut = cutAt === undefined ? undefined : cutFrom(log, file, cutAt, missing, context);
  if (places.length > 0) writeAgain(file, from, file.stat().size);
  if (missing.length > 0) appendOwnLines(context.disk, file, missing, file.stat().size);
  return { cut, restored: missing.filter((own) => own.foreign !== true) };
}

/** Whether the file ends with a beginning of these lines and nothing else: a write that went no further. */
function isTornBefore(file: DiskFile, at: number, missing: readonly OwnLine[]): boolean {
  if (missing.some((own) => own.foreign === true)) return false;
  const length = file.stat().size - at;
  const whole = joinLines(missing.map((own) => own.line));
  return length < whole.length && whole.subarray(0, length).equals(file.read(length, at));
}

/**
 * Appends the rest of what was begun. Nothing is cut: a disk that is full would be given the same
 * bytes again and again, and readers see a file that only grows.
 */
function goOn(
  log: OwnLog,
  file: DiskFile,
  at: number,
  missing: readonly OwnLine[],
  context: RecoveryContext,
): void {
  const { size } = file.stat();
  const rest = joinLines(missing.map((own) => own.line)).subarray(size - at);
  const held = lockedAt(log, size, context);
  try {
    held.append(rest);
  } finally {
    held.close();
  }
}

/** Another program may append as the same agent (spec 1.6): the Python reference locks the file. */
function lockedAt(log: OwnLog, size: number, { disk }: RecoveryContext): DiskFile {
  const held = disk.open(log.path, "append", log.mode);
  try {
    if (held.lock(LOCK_WAIT_MS) && held.stat().size === size) return held;
    throw new StorageError("locked", log.path, "another program writes to our own log", {
      hint: "its torn end is repaired as soon as that program has let go; lslocks shows which it is",
    });
  } catch (error) {
    held.close();
    throw error;
  }
}

function cutFrom(
  log: OwnLog,
  file: DiskFile,
  offset: number,
  missing: readonly OwnLine[],
  context: RecoveryContext,
): { offset: number; bytes: number } {
  const { size } = file.stat();
  const carried = missing.filter((own) => own.foreign === true);
  const held = lockedAt(log, size, context);
  try {
    keepEvidence(file, offset, size, context);
    if (carried.length > 0) context.carry(carried);
    file.truncate(offset);
  } finally {
    held.close();
  }
  return { offset, bytes: size - offset };
}

function keepEvidence(file: DiskFile, from: number, to: number, context: RecoveryContext): void {
  const entries = [];
  for (let at = from; at < to && at - from < MAX_CUT_BYTES_KEPT; at += COPIED_BYTES) {
    entries.push({
      at: context.at,
      file: file.path,
      offset: at,
      reason: "torn",
      detail: "cut from our own log and restored from pending.jsonl",
      line: file.read(Math.min(COPIED_BYTES, to - at), at),
    });
  }
  try {
    context.quarantine.add(entries);
    context.quarantine.sync();
  } catch (error) {
    // On a full disk the copy is given up, not the log: its lines are in pending.
    if (!(error instanceof StorageError)) throw error;
  }
}
