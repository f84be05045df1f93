import { existsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { HookAnswer } from "../../api/tool-sessions.ts";
import { folderGoneText, noDaemonText } from "../../framing/mail-text.ts";
import { connectDaemon } from "../../client/socket-client.ts";
import type { DaemonPaths } from "../../storage/paths.ts";
import { MINUTE_MS } from "../../wire/durations.ts";
import { hookPaths, type HookIdentity, type HookProcess } from "./hook-daemon.ts";
import { hookCall } from "./hook-identity.ts";
import { isInteractive } from "./interactive.ts";
import { sessionPlace } from "./session-place.ts";
import { outputOf, readEvent, type ToolEvent } from "./tool-hooks.ts";
import { waitForWake } from "./wait-for-wake.ts";
import { sessionOwner } from "../../daemon/sessions/session-process.ts";

/** No tool may be kept waiting for longer. */
export const HOOK_LIMIT_MS = 2_000;
/** A daemon that kept a hook waiting until its limit is asked again only after this time. */
const PAUSE_MS = MINUTE_MS;

/**
 * One run of a tool's hook: reads the event, asks the daemon, prints what the tool takes. On any doubt
 * it prints nothing. Returns the exit code: 0, or 2 from a waiter that wakes. Spec 8.3.
 */
export async function runToolHook(args: readonly string[], io: HookProcess): Promise<number> {
  try {
    const at = await hookCall(args, { env: io.env, cwd: currentFolder() });
    if (at === undefined) return 0;
    const input = await io.input();
    if (input === undefined) return 0;
    if (at.isWaiter) return await waitForWake(at, input, io);
    const event = readEvent(at.tool, input);
    if (event !== undefined) await answer(at, event, io);
  } catch {
    // Whatever it is, the tool's turn must not suffer from it; `deaddrop doctor` finds it.
  }
  return 0;
}

async function answer(at: HookIdentity, event: ToolEvent, io: HookProcess): Promise<void> {
  const gone = missingFolder(at.wireDir);
  if (gone !== undefined && ["start", "resume", "prompt"].includes(event.moment)) {
    await io.print(outputOf(at.tool, event, { say: folderGoneText(gone), goOn: false }));
    return;
  }
  const paths = hookPaths(at, io.env);
  if (paths !== undefined) {
    if (isUnanswered(paths, Date.now())) return;
    io.atLimit(() => noteUnanswered(paths));
  }
  const daemon = paths === undefined ? undefined : await connectDaemon(paths, HOOK_LIMIT_MS);
  if (daemon === undefined) {
    const isFirst = event.moment === "start" || event.moment === "resume";
    const say = isFirst ? noDaemonText(at.handle) : null;
    const text = outputOf(at.tool, event, { say, goOn: false });
    if (text !== "") await io.print(text);
    return;
  }
  const { tool } = at;
  const { session, moment, isContinued } = event;
  const isSeen = isInteractive(tool, sessionOwner(), io.env);
  const place = { ...sessionPlace(tool, moment, io.env), ...(isSeen ? {} : { wake: undefined }) };
  const asked = { tool, session, moment, isContinued, isInteractive: isSeen, ...place };
  const answered = (await daemon.call("hook", asked)) as HookAnswer;
  const text = outputOf(tool, event, answered);
  if (text !== "") {
    await io.print(text);
    // Only now: what was counted and not shown is counted again.
    await daemon.call("named", { tool, session, marks: answered.marks });
  }
  daemon.close();
}

/** An empty file beside the daemon's socket: a hook has waited for that daemon in vain. Spec 8.3. */
function markOf({ stateDir }: DaemonPaths): string {
  return join(stateDir, "hook-unanswered");
}

function isUnanswered(paths: DaemonPaths, nowMs: number): boolean {
  const since = statSync(markOf(paths), { throwIfNoEntry: false })?.mtimeMs;
  return since !== undefined && Math.abs(nowMs - since) < PAUSE_MS;
}

function noteUnanswered(paths: DaemonPaths): void {
  try {
    writeFileSync(markOf(paths), "");
  } catch {
    // The disk is full or read-only: the next hook waits as well.
  }
}

/** The wire or the session's own folder, where it was removed. */
function missingFolder(wireDir: string): string | undefined {
  if (!existsSync(wireDir)) return `the wire's folder ${JSON.stringify(wireDir)}`;
  return currentFolder() === undefined ? "the folder of this session" : undefined;
}

/** Undefined where it was removed. */
function currentFolder(): string | undefined {
  try {
    return process.cwd();
  } catch {
    return undefined;
  }
}
