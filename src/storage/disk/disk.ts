import { basename, dirname, join } from "node:path";

/** What went wrong with a disk, in words that a program can branch on. */
export type StorageCode =
  | "missing"
  | "exists"
  | "not_a_file"
  | "disk_full"
  | "read_only"
  | "denied"
  | "io"
  | "locked"
  | "corrupt"
  | "unsafe_mode"
  | "not_a_wire";

/** Trouble with a disk: which path, what was wrong (message), what to do (hint). Thrown at the edge. */
export class StorageError extends Error {
  override readonly name = "StorageError";
  readonly code: StorageCode;
  readonly path: string;
  readonly hint: string;

  constructor(
    code: StorageCode,
    path: string,
    problem: string,
    about: { hint: string; cause?: unknown },
  ) {
    super(`${path}: ${problem}`, about.cause === undefined ? undefined : { cause: about.cause });
    this.code = code;
    this.path = path;
    this.hint = about.hint;
  }
}

export type FileKind = "file" | "folder" | "symlink" | "other";

export interface FileStat {
  readonly dev: number;
  readonly ino: number;
  readonly size: number;
  /** Permission bits only (0o7777). */
  readonly mode: number;
  readonly nlink: number;
  readonly uid: number;
  readonly gid: number;
  readonly kind: FileKind;
  readonly mtimeMs: number;
}

/** One open regular file. After a failed sync it takes no more bytes: reopen and recover. */
export interface DiskFile {
  readonly path: string;
  stat(): FileStat;
  /** Up to `length` bytes; fewer only where the file ends. */
  read(length: number, position: number): Uint8Array;
  /** At the end of the file, whole, or it throws. Not durable before `datasync`. */
  append(bytes: Uint8Array): void;
  /**
   * Writes the bytes between two offsets once more, so that the next sync makes them durable: what a failed
   * sync of an earlier process has lost stays readable, and the kernel considers it written.
   */
  writeAgain(from: number, to: number): void;
  /**
   * Other content in the place of all of it, in the same file: for a file of another user in a sticky
   * folder, which nobody else can replace. Synced when it returns. Not atomic: under its lock, and only
   * where a reader can bear a torn file.
   */
  rewrite(bytes: Uint8Array): void;
  truncate(length: number): void;
  /** Never repeated after a failure: the data may be gone while a second try succeeds. */
  datasync(): void;
  /** Exclusive kernel lock on this open file until `close`; false when not got within `waitMs`. */
  lock(waitMs: number): boolean;
  close(): void;
}

/** The port to files. Every call is synchronous and throws `StorageError`. */
export interface Disk {
  /**
   * Regular files with one link only, never through a symlink, never waiting for a FIFO's other
   * end. "append" makes the file when missing (`mode`, 0600 unless given), durably, and may read.
   */
  open(path: string, how: "read" | "append", mode?: number): DiskFile;
  /** Of the name itself (symlinks are not followed); undefined when there is none. */
  stat(path: string): FileStat | undefined;
  /**
   * Bytes that this process could still write beside a file: 0 on a filesystem that is read-only,
   * Infinity where nobody can say. A hint that costs no write.
   */
  room(path: string): number;
  /** Names in a folder, sorted; none when there is no such folder. */
  list(path: string): string[];
  /** With its missing parents; leaves a folder that exists as it is. */
  makeFolder(path: string, mode: number): void;
  /** Temporary file → sync → rename → sync of the folder. Pieces are asked for one after the other. */
  replace(path: string, bytes: Uint8Array | Iterable<Uint8Array>, mode: number): void;
  /** Throws "exists" when `to` holds anything; an empty file there (a crash left it) is taken over. */
  renameExclusive(from: string, to: string): void;
  /** Nothing happens when it is missing already. */
  remove(path: string): void;
  realPath(path: string): string;
  syncFolder(path: string): void;
  setMode(path: string, mode: number, groupId?: number): void;
}

