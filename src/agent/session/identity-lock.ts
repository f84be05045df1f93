import { DeaddropError } from "../../api/errors.ts";
import { takeLock, type HeldLock } from "../../storage/disk/lock.ts";
import type { AgentConfig } from "../config/agent-config.ts";
import type { World } from "./world.ts";

/** The note of a killed holder stays in the lock file until the next holder has written its own. */
const NOTE_SETTLES_MS = 1_000;

/**
 * Takes the lock on an identity: one process at a time signs with its key on a wire. A daemon waits for a
 * command's lock; another daemon keeps its own for life. Spec 4.2.
 *
 * @throws DeaddropError "already_running"
 */
export function lockIdentity(
  role: "daemon" | "command",
  { disk, clock }: Pick<World, "disk" | "clock">,
  { handle, paths }: Pick<AgentConfig, "handle" | "paths">,
  waitMs: number,
): HeldLock {
  const since = new Date(clock.wallMs()).toISOString();
  const note = { pid: process.pid, role, since };
  const take = (ms: number) => takeLock(disk, paths.lock, note, ms);
  const isDaemon = role === "daemon";
  let attempt = take(isDaemon ? NOTE_SETTLES_MS : waitMs);
  if (isDaemon && !attempt.ok && attempt.holder?.role !== "daemon") attempt = take(waitMs);
  if (attempt.ok) return attempt.lock;
  const { holder } = attempt;
  const who =
    holder === undefined ? "another process" : `the ${holder.role} with process id ${holder.pid}`;
  throw new DeaddropError("already_running", `"${handle}" is in use on this wire by ${who}`, {
    hint: "stop it first (deaddrop service stop, or kill that process): one process signs with a key",
  });
}
