import type { ChainHead } from "../../wire/chain.ts";
import {
  isObstruction,
  openIfThere,
  StorageError,
  type Disk,
  type DiskFile,
} from "../disk/disk.ts";
import type { OwnHead } from "./heads.ts";
import { endsLine } from "../disk/line-splitter.ts";
import type { OwnCopy } from "./own-copy.ts";
import { restorable } from "./own-log-restore.ts";
import { repairEnd, type EndRepair, type OwnLog, type RecoveryContext } from "./own-log-repair.ts";
import { scanOwnLog } from "./own-log-scan.ts";
import type { OwnLine } from "./pending.ts";
import { prefixHash } from "../files/tail.ts";

/** What recovery found and did in one log. */
export interface OwnLogRepair extends EndRepair {
  /** Damage that pending cannot restore: nothing was changed, nothing may be written. */
  readonly damaged: { readonly offset: number; readonly detail: string } | undefined;
  /** Of the file itself: something else is in its place, or the disk fails. `isObstruction` tells. */
  readonly problem: StorageError | undefined;
  /** Lines with our signature that nothing of ours remembers (spec 1.6): nothing was changed. */
  readonly unknown: readonly ChainHead[];
  /** How many lines it had lost that our private copy has given back. */
  readonly again: number;
  /** The last line of our chain, the pending ones included. */
  readonly head: ChainHead | undefined;
  readonly file: DiskFile | undefined;
}

const NO_REPAIR = {
  cut: undefined,
  restored: [],
  damaged: undefined,
  problem: undefined,
  unknown: [],
  again: 0,
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
  try {
    return recoverReadable(log, record, owed, context);
  } catch (error) {
    // Anybody who can write in the folder can put a link there: that must not stop our other logs.
    // Nor does trouble with this file; that with pending or the quarantine is everybody's.
    const isOfFile = error instanceof StorageError && (isObstruction(error) || isOf(log, error));
    if (!isOfFile) throw error;
    return leftAlone(record, owed, context.copy, error);
  }
}

/** What is known of a log that is not looked at: its promised lines wait. */
export function leftAlone(
  record: OwnHead | undefined,
  owed: readonly OwnLine[],
  copy: OwnCopy,
  problem: StorageError,
): OwnLogRepair {
  return { ...NO_REPAIR, problem, head: lastKnown(record, owed, copy), file: undefined };
}

/** The last line of ours that anything private knows of: heads.json alone may be an older copy. */
function lastKnown(
  record: OwnHead | undefined,
  owed: readonly OwnLine[],
  copy: OwnCopy,
): ChainHead | undefined {
  const promised = promisedHead(owed, record);
  const copied = copy.last();
  return (copied?.seq ?? 0) > (promised?.seq ?? 0) ? copied : promised;
}

function isOf(log: OwnLog, { path }: StorageError): boolean {
  return path === log.path;
}

function recoverReadable(
  log: OwnLog,
  record: OwnHead | undefined,
  owed: readonly OwnLine[],
  context: RecoveryContext,
): OwnLogRepair {
  const whole = context.isDoubted ? fromCopy(log, record, owed, context) : undefined;
  if (whole !== undefined) return whole;
  const head = promisedHead(owed, record);
  const from = durableEnd(context.disk, log, record);
  let repair: OwnLogRepair | undefined;
  if (typeof from === "string") repair = stopped(head, record?.end ?? 0, from);
  else if (record !== undefined && (context.copy.last()?.seq ?? 0) <= record.seq) {
    repair = repairFrom(log, { from, owed, known: record.seq, head }, context);
    if (repair.file !== undefined) return repair;
  }
  // The file is not what we left, or we do not remember all: our own copy may know more.
  const restored = fromCopy(log, record, owed, context) ?? repair;
  if (restored !== undefined) return restored;
  if (context.copy.last() === undefined) return firstLook(log, owed, context);
  const known = lastKnown(record, owed, context.copy);
  // To go on after what the log holds now would be to sign the lines of the copy a second time.
  const detail = `it lacks lines of ours up to ${known?.seq ?? 0}, and our private copy has not all of them`;
  return stopped(known, record?.end ?? 0, detail);
}

function fromCopy(
  log: OwnLog,
  record: OwnHead | undefined,
  owed: readonly OwnLine[],
  context: RecoveryContext,
): OwnLogRepair | undefined {
  const kept = restorable(log, record, context.copy, context);
  if (kept === undefined) return undefined;
  const { from, rest, last } = kept;
  const later = owed.filter(({ seq }) => seq > last.seq);
  const known = (rest[0]?.seq ?? last.seq + 1) - 1;
  const all = [...rest, ...later];
  const head = headOf(later.findLast((own) => own.foreign !== true)) ?? last;
  const repair = repairFrom(log, { from, owed: all, known, head }, context);
  const again = repair.restored.filter(({ seq }) => seq <= last.seq).length;
  return { ...repair, again };
}

/** Without any record the log itself is all that is known of our history, up to the pending lines. */
function firstLook(log: OwnLog, owed: readonly OwnLine[], context: RecoveryContext): OwnLogRepair {
  const first = owed.find((own) => own.foreign !== true);
  const known = first === undefined ? Infinity : first.seq - 1;
  return repairFrom(log, { from: 0, owed, known, head: promisedHead(owed, undefined) }, context);
}

/** From where a log is looked at, what it has to hold from there on, and which lines come before. */
interface Owed {
  readonly from: number;
  readonly owed: readonly OwnLine[];
  /** The last line of ours before them; one beyond it that is not among them is not ours. */
  readonly known: number;
  readonly head: ChainHead | undefined;
}

function repairFrom(
  log: OwnLog,
  { from, owed, known, head }: Owed,
  context: RecoveryContext,
): OwnLogRepair {
  const first = owed.find((own) => own.foreign !== true);
  if (first !== undefined && known !== Infinity && first.seq !== known + 1) {
    const detail = `pending lines begin at seq ${first.seq}, the log is known up to ${known}`;
    return stopped(head, from, detail);
  }
  const file = context.disk.open(log.path, "append", log.mode);
  try {
    const scan = scanOwnLog(file, from, owed, context.check);
    const unknown = scan.unexpected.filter((own) => own.seq > known);
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
    return { ...NO_REPAIR, ...repair, head: head ?? scan.unexpected.at(-1), file };
  } catch (error) {
    file.close();
    throw error;
  }
}

function stopped(head: ChainHead | undefined, offset: number, detail: string): OwnLogRepair {
  return { ...NO_REPAIR, damaged: { offset, detail }, head, file: undefined };
}

/** The offset from which the log has to be looked at, or why it is not the file that we wrote. */
function durableEnd(disk: Disk, log: OwnLog, record: OwnHead | undefined): number | string {
  if (record === undefined || record.end === 0) return 0;
  return prefixProblem(openIfThere(disk, log.path), record) ?? record.end;
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

function promisedHead(
  owed: readonly OwnLine[],
  record: OwnHead | undefined,
): ChainHead | undefined {
  return headOf(owed.findLast((own) => own.foreign !== true) ?? record);
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
