import { createRequire } from "node:module";
import { getSystemErrorName } from "node:util";
import type * as Koffi from "koffi";
import type { KernelLock } from "./kernel-lock.ts";

const LOCK_EX = 2;
const LOCK_NB = 4;

/** Between two attempts: short at first, since most holders append and sync one line. */
const FIRST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 10;

type Library = typeof Koffi;
type Loaded = { readonly lock: KernelLock } | { readonly reason: string };

let loaded: Loaded | undefined;

/**
 * flock(2), which Node lacks, through koffi; undefined where koffi does not load. It is loaded when a
 * lock is first asked for: that costs some 7 ms of CPU, once a process, and a lock 1 µs.
 */
export function flockCall(): KernelLock | undefined {
  loaded ??= load();
  return "lock" in loaded ? loaded.lock : undefined;
}

/** Why koffi does not load here; undefined when it does. */
export function whyNoFlockCall(): string | undefined {
  loaded ??= load();
  return "reason" in loaded ? loaded.reason : undefined;
}

function load(): Loaded {
  try {
    const koffi = createRequire(import.meta.url)("koffi") as Library;
    return { lock: through(koffi) };
  } catch (error) {
    // Not installed, no binary for this machine, a libc that it does not know: any of these will do.
    const [first = ""] = String(error instanceof Error ? error.message : error).split("\n");
    return { reason: `koffi does not load: ${first}` };
  }
}

function through(koffi: Library): KernelLock {
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

  // Not the call that waits: nothing could end it when the time is up.
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
