import { randomBytes } from "node:crypto";
import * as fs from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import {
  piecesOf,
  StorageError,
  stillNamed,
  temporaryPrefix,
  type Disk,
  type DiskFile,
  type FileKind,
  type FileStat,
  LOCK_WAIT_MS,
} from "./disk.ts";
import { calling, errnoOf, fromErrno } from "./errno.ts";
import { nodeFile, statOf } from "./node-file.ts";
import { PRIVATE_FILE } from "./file-modes.ts";

const { O_APPEND, O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_RDWR } =
  fs.constants;
const SAFE = O_NOFOLLOW | O_NONBLOCK;

/**
 * The real disk, synchronous. Below `wireDir` no parent folder may be a symlink either (spec 4.6:
 * O_NOFOLLOW protects only the last name); the way to `wireDir` itself is the operator's choice.
 */
export function nodeDisk(options: { readonly wireDir?: string } = {}): Disk {
  return new NodeDisk(makeGuard(options.wireDir));
}

class NodeDisk implements Disk {
  readonly #guard: Guard;

  constructor(guard: Guard) {
    this.#guard = guard;
  }

  open(path: string, how: "read" | "append", mode = PRIVATE_FILE): DiskFile {
    this.#guard.before(path);
    const fd = how === "read" ? openFd(path, O_RDONLY | SAFE) : openForAppend(path, mode);
    try {
      const stat = statOf(fs.fstatSync(fd));
      refuseUnlessPlain(path, stat);
      this.#guard.after(path, fd);
      // Its name may be new, made by us or by a process that died right then: not durable yet.
      if (how === "append" && stat.size === 0) syncName(path, fd);
      return nodeFile(path, fd);
    } catch (error) {
      fs.closeSync(fd);
      throw error;
    }
  }

  stat(path: string): FileStat | undefined {
    const stat = calling(path, "looking", () => fs.lstatSync(path, { throwIfNoEntry: false }));
    return stat === undefined ? undefined : statOf(stat);
  }

  room(path: string): number {
    const folder = dirname(path);
    try {
      fs.accessSync(folder, fs.constants.W_OK);
      const { bsize, bavail, bfree } = fs.statfsSync(folder);
      return bsize * (process.getuid?.() === 0 ? bfree : bavail);
    } catch (error) {
      // What else is the matter shows when it is written.
      return errnoOf(error) === "EROFS" ? 0 : Infinity;
    }
  }

  list(path: string): string[] {
    this.#guard.before(path);
    try {
      return fs.readdirSync(path).toSorted();
    } catch (error) {
      if (errnoOf(error) === "ENOENT") return [];
      throw fromErrno(error, path, "listing");
    }
  }

  makeFolder(path: string, mode: number): void {
    this.#guard.before(path);
    makeFolder(path, mode);
  }

  replace(path: string, bytes: Uint8Array | Iterable<Uint8Array>, mode: number): void {
    this.#guard.before(path);
    replaceFile(path, piecesOf(bytes), mode);
    syncFolder(dirname(path));
  }

  renameExclusive(from: string, to: string): void {
    this.#guard.before(from);
    // rename(2) replaces what is there. So the target is claimed first: an empty file, locked, that
    // only its holder renames over. A crash leaves the empty file, which the next one takes over.
    const claim = this.open(to, "append", PRIVATE_FILE);
    try {
      if (!claim.lock(LOCK_WAIT_MS) || !stillNamed(this, claim) || claim.stat().size > 0) {
        throw new StorageError("exists", to, "exists already", {
          hint: "nothing was overwritten; move it away first if it is not needed",
        });
      }
      calling(from, `renaming to ${to}`, () => fs.renameSync(from, to));
    } finally {
      claim.close();
    }
    syncFolder(dirname(to));
    if (dirname(from) !== dirname(to)) syncFolder(dirname(from));
  }

  remove(path: string): void {
    this.#guard.before(path);
    try {
      // rmSync calls a refused removal a failed listing.
      fs.unlinkSync(path);
    } catch (error) {
      if (errnoOf(error) !== "ENOENT") throw fromErrno(error, path, "removing");
    }
  }

  realPath(path: string): string {
    return calling(path, "resolving", () => fs.realpathSync(path));
  }

  syncFolder(path: string): void {
    syncFolder(path);
  }

  setMode(path: string, mode: number, groupId?: number): void {
    this.#guard.before(path);
    const fd = openFd(path, O_RDONLY | SAFE);
    try {
      this.#guard.after(path, fd);
      setModeOf(path, fd, mode, groupId);
    } finally {
      fs.closeSync(fd);
    }
  }
}

/** Of what is open: nobody can put something else in its place between the look and the change. */
function setModeOf(path: string, fd: number, mode: number, groupId?: number): void {
  const stat = statOf(fs.fstatSync(fd));
  if (stat.kind !== "folder") refuseUnlessPlain(path, stat);
  calling(path, "setting its mode", () => {
    // chown clears setgid, so the mode comes last.
    if (groupId !== undefined && stat.gid !== groupId) fs.fchownSync(fd, stat.uid, groupId);
    fs.fchmodSync(fd, mode);
  });
}

