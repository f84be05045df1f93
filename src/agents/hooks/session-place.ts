import type { HookEvent, Moment, Pane, Tool } from "../../api/tool-sessions.ts";
import { codexPlace } from "./codex-place.ts";
import { sessionOwner } from "./session-owner.ts";

/** Where a session is, as far as its hook can tell; what is undefined stays as it was. Spec 8.3. */
export type SessionPlace = Pick<HookEvent, "process" | "wake">;

/** Where Qwen Code takes messages, in the environment of what it starts in a terminal. */
export const QWEN_SOCKET = "QWEN_CODE_MESSAGING_SOCKET";
const QWEN_TOKEN = "QWEN_CODE_MESSAGING_TOKEN";

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
