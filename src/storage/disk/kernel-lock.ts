import { whyNoFlockCall, flockCall } from "./flock-call.ts";
import { flockProgram } from "./flock-program.ts";

/**
 * Takes the exclusive kernel lock (flock family) on an open descriptor; false when another holds it
 * for all of `waitMs`. Blocks this thread meanwhile. Throws what the kernel refuses.
 *
 * The lock belongs to the open file description: it ends with the last descriptor of that. Node opens
 * every file with O_CLOEXEC, so no child keeps a copy of one, and the kernel frees the lock when this
 * process dies. It excludes Python's `fcntl.flock` (spec 4.2, Locks).
 */
export type KernelLock = (fd: number, waitMs: number) => boolean;

/** By flock(2); by flock(1), a process each time, where the call cannot be made. */
export const lockDescriptor: KernelLock = (fd, waitMs) => (flockCall() ?? flockProgram)(fd, waitMs);

/** How locks are taken on this machine, for people. */
export function wayOfLocking(): string {
  const reason = whyNoFlockCall();
  return reason === undefined ? "flock(2)" : `the program flock (${reason})`;
}
