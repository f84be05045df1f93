import type { SessionProcess } from "../../api/tool-sessions.ts";
import { listedProcess } from "../../daemon/sessions/session-process.ts";

/** What a tool may put between itself and what it starts; npm names its process after its arguments. */
const WRAPPER = /^(?:sh|bash|dash|zsh|ash|env|timeout|npx|npm(?: .*)?)$/u;
const MAX_WRAPPERS = 6;

/**
 * The process of the tool that has started us: the first one above us that is no wrapper. Undefined on a
 * system without /proc.
 */
export function sessionOwner(from = process.ppid): SessionProcess | undefined {
  let pid = from;
  for (let wrappers = 0; wrappers <= MAX_WRAPPERS; wrappers += 1) {
    const listed = listedProcess(pid);
    if (listed === undefined) return undefined;
    if (!WRAPPER.test(listed.name)) return { pid, started: listed.started };
    pid = listed.parent;
  }
  return undefined;
}
