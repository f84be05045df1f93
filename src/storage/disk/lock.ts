import { parsePlainObject } from "../../wire/json/plain-object.ts";
import { StorageError, stillNamed, type Disk, type DiskFile } from "./disk.ts";
import { PRIVATE_FILE } from "./file-modes.ts";

/** Who took a lock, as noted in the lock's file: information for people, never the lock itself. */
export interface LockNote {
  readonly pid: number;
  readonly role: "daemon" | "command";
  /** ISO-8601. */
  readonly since: string;
}

export interface HeldLock {
  release(): void;
}

type LockAttempt =
  | { readonly ok: true; readonly lock: HeldLock }
  | { readonly ok: false; readonly holder: LockNote | undefined };

const MAX_NOTE_BYTES = 4_096;

/**
 * The private lock of an identity (spec 4.2: it covers signing and appending). The kernel holds it
 * for us until `release` or the end of the process, kill -9 included.
 */
export function takeLock(disk: Disk, path: string, note: LockNote, waitMs: number): LockAttempt {
  const file = openLock(disk, path);
  try {
    if (!file.lock(waitMs)) {
      const holder = readNote(file);
      file.close();
      return { ok: false, holder };
    }
    if (!stillNamed(disk, file)) {
      throw new StorageError("io", path, "was removed or replaced while we waited for it", {
        hint: "never delete a lock file: the kernel frees the lock by itself; try again",
      });
    }
    writeNote(file, `${JSON.stringify(note)}\n`);
    return { ok: true, lock: heldLock(file) };
  } catch (error) {
    file.close();
    throw error;
  }
}

function heldLock(file: DiskFile): HeldLock {
  let released = false;
  return {
    release() {
      if (released) return;
      released = true;
      writeNote(file, "");
      file.close();
    },
  };
}

/** A lock needs no byte of the disk: also one that is full, or read-only, has it. */
function openLock(disk: Disk, path: string): DiskFile {
  try {
    return disk.open(path, "append", PRIVATE_FILE);
  } catch (error) {
    const isClosed = error instanceof StorageError && ["read_only", "denied"].includes(error.code);
    if (!isClosed || disk.stat(path) === undefined) throw error;
    return disk.open(path, "read");
  }
}

/** It is for people alone. */
function writeNote(file: DiskFile, note: string): void {
  try {
    file.truncate(0);
    if (note !== "") file.append(Buffer.from(note, "utf8"));
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
  }
}

/** Who says to hold a lock now; undefined when nobody does (the note of a killed holder is stale). */
export function lockHolder(disk: Disk, path: string): LockNote | undefined {
  if (disk.stat(path) === undefined) return undefined;
  const file = openLock(disk, path);
  try {
    return file.lock(0) ? undefined : readNote(file);
  } finally {
    file.close();
  }
}

function readNote(file: DiskFile): LockNote | undefined {
  // Its holder may be just writing it, or have left it torn.
  const { pid, role, since } = parsePlainObject(file.read(MAX_NOTE_BYTES, 0)) ?? {};
  if (typeof pid !== "number" || typeof since !== "string") return undefined;
  return { pid, role: role === "daemon" ? "daemon" : "command", since };
}
