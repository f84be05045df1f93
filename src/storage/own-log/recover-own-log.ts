import type { ChainHead } from "../../wire/chain.ts";
import {
  isObstruction,
  openIfThere,
  StorageError,
  type Disk,
  type DiskFile,
  LOCK_WAIT_MS,
} from "../disk/disk.ts";
import type { OwnHead } from "./heads.ts";
import { endsLine, wholeLines } from "../disk/line-splitter.ts";
import type { OwnLineCheck } from "./own-log-pieces.ts";
import { appendOwnLines } from "./own-log-append.ts";
import { scanOwnLog, type OwnLogScan } from "./own-log-scan.ts";
import type { OwnLine } from "./pending.ts";
import type { Quarantine } from "../files/quarantine.ts";
import { openSegment } from "../files/segments.ts";
import { prefixHash } from "../files/tail.ts";
import { writeAnew } from "../disk/rewrite.ts";

/** One of our own logs, as the wire's layout names it. */
export interface OwnLog {
  readonly name: string;
  /** Absolute. */
  readonly path: string;
  /** Of the file, when it has to be made. */
  readonly mode: number;
  /** Its archived segments, oldest first. */
  readonly segments: readonly string[];
}

/** What recovery found and did in one log. */
export interface OwnLogRepair {
  readonly cut: { readonly offset: number; readonly bytes: number } | undefined;
  readonly restored: readonly OwnLine[];
  /** Damage that pending cannot restore: nothing was changed, nothing may be written. */
  readonly damaged: { readonly offset: number; readonly detail: string } | undefined;
  /** Something else is in its place, or we may not read it: nothing was read or written. */
  readonly obstructed: StorageError | undefined;
  /** Lines with our signature that nothing of ours remembers (spec 1.6): nothing was changed. */
  readonly unknown: readonly ChainHead[];
  /** The last line of our chain, the pending ones included. */
  readonly head: ChainHead | undefined;
  readonly file: DiskFile | undefined;
}

export interface RecoveryContext {
  readonly disk: Disk;
  readonly quarantine: Quarantine;
  readonly check: OwnLineCheck;
  /** Makes lines of others durable in pending before they are cut with our damage. */
  readonly carry: (lines: readonly OwnLine[]) => void;
  /** ISO-8601 time for quarantine entries. */
  readonly at: string;
}

const COPIED_BYTES = 4 * 1024;
/** Of the cut bytes, how many are kept as evidence; pending has the lines themselves. */
const MAX_CUT_BYTES_KEPT = 256 * 1024;
const NO_REPAIR = {
  cut: undefined,
  restored: [],
  damaged: undefined,
  obstructed: undefined,
  unknown: [],
} as const;

/**
 * Brings one own log to the state that pending promises; the caller syncs it. `owed`: the pending
 * lines of this log after `record`, the part known to be durable. Spec 4.1, "At start".
 */
export function recoverOwnLog(
  log: OwnLog,
  record: OwnHead | undefined,
  owed: readonly OwnLine[],
  context: RecoveryContext,
): OwnLogRepair {
  const head = promisedHead(owed, record);
  try {
    return recoverWhatStands(log, record, owed, context);
  } catch (error) {
    // Whoever can write in the folder can put a link there: that must not stop our other logs.
    if (!isObstruction(error)) throw error;
    return { ...NO_REPAIR, obstructed: error, head, file: undefined };
  }
}

function recoverWhatStands(
  log: OwnLog,
  record: OwnHead | undefined,
  owed: readonly OwnLine[],
  context: RecoveryContext,
): OwnLogRepair {
  const { disk } = context;
  const head = promisedHead(owed, record);
  const from = durableEnd(disk, log, record);
  if (typeof from === "string") return stopped(head, record?.end ?? 0, from);
  const first = owed.find((own) => own.foreign !== true);
  if (record !== undefined && first !== undefined && first.seq !== record.seq + 1) {
    const detail = `pending lines begin at seq ${first.seq}, the log is known up to ${record.seq}`;
    return stopped(head, from, detail);
  }
  const file = disk.open(log.path, "append", log.mode);
  try {
    const scan = scanOwnLog(file, from, owed, context.check);
    const unknown = scan.unexpected.filter((own) => own.seq > lastKnown(record, first, own));
    if (unknown.length > 0) {
      // Writing on would fork our own chain.
      file.close();
      return { ...NO_REPAIR, unknown, head, file: undefined };
    }
    if (scan.unrestorable !== undefined) {
      file.close();
      return stopped(
        head,
        scan.unrestorable,
        "a damaged line of ours has too much of others after it",
      );
    }
    const repair = repairEnd(log, file, from, scan, context);
    return { ...NO_REPAIR, ...repair, head: head ?? adopted(log, scan, context), file };
  } catch (error) {
    file.close();
    throw error;
  }
}