/** Writes a new file beside it, synced, and puts that in its place. The folder is not synced yet. */
function replaceFile(path: string, pieces: Iterable<Uint8Array>, mode: number): void {
  const name = `${temporaryPrefix(path)}${randomBytes(6).toString("hex")}`;
  const temporary = join(dirname(path), name);
  calling(path, "replacing", () => {
    try {
      const fd = fs.openSync(
        temporary,
        fs.constants.O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW,
        mode,
      );
      try {
        fs.fchmodSync(fd, mode);
        for (const bytes of pieces) fs.writeFileSync(fd, bytes);
        fs.fsyncSync(fd);
      } finally {
        fs.closeSync(fd);
      }
      fs.renameSync(temporary, path);
    } catch (error) {
      fs.rmSync(temporary, { force: true });
      throw error;
    }
  });
}

function openForAppend(path: string, mode: number): number {
  const flags = O_RDWR | O_APPEND | SAFE;
  let fd: number;
  try {
    fd = fs.openSync(path, flags | O_CREAT | O_EXCL, mode);
  } catch (error) {
    if (errnoOf(error) === "EEXIST") return openFd(path, flags);
    throw fromErrno(error, path, "creating");
  }
  try {
    // The umask has no say in who may write to a wire's files.
    calling(path, "setting its mode", () => fs.fchmodSync(fd, mode));
    return fd;
  } catch (error) {
    fs.closeSync(fd);
    throw error;
  }
}

function syncName(path: string, fd: number): void {
  calling(path, "syncing", () => fs.fsyncSync(fd));
  syncFolder(dirname(path));
}

function openFd(path: string, flags: number): number {
  return calling(path, "opening", () => fs.openSync(path, flags));
}

function syncFolder(path: string): void {
  calling(path, "syncing the folder", () => {
    const fd = fs.openSync(path, O_RDONLY);
    try {
      fs.fsyncSync(fd);
    } finally {
      fs.closeSync(fd);
    }
  });
}

function makeFolder(path: string, mode: number): void {
  const missing: string[] = [];
  for (let at = resolve(path); !fs.existsSync(at); at = dirname(at)) missing.unshift(at);
  for (const folder of missing) {
    try {
      calling(folder, "making the folder", () => fs.mkdirSync(folder, mode));
      const fd = openFd(folder, O_RDONLY | SAFE | O_DIRECTORY);
      try {
        setModeOf(folder, fd, mode);
      } finally {
        fs.closeSync(fd);
      }
      syncFolder(dirname(folder));
    } catch (error) {
      // Another process made it meanwhile.
      if (!(error instanceof StorageError) || error.code !== "exists") throw error;
    }
  }
}

const IS_NOT: Readonly<Record<Exclude<FileKind, "file">, string>> = {
  folder: "a folder, not a file",
  symlink: "a symbolic link, not a file",
  other: "a pipe, device or socket, not a file",
};

function refuseUnlessPlain(path: string, stat: FileStat): void {
  if (stat.kind !== "file") {
    throw new StorageError("not_a_file", path, IS_NOT[stat.kind], {
      hint: "there is something else where a file belongs; look at it and move it away",
    });
  }
  if (stat.nlink !== 1) {
    throw new StorageError("not_a_file", path, `has ${stat.nlink} names (hard links), not one`, {
      hint: `find its other names (find . -inum ${stat.ino}) and keep one`,
    });
  }
}

function symlinkError(path: string): StorageError {
  return new StorageError(
    "not_a_file",
    path,
    "a symbolic link where a real folder or file belongs",
    {
      hint: "nothing inside a wire may be a link: put the folder or file itself there",
    },
  );
}

interface Guard {
  before(path: string): void;
  after(path: string, fd: number): void;
}

function makeGuard(wireDir: string | undefined): Guard {
  if (wireDir === undefined) return { before: () => undefined, after: () => undefined };
  const root = resolve(wireDir);
  const inside = (path: string): string[] | undefined => {
    const parts = relative(root, resolve(path)).split(sep);
    return parts[0] === ".." || parts[0] === "" ? undefined : parts;
  };
  return {
    before(path) {
      let at = root;
      for (const name of inside(path)?.slice(0, -1) ?? []) {
        at = join(at, name);
        const stat = fs.lstatSync(at, { throwIfNoEntry: false });
        if (stat?.isSymbolicLink() === true) throw symlinkError(at);
      }
    },
    // A parent can be exchanged between the look and the open; the kernel knows what was opened.
    after(path, fd) {
      const parts = inside(path);
      const opened = parts === undefined ? undefined : pathOfDescriptor(fd);
      if (parts === undefined || opened === undefined) return;
      const expected = join(fs.realpathSync.native(root), ...parts);
      if (opened !== expected) throw symlinkError(path);
    },
  };
}

/** Undefined where the kernel does not say: not on Linux, and not without /proc (a bare chroot). */
function pathOfDescriptor(fd: number): string | undefined {
  if (process.platform !== "linux") return undefined;
  try {
    return fs.readlinkSync(`/proc/self/fd/${fd}`);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  }
}
