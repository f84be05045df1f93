import { readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join } from "node:path";
import type { SessionProcess, WakeWay } from "../../api/tool-sessions.ts";
import { listedProcess } from "./session-process.ts";

/** Codex in its parts: what a terminal shows, and what it runs without one. */
export const CODEX_BACKGROUND = "app-server";
const WITHOUT_TERMINAL = [CODEX_BACKGROUND, "exec", "e", "review", "queue", "mcp-server"];
/** Where the terminals of Codex leave a file for each thread that they begin, `/new` included. */
const SHOWN_THREADS = "tui-thread-reference-capabilities";

/** A process of Codex. */
export interface CodexProcess {
  /** The program that it runs. */
  readonly program: string;
  readonly args: readonly string[];
}

export function readCodex(pid: number): CodexProcess | undefined {
  try {
    const program = readlinkSync(`/proc/${pid}/exe`);
    if (!basename(program).startsWith("codex")) return undefined;
    return { program, args: readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0") };
  } catch {
    return undefined;
  }
}

export function isWithoutTerminal({ args }: CodexProcess): boolean {
  return WITHOUT_TERMINAL.some((word) => args.includes(word));
}

/** Processes of this user that show Codex in a terminal; `folder`: only those that run there. */
export function codexTerminals(folder?: string): SessionProcess[] {
  const pids = readdirSync("/proc").map(Number).filter(Number.isSafeInteger);
  return pids.flatMap((pid) => {
    const codex = readCodex(pid);
    if (codex === undefined || isWithoutTerminal(codex) || !isOurs(pid, folder)) return [];
    const listed = listedProcess(pid);
    return listed?.hasTerminal === true ? { pid, started: listed.started } : [];
  });
}

function isOurs(pid: number, folder: string | undefined): boolean {
  try {
    const isThere = folder === undefined || readlinkSync(`/proc/${pid}/cwd`) === folder;
    return isThere && statSync(`/proc/${pid}`).uid === process.getuid?.();
  } catch {
    return false;
  }
}

/**
 * The threads that terminals of Codex have begun. Their ids are UUIDs of version 7, so they sort by
 * time. Undefined: this Codex does not keep such files.
 */
export function shownThreads(home: string | undefined): string[] | undefined {
  try {
    return readdirSync(join(home ?? join(homedir(), ".codex"), SHOWN_THREADS)).sort();
  } catch {
    return undefined;
  }
}

/**
 * Whether the thread that was on screen when that way was named still is. `/new` runs no hook, but its
 * thread is younger, so it is not, once there are more younger threads than terminals of Codex that were
 * opened since. Where that cannot be told, it counts as hidden. Spec 8.3.
 */
export function isThreadShown({
  home,
  newest,
  namedAt,
  terminals,
}: WakeWay & { readonly by: "codex" }): boolean {
  const younger = shownThreads(home)?.filter((thread) => thread > (newest ?? "")).length;
  if (younger === undefined) return false;
  if (younger === 0) return true;
  const known = new Set(terminals.map(({ pid }) => pid));
  const opened = codexTerminals().filter(
    ({ pid, started }) => !known.has(pid) && startTicks(started) > startTicks(namedAt),
  );
  return younger <= opened.length;
}

/** The second word of `SessionProcess.started`: clock ticks since the system has started. */
function startTicks(started: string): number {
  return Number(started.split(" ").at(-1));
}
