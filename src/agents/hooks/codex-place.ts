import { readlinkSync } from "node:fs";
import type { Moment, Pane, SessionProcess } from "../../api/tool-sessions.ts";
import {
  CODEX_BACKGROUND,
  codexTerminals,
  isWithoutTerminal,
  readCodex,
  shownThreads,
} from "../../daemon/sessions/codex-threads.ts";
import { listedProcess } from "../../daemon/sessions/session-process.ts";
import type { SessionPlace } from "./session-place.ts";

/** Moments at which the person has just written, so that the session is on screen. */
const WRITTEN: readonly Moment[] = ["start", "resume", "prompt"];

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
