import * as fs from "node:fs";
import { StorageError, type DiskFile, type FileKind, type FileStat } from "./disk.ts";
import { calling } from "./errno.ts";
import { lockDescriptor } from "./kernel-lock.ts";

const CHUNK_BYTES = 256 * 1024;

/** Our view of a `fs.Stats`. */
export function statOf(stat: fs.Stats): FileStat {
  const { dev, ino, size, nlink, uid, gid, mtimeMs } = stat;
  return { dev, ino, size, mode: stat.mode & 0o7777, nlink, uid, gid, kind: kindOf(stat), mtimeMs };
}

function kindOf(stat: fs.Stats): FileKind {
  if (stat.isFile()) return "file";
  if (stat.isDirectory()) return "folder";
  return stat.isSymbolicLink() ? "symlink" : "other";
}

/** An open descriptor as a `DiskFile`; it owns the descriptor. */
export function nodeFile(path: string, fd: number): DiskFile {
  let open = true;
  let poisoned = false;

  function refuseWhenPoisoned(): void {
    if (poisoned) throw syncFailed(path, undefined);
  }

  return {
    path,
    stat: () => calling(path, "looking", () => statOf(fs.fstatSync(fd))),
    read: (length, position) => calling(path, "reading", () => readUpTo(fd, length, position)),
    append(bytes) {
      refuseWhenPoisoned();
      calling(path, "appending", () => writeWhole(fd, bytes, null));
    },
    writeAgain(from, to) {
      refuseWhenPoisoned();
      calling(path, "writing", () => writeAgain(path, fd, from, to));
    },
    rewrite(bytes) {
      refuseWhenPoisoned();
      calling(path, "writing", () => rewriteWhole(path, fd, bytes));
    },
    truncate: (length) => calling(path, "cutting", () => fs.ftruncateSync(fd, length)),
    datasync() {
      refuseWhenPoisoned();
      try {
        fs.fdatasyncSync(fd);
      } catch (error) {
        // The kernel may have dropped the data and would report success the next time.
        poisoned = true;
        throw syncFailed(path, error);
      }
    },
    lock: (waitMs) => calling(path, "locking", () => lockDescriptor(fd, waitMs)),
    close() {
      if (!open) return;
      open = false;
      fs.closeSync(fd);
    },
  };
}

function readUpTo(fd: number, length: number, position: number): Uint8Array {
  const bytes = Buffer.allocUnsafe(length);
  let filled = 0;
  while (filled < length) {
    const count = fs.readSync(fd, bytes, filled, length - filled, position + filled);
    if (count === 0) break;
    filled += count;
  }
  return bytes.subarray(0, filled);
}

function writeWhole(fd: number, bytes: Uint8Array, position: number | null): void {
  let written = 0;
  while (written < bytes.length) {
    const at = position === null ? null : position + written;
    written += fs.writeSync(fd, bytes, written, bytes.length - written, at);
  }
}

/** The old content is written over first and cut last: no reader finds the file empty. */
function rewriteWhole(path: string, fd: number, bytes: Uint8Array): void {
  const second = secondDescriptor(path, fd);
  try {
    writeWhole(second, bytes, 0);
    fs.ftruncateSync(second, bytes.length);
    fs.fdatasyncSync(second);
  } finally {
    fs.closeSync(second);
  }
}

// With O_APPEND Linux ignores the position of a write, so that goes through another descriptor.
function secondDescriptor(path: string, fd: number): number {
  const { O_RDWR, O_NOFOLLOW, O_NONBLOCK } = fs.constants;
  const second = fs.openSync(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK);
  const [ours, named] = [fs.fstatSync(fd), fs.fstatSync(second)];
  if (ours.ino === named.ino && ours.dev === named.dev) return second;
  fs.closeSync(second);
  throw new StorageError("io", path, "was replaced while it was open", {
    hint: "find out which program did that; then start again",
  });
}

function writeAgain(path: string, fd: number, from: number, to: number): void {
  const second = secondDescriptor(path, fd);
  try {
    for (let at = from; at < to;) {
      const chunk = readUpTo(second, Math.min(CHUNK_BYTES, to - at), at);
      if (chunk.length === 0) return;
      writeWhole(second, chunk, at);
      at += chunk.length;
    }
  } finally {
    fs.closeSync(second);
  }
}

function syncFailed(path: string, cause: unknown): StorageError {
  return new StorageError("io", path, "the disk failed to store what was written", {
    hint: "look at the system log (dmesg) and the disk; nothing is written until deaddrop has recovered",
    cause,
  });
}
