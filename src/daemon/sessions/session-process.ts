import { readFileSync } from "node:fs";
import type { SessionProcess } from "../../api/tool-sessions.ts";

/** In `stat`, counted from behind the name, which is in parentheses and may hold anything. */
const [PARENT_FIELD, STARTED_FIELD] = [1, 19];

/** A process as the system lists it. */
export interface ListedProcess extends SessionProcess {
  readonly name: string;
  readonly parent: number;
}

/** Undefined: there is none, or the system has no /proc. */
export function listedProcess(pid: number): ListedProcess | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const end = stat.lastIndexOf(")");
    const fields = stat.slice(end + 2).split(" ");
    const name = stat.slice(stat.indexOf("(") + 1, end);
    const started = fields[STARTED_FIELD] ?? "";
    return { pid, name, parent: Number(fields[PARENT_FIELD]), started };
  } catch {
    return undefined;
  }
}

/** Whether it is still the process that was meant, and not a later one with its pid. */
export function isAlive({ pid, started }: SessionProcess): boolean {
  return listedProcess(pid)?.started === started;
}
