import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { DaemonPaths } from "../../storage/paths.ts";
import { MINUTE_MS } from "../../wire/durations.ts";

/** A daemon that kept a hook waiting until its limit is asked again only after this time. */
const PAUSE_MS = MINUTE_MS;

/** An empty file beside the daemon's socket: a hook has waited for that daemon in vain. Spec 8.3. */
function markOf({ stateDir }: DaemonPaths): string {
  return join(stateDir, "hook-unanswered");
}

export function isUnanswered(paths: DaemonPaths, nowMs: number): boolean {
  const since = statSync(markOf(paths), { throwIfNoEntry: false })?.mtimeMs;
  return since !== undefined && Math.abs(nowMs - since) < PAUSE_MS;
}

export function noteUnanswered(paths: DaemonPaths): void {
  try {
    writeFileSync(markOf(paths), "");
  } catch {
    // The disk is full or read-only: the next hook waits as well.
  }
}
