import type { ChainHead } from "../../wire/chain.ts";
import { openIfThere } from "../disk/disk.ts";
import { isBlank, wholeLines } from "../disk/line-splitter.ts";
import type { OwnHead } from "./heads.ts";
import type { OwnCopy } from "./own-copy.ts";
import type { OwnLog, RecoveryContext } from "./own-log-repair.ts";
import { hashOf } from "./own-log-pieces.ts";
import type { OwnLine } from "./pending.ts";

/** What the copy can give back to a log that is not the file that we wrote. */
export interface Restorable {
  /** Up to this offset the log holds what the copy has, in order. */
  readonly from: number;
  /** What follows there in the copy: lines that the log lacks, or has in another form. */
  readonly rest: readonly OwnLine[];
  /** The last line of the copy. */
  readonly last: ChainHead;
}

/** A wire that is put back as it was a year ago is more than one repair has room for. */
const MAX_RESTORED_BYTES = 128 * 1024 * 1024;

/**
 * Compares a log with our private copy of it, line by line. Undefined when the copy lacks lines that
 * are known to have been in the log, or is another chain: nothing ever goes on past a hole. Spec 1.6.
 */
export function restorable(
  log: OwnLog,
  record: OwnHead | undefined,
  copy: OwnCopy,
  context: RecoveryContext,
): Restorable | undefined {
  const last = copy.last();
  if (last === undefined || last.seq < (record?.seq ?? 0)) return undefined;
  const { from, next, held, isJoined } = commonPart(log, copy, context);
  if (!isJoined) return undefined;
  const rest: OwnLine[] = [];
  let bytes = 0;
  let isSameChain = record === undefined;
  let before = held;
  for (const line of copy.lines()) {
    if (line.seq === record?.seq) isSameChain = line.id === record.id;
    if (line.seq < next) continue;
    // A line of the copy is damaged, and is left out of these.
    if (before > 0 && line.seq !== before + 1) return undefined;
    before = line.seq;
    rest.push(line);
    bytes += line.line.length;
    if (bytes > MAX_RESTORED_BYTES) return undefined;
  }
  return isSameChain ? { from, rest, last } : undefined;
}

/** Up to where a log holds the lines of its copy, others' among them, and which line is next. */
function commonPart(log: OwnLog, copy: OwnCopy, { disk, check }: RecoveryContext) {
  const lines = copy.lines();
  let expected = lines.next().value as OwnLine | undefined;
  const first = expected?.seq ?? 1;
  let before = 0;
  let from = 0;
  // The last line of ours up to which the log has all that it should have.
  let held = 0;
  const file = openIfThere(disk, log.path);
  try {
    for (const { bytes, end } of file === undefined ? [] : wholeLines(file, 0, file.stat().size)) {
      if (bytes === undefined || isBlank(bytes)) continue;
      const own = isSame(bytes, expected) ? expected : check(bytes);
      if (own === undefined) continue;
      if (own.seq < first) {
        [before, held, from] = [own.seq, own.seq, end];
        continue;
      }
      // A line that is damaged in the copy; or one from before, once more, which changes nothing.
      if (expected !== undefined && own.seq < expected.seq) {
        if (own.seq === held + 1) held = own.seq;
        continue;
      }
      if (!isSame(bytes, expected)) break;
      [held, from] = [own.seq, end];
      expected = lines.next().value as OwnLine | undefined;
    }
  } finally {
    lines.return(undefined);
    file?.close();
  }
  const next = expected?.seq ?? Infinity;
  // A copy that begins above 1 says nothing of what comes before it.
  const isWhole = first === 1 || next > first;
  return { from, next, held, isJoined: isWhole || before === first - 1 };
}

function isSame(bytes: Uint8Array, expected: OwnLine | undefined): boolean {
  if (expected === undefined || bytes.length !== expected.line.length) return false;
  return hashOf(bytes) === hashOf(expected.line);
}
