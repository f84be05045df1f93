import { setTimeout as sleep } from "node:timers/promises";
import type { SessionProcess, WakeAnswer } from "../../api/tool-sessions.ts";
import { connectDaemon } from "../../client/socket-client.ts";
import { DeaddropError } from "../../api/errors.ts";
import { isAlive, sessionOwner } from "../../daemon/sessions/session-process.ts";
import { hookPaths, type HookIdentity, type HookProcess } from "./hook-daemon.ts";
import { isInteractive } from "./interactive.ts";
import { readEvent } from "./tool-hooks.ts";

/** The exit code that wakes the session. */
const WAKES = 2;
/** How often it looks whether its session is there, and a daemon that has gone. */
const WAITER_LOOK_MS = 2_000;
/** The longest time that a timer takes. */
const NO_LIMIT_MS = 2 ** 31 - 1;

/**
 * Waits in the background of a session until its agent is to be woken. The daemon has one waiter for a
 * session: a later one takes the place of an earlier one, which ends. It ends with its session too.
 * One that begins while no daemon runs ends at once; later it waits for a daemon that starts again.
 * Spec 8.3.
 */
export async function waitForWake(
  at: HookIdentity,
  input: string,
  io: HookProcess,
): Promise<number> {
  const event = readEvent(at.tool, input);
  if (event === undefined || event.moment === "end") return 0;
  const owner = sessionOwner();
  if (owner === undefined || !mayWait(at, owner, io.env)) return 0;
  io.takesItsTime();
  const name = { tool: at.tool, session: event.session };
  return await Promise.race([endOf(owner), waiting(at, { ...name, process: owner }, io)]);
}

/** Claude Code would keep a run without a terminal waiting for us. */
function mayWait({ tool }: HookIdentity, owner: SessionProcess, env: NodeJS.ProcessEnv): boolean {
  if (!isInteractive(tool, owner, env)) return false;
  return tool !== "claude" || env["CLAUDE_CODE_ENTRYPOINT"] === "cli";
}

async function endOf(owner: SessionProcess): Promise<number> {
  while (isAlive(owner)) await sleep(WAITER_LOOK_MS);
  return 0;
}

async function waiting(
  at: HookIdentity,
  session: { readonly tool: string; readonly session: string; readonly process: SessionProcess },
  io: HookProcess,
): Promise<number> {
  for (let wasThere = false; ; wasThere = true) {
    const paths = hookPaths(at, io.env);
    const daemon = paths && (await connectDaemon(paths, NO_LIMIT_MS));
    if (daemon === undefined) {
      if (!wasThere) return 0;
      await sleep(WAITER_LOOK_MS);
      continue;
    }
    try {
      const answer = (await daemon.call("await_wake", session)) as WakeAnswer;
      if (answer.why !== "mail") return 0;
      await io.complain(answer.say);
      const { tool, session: name } = session;
      await daemon.call("named", { tool, session: name, marks: answer.marks });
      return WAKES;
    } catch (error) {
      // The daemon has ended: it may start again.
      if (!(error instanceof DeaddropError) || error.code !== "storage") return 0;
      await sleep(WAITER_LOOK_MS);
    } finally {
      daemon.close();
    }
  }
}
