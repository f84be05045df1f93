import { readFileSync, readlinkSync } from "node:fs";
import type { SessionProcess } from "../../api/tool-sessions.ts";

/** In `stat`, counted from behind the name, which is in parentheses and may hold anything. */
const [PARENT_FIELD, TERMINAL_FIELD, STARTED_FIELD] = [1, 4, 19];

/** A process as the system lists it. */
export interface ListedProcess extends SessionProcess {
  readonly name: string;
  readonly parent: number;
  /** It was started from a terminal that it can still read. */
  readonly hasTerminal: boolean;
}

/** Undefined: there is none, or the system has no /proc. */
export function listedProcess(pid: number): ListedProcess | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const end = stat.lastIndexOf(")");
    const fields = stat.slice(end + 2).split(" ");
    const name = stat.slice(stat.indexOf("(") + 1, end);
    const started = `${pidNamespace()} ${fields[STARTED_FIELD] ?? ""}`;
    const parent = Number(fields[PARENT_FIELD]);
    return { pid, name, parent, hasTerminal: fields[TERMINAL_FIELD] !== "0", started };
  } catch {
    return undefined;
  }
}

/**
 * Whether it is still the process that was meant, and not a later one with its pid. Undefined for one of
 * another PID namespace, such as a container's: its pid says nothing here.
 */
export function isAlive({ pid, started }: SessionProcess): boolean | undefined {
  if (!started.startsWith(`${pidNamespace()} `)) return undefined;
  return listedProcess(pid)?.started === started;
}

let ownNamespace: string | undefined;

/** As the kernel names it: `pid:[4026531836]`; empty on a system without. */
function pidNamespace(): string {
  return (ownNamespace ??= readNamespace());
}

function readNamespace(): string {
  try {
    return readlinkSync("/proc/self/ns/pid");
  } catch {
    return "";
  }
}
