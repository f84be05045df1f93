import { createHash } from "node:crypto";
import {
  openUnlessObstructed,
  type Disk,
  type DiskFile,
  type FileStat,
} from "../storage/disk/disk.ts";
import { bytesBefore, chunksOf, isBlank, LineSplitter } from "../storage/disk/line-splitter.ts";
import { MAX_LINE_BYTES } from "../wire/limits.ts";

/** How far a carrier was read; plain JSON. It only saves work. */
export interface CarrierCursor {
  readonly dev: number;
  readonly ino: number;
  /** Just after the last newline that was read. */
  readonly offset: number;
  /** Hex SHA-256 of the last 64 KiB before `offset`. */
  readonly prefixHash: string;
  /** Bytes behind `offset` of a line over the limit that no newline has ended yet. */
  readonly scanned: number;
  /** Nothing is new while the file looks so. */
  readonly size: number;
  readonly mtimeMs: number;
}

export interface CarrierRead {
  /** Whole lines that are not blank, without their newlines. */
  readonly lines: readonly Uint8Array[];
  /** Lines over the limit, which are skipped. */
  readonly oversized: number;
  /** Where to go on; undefined: at the beginning. */
  readonly cursor: CarrierCursor | undefined;
  /** Whether more can be read at once. */
  readonly hasMore: boolean;
  /** What was read before is not what it was: reading began again. */
  readonly isAgain: boolean;
}

/** What one call may read, about. */
export interface ReadBudget {
  readonly bytes: number;
  readonly lines: number;
}

const PREFIX_BYTES = 64 * 1024;

/**
 * The lines behind a cursor, whatever else is in the file. An unterminated end is left for later. A file that
 * is missing, or that is no regular file with one name, has no lines. Spec of the next wire, 1.9.
 *
 * @throws StorageError when the disk fails
 */
export function readCarrier(
  disk: Disk,
  path: string,
  cursor: CarrierCursor | undefined,
  budget: ReadBudget,
): CarrierRead {
  // Most looks find nothing new, and a look is much cheaper than to open it.
  const look = cursor === undefined ? undefined : disk.stat(path);
  if (cursor !== undefined && look?.kind === "file" && look.nlink === 1 && isSame(look, cursor))
    return { ...NOTHING, cursor };
  const file = openUnlessObstructed(disk, path);
  if (file === undefined) return { ...NOTHING, cursor: undefined };
  if (file === "obstructed") return { ...NOTHING, cursor };
  try {
    const stat = file.stat();
    const isAgain = cursor !== undefined && !isContinued(file, stat, cursor);
    return { ...takeLines(file, stat, isAgain ? undefined : cursor, budget), isAgain };
  } finally {
    file.close();
  }
}

const NOTHING = { lines: [], oversized: 0, hasMore: false, isAgain: false };

function isSame(stat: FileStat, { dev, ino, size, mtimeMs }: CarrierCursor): boolean {
  return stat.dev === dev && stat.ino === ino && stat.size === size && stat.mtimeMs === mtimeMs;
}

/** Another file with the same beginning (git, a copy put back) goes on too. */
function isContinued(file: DiskFile, stat: FileStat, cursor: CarrierCursor): boolean {
  return stat.size >= cursor.offset && prefixHash(file, cursor.offset) === cursor.prefixHash;
}

function takeLines(
  file: DiskFile,
  stat: FileStat,
  cursor: CarrierCursor | undefined,
  budget: ReadBudget,
): Omit<CarrierRead, "isAgain"> {
  const from = cursor?.offset ?? 0;
  const isSameFile = cursor?.dev === stat.dev && cursor.ino === stat.ino;
  const scanned = isSameFile && from + cursor.scanned <= stat.size ? cursor.scanned : 0;
  const begin = from + scanned;
  const splitter = new LineSplitter(from, scanned);
  // In search of the end of a line it reads as far as a longest line goes.
  const to = Math.min(stat.size, begin + Math.max(budget.bytes, MAX_LINE_BYTES + 2));
  const lines: Uint8Array[] = [];
  let oversized = 0;
  let count = 0;
  for (const chunk of chunksOf(file, begin, to)) {
    for (const { bytes, end } of splitter.feed(chunk)) {
      count += 1;
      if (bytes === undefined) oversized += 1;
      else if (!isBlank(bytes)) lines.push(bytes);
      if (count >= budget.lines || end - begin >= budget.bytes) break;
    }
    if (count >= budget.lines || splitter.start - begin >= budget.bytes) break;
  }
  const hasMore = splitter.position < stat.size;
  const next: CarrierCursor = {
    dev: stat.dev,
    ino: stat.ino,
    offset: splitter.start,
    prefixHash: prefixHash(file, splitter.start),
    scanned: splitter.oversized ? splitter.position - splitter.start : 0,
    size: hasMore ? splitter.position : stat.size,
    mtimeMs: stat.mtimeMs,
  };
  return { lines, oversized, cursor: next, hasMore };
}

function prefixHash(file: DiskFile, offset: number): string {
  return createHash("sha256")
    .update(bytesBefore(file, offset, PREFIX_BYTES))
    .digest("hex");
}
