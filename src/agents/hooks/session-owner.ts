import type { SessionProcess } from "../../api/tool-sessions.ts";
import { listedProcess } from "../../daemon/sessions/session-process.ts";

/** What a tool may put between itself and its hooks. */
const SHELLS: ReadonlySet<string> = new Set(["sh", "bash", "dash", "zsh", "ash", "env"]);
const MAX_SHELLS = 4;

/**
 * The process of the tool that has started us: the first one above us that is no shell. Undefined on a
 * system without /proc.
 */
export function sessionOwner(from = process.ppid): SessionProcess | undefined {
  let pid = from;
  for (let shells = 0; shells <= MAX_SHELLS; shells += 1) {
    const listed = listedProcess(pid);
    if (listed === undefined) return undefined;
    if (!SHELLS.has(listed.name)) return { pid, started: listed.started };
    pid = listed.parent;
  }
  return undefined;
}
