import { readFileSync, readlinkSync } from "node:fs";
import type { SessionProcess } from "../../api/tool-sessions.ts";

/** In `stat`, counted from behind the name, which is in parentheses and may hold anything. */
const [PARENT_FIELD, TERMINAL_FIELD, STARTED_FIELD] = [1, 4, 19];

/** What a tool may put between itself and what it starts; npm names its process after its arguments. */
const WRAPPER = /^(?:sh|bash|dash|zsh|ash|env|timeout|npx|npm(?: .*)?)$/u;
const MAX_WRAPPERS = 6;

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
