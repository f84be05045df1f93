import { spawnSync } from "node:child_process";
import { StorageError } from "./disk.ts";
import { errnoOf } from "./errno.ts";
import type { KernelLock } from "./kernel-lock.ts";

const CONFLICT = 75;

/** Without kernel locks neither sending nor a daemon is possible. */
export const LOCK_HINT =
  "install deaddrop again with its optional package koffi, or the program flock (apt install util-linux; on macOS brew install flock)";

/**
 * flock(1) of util-linux. It locks the open file description that it inherits as descriptor 3; we
 * keep that description, so the lock stays after the program has ended.
 */
export const flockProgram: KernelLock = (fd, waitMs) => {
  const patience = waitMs <= 0 ? ["-n"] : ["-w", (waitMs / 1000).toFixed(3)];
  const done = spawnSync("flock", ["-x", "-E", String(CONFLICT), ...patience, "3"], {
    stdio: ["ignore", "ignore", "pipe", fd],
    timeout: waitMs + 10_000,
  });
  if (done.error !== undefined) {
    const missing = errnoOf(done.error) === "ENOENT";
    throw refused(missing ? "flock(1) was not found in PATH" : done.error.message);
  }
  if (done.status === 0) return true;
  if (done.status === CONFLICT) return false;
  throw refused(`flock(1) ended with ${done.status}: ${done.stderr.toString().trim()}`);
};

function refused(why: string): StorageError {
  return new StorageError("io", "flock", `cannot take a kernel lock: ${why}`, { hint: LOCK_HINT });
}
