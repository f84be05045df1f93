import { readlinkSync } from "node:fs";
import type { HookEvent, Moment, Pane, SessionProcess, Tool } from "../../api/tool-sessions.ts";
import {
  CODEX_BACKGROUND,
  codexTerminals,
  isWithoutTerminal,
  readCodex,
  shownThreads,
} from "../../daemon/sessions/codex-threads.ts";
import { listedProcess, sessionOwner } from "../../daemon/sessions/session-process.ts";

/** Where a session is, as far as its hook can tell; what is undefined stays as it was. Spec 8.3. */
export type SessionPlace = Pick<HookEvent, "process" | "wake">;

/** Where Qwen Code takes messages, in the environment of what it starts in a terminal. */
export const QWEN_SOCKET = "QWEN_CODE_MESSAGING_SOCKET";
const QWEN_TOKEN = "QWEN_CODE_MESSAGING_TOKEN";

/** Moments at which the person has just written, so that the session is on screen. */
const WRITTEN: readonly Moment[] = ["start", "resume", "prompt"];

/** @param env of the hook: the tool's own, unless the tool has a process in the background. */
export function sessionPlace(tool: Tool, moment: Moment, env: NodeJS.ProcessEnv): SessionPlace {
  const process = sessionOwner();
  const keys = paneOf(env);
  if (tool === "codex") return codexPlace(process, { moment, env, keys });
  const { [QWEN_SOCKET]: socket, [QWEN_TOKEN]: token } = env;
  if (tool === "qwen") {
    const isOpen = socket !== undefined && token !== undefined;
    return { process, wake: isOpen ? { by: "qwen", socket, token } : undefined };
  }
  // The others have a waiter of their own, which is better than keys; Cline is not woken.
  const isTypedInto = tool === "gemini" || tool === "copilot";
  return { process, wake: isTypedInto && keys !== undefined ? { by: "tmux", ...keys } : undefined };
}

function paneOf(env: NodeJS.ProcessEnv): Pane | undefined {
  const [server] = env["TMUX"]?.split(",") ?? [];
  const pane = env["TMUX_PANE"];
  if (server === undefined || server === "" || pane === undefined) return undefined;
  return { server, pane };
}

interface CodexHook {
  readonly moment: Moment;
  readonly env: NodeJS.ProcessEnv;
  readonly keys: Pane | undefined;
}

/**
 * Where a session of Codex is whose hook that process has started. A queued turn runs even when nobody
 * sees it, so the way names the terminals in which the session may be, and the newest thread by then: a
 * younger one takes its place on the screen. Without them, or where processes cannot be looked at, Codex
 * is not woken. Spec 8.3.
 *
 * @internal
 */
export function codexPlace(
  owner: SessionProcess | undefined,
  { moment, env, keys }: CodexHook,
): SessionPlace {
  const codex = owner === undefined ? undefined : readCodex(owner.pid);
  if (owner === undefined || codex === undefined) return { process: owner, wake: undefined };
  const home = env["CODEX_HOME"];
  const newest = shownThreads(home)?.at(-1);
  const namedAt = listedProcess(process.pid)?.started ?? "";
  const way = { by: "codex", program: codex.program, home, newest, namedAt } as const;
  const isWritten = WRITTEN.includes(moment);
  if (codex.args.includes(CODEX_BACKGROUND)) {
    const terminals = isWritten ? codexTerminals(readlinkSync("/proc/self/cwd")) : [];
    if (terminals.length === 0) return { process: undefined, wake: undefined };
    // Its environment, and so its pane, is that of the first session that it was started for.
    const [only] = terminals.length === 1 ? terminals : [];
    return { process: only, wake: { ...way, terminals, keys: undefined } };
  }
  const isWoken = isWritten && !isWithoutTerminal(codex);
  return { process: owner, wake: isWoken ? { ...way, terminals: [owner], keys } : undefined };
}
