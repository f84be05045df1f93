import { StorageError, stillNamed, type Disk, type DiskFile } from "../disk/disk.ts";
import {
  endsLine,
  joinLines,
  wholeLines,
  type WholeLine,
  LINE_END,
} from "../disk/line-splitter.ts";
import { prefixHash, type Cursor } from "./tail.ts";
import { writeAgain } from "../disk/rewrite.ts";

export type SharedAppend =
  /** Durable; `end` is the offset just after it. */
  | { readonly outcome: "appended"; readonly end: number }
  /** `find` knew this line: nothing was written. */
  | { readonly outcome: "found"; readonly line: Uint8Array };

export interface SharedOptions {
  /**
   * True for a line that makes ours superfluous; asked of every whole line.
   * Without it nothing is read: anybody may have made the file as long as they like.
   */
  readonly find?: (line: Uint8Array) => boolean;
  /** What `find` need not be asked of: everything up to here is known, while the file looks so. */
  readonly known?: Cursor | undefined;
  /** Of a file that has to be made. */
  readonly mode?: number;
  readonly waitMs?: number;
}

/** Every agent of the wire writes it. */
export const SHARED_MODE = 0o660;
/** Spec 4.1 allows 2 s, but the daemon does nothing else meanwhile; it is tried again. */
const SHARED_LOCK_WAIT_MS = 40;
const MAX_REOPENS = 3;

/**
 * Appends one line to a file that every agent writes (decisions.jsonl, incident_log.jsonl), once.
 * Spec 3.4, 4.1, Shared files: under the file's kernel lock, the inode checked again, the
 * unterminated last line of another writer ended and never cut; only then is ours looked for, since
 * that line may be it. Throws "locked" when the lock is not free in time.
 */
export function appendShared(
  disk: Disk,
  path: string,
  line: Uint8Array,
  options: SharedOptions,
): SharedAppend {
  const file = openLocked(disk, path, options);
  try {
    const { size } = file.stat();
    if (!endsLine(file, size)) file.append(LINE_END);
    const present = findLine(file, options.find, knownTo(file, options.known));
    if (present !== undefined) {
      // Its writer may have died before its sync, or could not cut it after a failed one.
      writeAgain(file, present.start, present.end);
      file.datasync();
      return { outcome: "found", line: present.bytes };
    }
    appendOrUndo(file, size, joinLines([line]));
    return { outcome: "appended", end: file.stat().size };
  } finally {
    file.close();
  }
}

function openLocked(disk: Disk, path: string, options: SharedOptions): DiskFile {
  for (let attempt = 0; attempt < MAX_REOPENS; attempt += 1) {
    const file = disk.open(path, "append", options.mode ?? 0o644);
    try {
      if (!file.lock(options.waitMs ?? SHARED_LOCK_WAIT_MS)) throw lockedError(path);
      // Archived while we waited: the lock that we hold is of the segment.
      if (stillNamed(disk, file)) return file;
      file.close();
    } catch (error) {
      file.close();
      throw error;
    }
  }
  throw lockedError(path);
}

function lockedError(path: string): StorageError {
  return new StorageError("locked", path, "another program keeps it locked", {
    hint: "it is tried again by itself; if this lasts, find the holder with: lslocks",
  });
}

/** How far the file is the one that was read; 0 when it is another, or was changed. */
function knownTo(file: DiskFile, known: Cursor | undefined): number {
  if (known === undefined) return 0;
  const { dev, ino, size } = file.stat();
  if (dev !== known.dev || ino !== known.ino || size < known.offset) return 0;
  return prefixHash(file, known.offset) === known.prefixHash ? known.offset : 0;
}

function findLine(file: DiskFile, find: SharedOptions["find"], from = 0) {
  if (find === undefined) return undefined;
  for (const line of wholeLines(file, from, file.stat().size)) {
    if (isFound(line, find)) return line;
  }
  return undefined;
}

function isFound(
  line: WholeLine,
  find: (line: Uint8Array) => boolean,
): line is WholeLine & { readonly bytes: Uint8Array } {
  return line.bytes !== undefined && find(line.bytes);
}

/** A failed append leaves nothing of ours: nobody else writes while we hold the lock. */
function appendOrUndo(file: DiskFile, size: number, bytes: Uint8Array): void {
  try {
    file.append(bytes);
    file.datasync();
  } catch (error) {
    // Also after a failed sync: what it lost must not be found here and taken for durable.
    file.truncate(size);
    throw error;
  }
}
