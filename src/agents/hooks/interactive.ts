import { readFileSync, readlinkSync } from "node:fs";
import type { SessionProcess, Tool } from "../../api/tool-sessions.ts";
import { QWEN_SOCKET } from "./session-place.ts";

/** Arguments with which a tool runs one prompt and ends; the plugins of pi and Cline tell it themselves. */
const ONE_PROMPT: { readonly [T in Tool]?: RegExp } = {
  claude: /^(?:-p|--print)$/u,
  codex: /^(?:exec|e|review)$/u,
  gemini: /^(?:-p|--prompt(?:=.*)?)$/u,
  opencode: /^run$/u,
  copilot: /^(?:-p|--prompt(?:=.*)?|--acp)$/u,
  kilo: /^run$/u,
};

/**
 * Whether a person sees the session, so that its agent may be kept from ending: what the agent says last in
 * a run without one is the run's result. `owner`: the tool's process; what it tells nothing of counts as
 * interactive. Spec 8.3.
 */
export function isInteractive(
  tool: Tool,
  owner: SessionProcess | undefined,
  env: NodeJS.ProcessEnv,
): boolean {
  // Claude Code says what has started it: `sdk-cli` for `claude -p`, `sdk-ts` and others for programs.
  if (tool === "claude" && env["CLAUDE_CODE_ENTRYPOINT"]?.startsWith("sdk") === true) return false;
  // Qwen Code has a socket for messages where a person sees it.
  if (tool === "qwen") return env[QWEN_SOCKET] !== undefined;
  if (owner === undefined) return true;
  if (argumentsOf(owner).some((word) => ONE_PROMPT[tool]?.test(word))) return false;
  // These take a prompt from a pipe, too.
  return !["gemini", "copilot"].includes(tool) || !isInputPiped(owner);
}

function argumentsOf({ pid }: SessionProcess): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").slice(1);
  } catch {
    return [];
  }
}

function isInputPiped({ pid }: SessionProcess): boolean {
  try {
    return !/^\/dev\/(?:pts\/|tty)/u.test(readlinkSync(`/proc/${pid}/fd/0`));
  } catch {
    return false;
  }
}