function stopped(head: ChainHead | undefined, offset: number, detail: string): OwnLogRepair {
  return { ...NO_REPAIR, damaged: { offset, detail }, head, file: undefined };
}

/** Without any record the log itself is all that is known of our history, up to the pending lines. */
function lastKnown(
  record: OwnHead | undefined,
  first: OwnLine | undefined,
  own: ChainHead,
): number {
  return record?.seq ?? (first === undefined ? own.seq : first.seq - 1);
}

/** First start on a log that has history, or heads.json was lost: the last line of our chain. */
function adopted(log: OwnLog, scan: OwnLogScan, context: RecoveryContext): ChainHead | undefined {
  const inLive = scan.unexpected.at(-1);
  if (inLive !== undefined) return inLive;
  for (const path of log.segments.toReversed()) {
    const segment = openSegment(context.disk, path);
    let last: ChainHead | undefined;
    for (const { bytes } of wholeLines(segment, 0, segment.stat().size)) {
      last = (bytes === undefined ? undefined : context.check(bytes)) ?? last;
    }
    segment.close();
    if (last !== undefined) return last;
  }
  return undefined;
}

/** The offset from which the live file has to be looked at, or why it is not the file that we wrote. */
function durableEnd(disk: Disk, log: OwnLog, record: OwnHead | undefined): number | string {
  if (record === undefined || record.end === 0) return 0;
  const problem = prefixProblem(openIfThere(disk, log.path), record);
  if (problem === undefined) return record.end;
  // Archived, and the note of it was lost in a crash: the live file began again.
  const archived = log.segments.some((path) => {
    return prefixProblem(openSegment(disk, path), record) === undefined;
  });
  return archived ? 0 : problem;
}

function prefixProblem(file: DiskFile | undefined, record: OwnHead): string | undefined {
  if (file === undefined) return "the log is missing";
  try {
    const { size } = file.stat();
    if (size < record.end) {
      return `the log has ${size} bytes; ${record.end} were known to be durable`;
    }
    if (prefixHash(file, record.end) === record.prefixHash) return undefined;
    return `the bytes before offset ${record.end} are not those that were synced`;
  } finally {
    file.close();
  }
}

function repairEnd(
  log: OwnLog,
  file: DiskFile,
  from: number,
  { cutAt, places, missing }: OwnLogScan,
  context: RecoveryContext,
): Pick<OwnLogRepair, "cut" | "restored"> {
  const cut = cutAt === undefined ? undefined : cutFrom(log, file, cutAt, missing, context);
  if (places.length > 0) writeAnew(file, from, file.stat().size);
  if (missing.length > 0) appendOwnLines(context.disk, file, missing, file.stat().size);
  return { cut, restored: missing.filter((own) => own.foreign !== true) };
}

function promisedHead(
  owed: readonly OwnLine[],
  record: OwnHead | undefined,
): ChainHead | undefined {
  return headOf(owed.findLast((own) => own.foreign !== true) ?? record);
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
  // Another program may append as the same agent (spec 1.6): the Python reference locks the file.
  const held = context.disk.open(log.path, "append", log.mode);
  try {
    if (!held.lock(LOCK_WAIT_MS) || held.stat().size !== size) {
      throw new StorageError("locked", log.path, "another program writes to our own log", {
        hint: "stop it, then start deaddrop again: the log has a torn end that must be repaired first",
      });
    }
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

/** Syncs a log and says up to where that made it durable; the record from before if nothing is new. */
export function durableHead(file: DiskFile, head: ChainHead, before: OwnHead | undefined): OwnHead {
  // Measured before the sync: what another program appends meanwhile is not covered by it.
  const { size } = file.stat();
  const { seq, id } = head;
  if (before !== undefined && before.end === size && before.id === id) return before;
  file.datasync();
  const end = endsLine(file, size) ? size : Math.min(before?.end ?? 0, size);
  return { seq, id, end, prefixHash: prefixHash(file, end) };
}

/** Only the place in the chain. */
export function headOf(line: ChainHead | undefined): ChainHead | undefined {
  return line === undefined ? undefined : { seq: line.seq, id: line.id };
}
