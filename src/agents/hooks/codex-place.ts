import { readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { basename } from "node:path";
import type { Moment, Pane, SessionProcess } from "../../api/tool-sessions.ts";
import { listedProcess } from "../../daemon/sessions/session-process.ts";
import type { SessionPlace } from "./session-place.ts";

/** Codex in its parts: what a terminal shows, and what it runs without one. */
const BACKGROUND = "app-server";
const WITHOUT_TERMINAL = [BACKGROUND, "exec", "queue", "mcp-server"];
/** Moments at which the person has just written, so that the session's terminal is open. */
const WRITTEN: readonly Moment[] = ["start", "resume", "prompt"];

/** A process of Codex. */
interface Codex {
  /** The program that it runs. */
  readonly program: string;
  readonly args: readonly string[];
}

interface CodexHook {
  readonly moment: Moment;
  readonly env: NodeJS.ProcessEnv;
  readonly keys: Pane | undefined;
}

/**
 * Where a session of Codex is whose hook that process has started. A turn that is queued runs even when
 * nobody sees it, so it is said in which terminals the session may be. Without them, or where processes
 * cannot be looked at, Codex is not woken. Spec 8.3.
 */
export function codexPlace(
  owner: SessionProcess | undefined,
  { moment, env, keys }: CodexHook,
): SessionPlace {
  const codex = owner === undefined ? undefined : codexOf(owner.pid);
  if (owner === undefined || codex === undefined) return { process: owner, wake: undefined };
  const { program, args } = codex;
  const way = { by: "codex", program, home: env["CODEX_HOME"] } as const;
  if (args.includes(BACKGROUND)) {
    const terminals = WRITTEN.includes(moment) ? openTerminals() : [];
    if (terminals.length === 0) return { process: undefined, wake: undefined };
    // Its environment, and so its pane, is that of the first session that it was started for.
    const [only] = terminals.length === 1 ? terminals : [];
    return { process: only, wake: { ...way, terminals, keys: undefined } };
  }
  const wake = isWithoutTerminal(args) ? undefined : { ...way, terminals: [owner], keys };
  return { process: owner, wake };
}

function isWithoutTerminal(args: readonly string[]): boolean {
  return WITHOUT_TERMINAL.some((word) => args.includes(word));
}

/** Processes of this user that show Codex in a terminal, in our folder. */
function openTerminals(): SessionProcess[] {
  const folder = readlinkSync("/proc/self/cwd");
  const pids = readdirSync("/proc").map(Number).filter(Number.isSafeInteger);
  return pids.flatMap((pid) => {
    const codex = codexOf(pid);
    if (codex === undefined || isWithoutTerminal(codex.args) || !isOursIn(pid, folder)) return [];
    const listed = listedProcess(pid);
    return listed?.hasTerminal === true ? { pid, started: listed.started } : [];
  });
}

function isOursIn(pid: number, folder: string): boolean {
  try {
    return (
      readlinkSync(`/proc/${pid}/cwd`) === folder &&
      statSync(`/proc/${pid}`).uid === process.getuid?.()
    );
  } catch {
    return false;
  }
}

function codexOf(pid: number): Codex | undefined {
  try {
    const program = readlinkSync(`/proc/${pid}/exe`);
    if (!basename(program).startsWith("codex")) return undefined;
    return { program, args: readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0") };
  } catch {
    return undefined;
  }
}
