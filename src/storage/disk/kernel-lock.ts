import { spawnSync } from "node:child_process";
import { closeSync, constants, fstatSync, lstatSync, openSync } from "node:fs";
import { createRequire } from "node:module";
import { getSystemErrorName } from "node:util";
import type * as Koffi from "koffi";
import { StorageError } from "./disk.ts";
import { calling, errnoOf } from "./errno.ts";

/**
 * Takes the exclusive kernel lock (flock family) on an open descriptor; false when another holds it
 * for all of `waitMs`. Blocks this thread meanwhile. Throws what the kernel refuses.
 *
 * The lock belongs to the open file description: it ends with the last descriptor of that. Node opens
 * every file with O_CLOEXEC, so no child keeps a copy of one, and the kernel frees the lock when this
 * process dies. It excludes Python's `fcntl.flock` (spec 4.2, Locks).
 */
type KernelLock = (fd: number, waitMs: number) => boolean;

const LOCK_EX = 2;
const LOCK_NB = 4;
/** Pauses between two attempts: short at first, since most holders append and sync one line. */
const FIRST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 10;
/** The exit code of flock(1) when another process holds the lock. */
const CONFLICT = 75;

/** Without kernel locks neither sending nor a daemon is possible. */
export const LOCK_HINT =
  "install deaddrop again with its optional package koffi, or the program flock (apt install util-linux; on macOS brew install flock)";

let loaded: { readonly lock: KernelLock } | { readonly reason: string } | undefined;

/** Uses flock(2), or flock(1), one process for each lock, where the call cannot be made. */
export const lockDescriptor: KernelLock = (fd, waitMs) => {
  const call = loadFlock();
  return "lock" in call ? call.lock(fd, waitMs) : runFlock(fd, waitMs);
};

/** How locks are taken on this machine, for people. */
export function wayOfLocking(): string {
  const call = loadFlock();
  return "lock" in call ? "flock(2)" : `the program flock (${call.reason})`;
}

/**
 * The exclusive kernel lock on a folder itself: no file of ours is left in it. Undefined when another
 * process holds it for all of `waitMs`, or the folder was replaced meanwhile. @throws StorageError
 */
export function lockFolder(path: string, waitMs: number): { release(): void } | undefined {
  const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
  const fd = calling(path, "opening", () => openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  let isLocked = false;
  try {
    isLocked = calling(path, "locking", () => lockDescriptor(fd, waitMs)) && isNamed(path, fd);
  } finally {
    if (!isLocked) closeSync(fd);
  }
  return isLocked ? { release: () => closeSync(fd) } : undefined;
}

function isNamed(path: string, fd: number): boolean {
  const named = lstatSync(path, { throwIfNoEntry: false });
  const locked = fstatSync(fd);
  return named?.ino === locked.ino && named.dev === locked.dev;
}

/**
 * flock(2), which Node lacks, through koffi. It is loaded when a lock is first asked for: that costs some
 * 7 ms of CPU once, and each lock 1 µs.
 */
function loadFlock(): NonNullable<typeof loaded> {
  try {
    loaded ??= { lock: flockThrough(createRequire(import.meta.url)("koffi") as typeof Koffi) };
  } catch (error) {
    // Not installed, no binary for this machine, an unknown libc: the reason does not matter.
    const [first = ""] = String(error instanceof Error ? error.message : error).split("\n");
    loaded = { reason: `koffi does not load: ${first}` };
  }
  return loaded;
}

function flockThrough(koffi: typeof Koffi): KernelLock {
  const flock = koffi.load(null).func("int flock(int, int)") as (fd: number, how: number) => number;
  const { EWOULDBLOCK, EINTR } = koffi.os.errno;

  /** False when another holds it. */
  function attempt(fd: number): boolean {
    for (;;) {
      if (flock(fd, LOCK_EX | LOCK_NB) === 0) return true;
      const errno = koffi.errno();
      if (errno === EWOULDBLOCK) return false;
      if (errno === EINTR) continue;
      const code = getSystemErrorName(-errno);
      throw Object.assign(new Error(`${code}: flock`), { code, syscall: "flock" });
    }
  }

  // Not the blocking call: nothing could end it when the time is up.
  return (fd, waitMs) => {
    const endMs = performance.now() + waitMs;
    for (let pauseMs = FIRST_PAUSE_MS; !attempt(fd); pauseMs *= 2) {
      const leftMs = endMs - performance.now();
      if (leftMs <= 0) return false;
      sleep(Math.min(pauseMs, LONGEST_PAUSE_MS, leftMs));
    }
    return true;
  };
}

const NEVER_WOKEN = new Int32Array(new SharedArrayBuffer(4));

function sleep(durationMs: number): void {
  Atomics.wait(NEVER_WOKEN, 0, 0, durationMs);
}

/**
 * flock(1) of util-linux. It locks the open file description that it inherits as descriptor 3; we
 * keep that description, so the lock stays after the program has ended.
 */
function runFlock(fd: number, waitMs: number): boolean {
  const patience = waitMs <= 0 ? ["-n"] : ["-w", (waitMs / 1000).toFixed(3)];
  const done = spawnSync("flock", ["-x", "-E", String(CONFLICT), ...patience, "3"], {
    stdio: ["ignore", "ignore", "pipe", fd],
    timeout: waitMs + 10_000,
  });
  if (done.error !== undefined) {
    const missing = errnoOf(done.error) === "ENOENT";
    throw cannotLock(missing ? "flock(1) was not found in PATH" : done.error.message);
  }
  if (done.status === 0) return true;
  if (done.status === CONFLICT) return false;
  throw cannotLock(`flock(1) ended with ${done.status}: ${done.stderr.toString().trim()}`);
}

function cannotLock(why: string): StorageError {
  return new StorageError("io", "flock", `cannot take a kernel lock: ${why}`, { hint: LOCK_HINT });
}