/** How a file is called that becomes the one at `path`; a process that was killed leaves it. */
export function temporaryPrefix(path: string): string {
  return `.${basename(path)}.`;
}

/** Removes what a process left that was killed while it replaced a large file: each may be as large. */
export function removeTemporary(disk: Disk, path: string): void {
  const folder = dirname(path);
  for (const name of disk.list(folder)) {
    if (name.startsWith(temporaryPrefix(path))) disk.remove(join(folder, name));
  }
}

/** What `replace` is given, as pieces in any case. */
export function piecesOf(bytes: Uint8Array | Iterable<Uint8Array>): Iterable<Uint8Array> {
  return bytes instanceof Uint8Array ? [bytes] : bytes;
}

/** How long a short change waits for the lock of a file. */
export const LOCK_WAIT_MS = 2_000;

/** Far above any file that is read whole: configuration, stores, heads, pending lines. */
const MAX_WHOLE_BYTES = 256 * 1024 * 1024;

/** A whole file; undefined when it is missing. */
export function readWhole(
  disk: Disk,
  path: string,
  maxBytes: number = MAX_WHOLE_BYTES,
): Uint8Array | undefined {
  const file = openIfThere(disk, path);
  if (file === undefined) return undefined;
  try {
    const { size } = file.stat();
    if (size > maxBytes) {
      throw new StorageError("corrupt", path, `${size} bytes, at most ${maxBytes} are expected`, {
        hint: "this is not a file that we wrote; look at it and move it away",
      });
    }
    return file.read(size, 0);
  } finally {
    file.close();
  }
}

/** Tells whether a file may be another one than before, or have other bytes; "" while there is none. */
export function lookOf(disk: Disk, path: string): string {
  const stat = disk.stat(path);
  return stat === undefined
    ? ""
    : `${stat.kind} ${stat.dev} ${stat.ino} ${stat.size} ${stat.mtimeMs}`;
}

/** Opens for reading; undefined when the file is missing. */
export function openIfThere(disk: Disk, path: string): DiskFile | undefined {
  try {
    return disk.open(path, "read");
  } catch (error) {
    if (error instanceof StorageError && error.code === "missing") return undefined;
    throw error;
  }
}

/** Something else is there instead of a file, or we may not read it: the disk itself works. */
const OBSTRUCTED: ReadonlySet<StorageCode> = new Set(["not_a_file", "denied"]);

/**
 * `openIfThere` for files that others can put something else in the place of (a link, a pipe, a
 * folder): that is no failure, and must stop nothing but the reading of this file.
 */
export function openUnlessObstructed(
  disk: Disk,
  path: string,
): DiskFile | "obstructed" | undefined {
  try {
    return openIfThere(disk, path);
  } catch (error) {
    if (isObstruction(error)) return "obstructed";
    throw error;
  }
}

/** Whether it says that something else is where a file belongs, or that we may not read it. */
export function isObstruction(error: unknown): error is StorageError {
  return error instanceof StorageError && OBSTRUCTED.has(error.code);
}

/**
 * Opens a file to append to it under its lock; undefined when another program keeps it locked, or has renamed or
 * replaced it meanwhile. @throws StorageError
 */
export function openLocked(
  disk: Disk,
  path: string,
  { mode, waitMs = LOCK_WAIT_MS }: { readonly mode: number; readonly waitMs?: number },
): DiskFile | undefined {
  const file = disk.open(path, "append", mode);
  let isOurs = false;
  try {
    isOurs = file.lock(waitMs) && stillNamed(disk, file);
    return isOurs ? file : undefined;
  } finally {
    if (!isOurs) file.close();
  }
}

/** True when `path` names the very file that is open: nobody renamed or replaced it meanwhile. */
export function stillNamed(disk: Disk, file: DiskFile): boolean {
  const named = disk.stat(file.path);
  const held = file.stat();
  return named !== undefined && named.dev === held.dev && named.ino === held.ino;
}
