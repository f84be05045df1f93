import { readFileSync, readlinkSync } from "node:fs";
import { basename } from "node:path";
import type { SessionProcess, Tool, WakeWay } from "../../api/tool-sessions.ts";
import { listedProcess } from "../../daemon/sessions/session-process.ts";

/** What a tool may put between itself and its hooks. */
const SHELLS: ReadonlySet<string> = new Set(["sh", "bash", "dash", "zsh", "ash", "env"]);
const MAX_SHELLS = 4;

/**
 * The process of the tool that has started us: the first one above us that is no shell. Undefined on a
 * system without /proc.
 */
export function sessionOwner(from = process.ppid): SessionProcess | undefined {
  let pid = from;
  for (let shells = 0; shells <= MAX_SHELLS; shells += 1) {
    const listed = listedProcess(pid);
    if (listed === undefined) return undefined;
    if (!SHELLS.has(listed.name)) return { pid, started: listed.started };
    pid = listed.parent;
  }
  return undefined;
}

/** How the daemon may reach the session by itself, as far as the hook can tell. Spec 8.3. */
export function wakeWayOf(
  tool: Tool,
  owner: SessionProcess | undefined,
  env: NodeJS.ProcessEnv,
): WakeWay | undefined {
  if (tool === "codex" && owner !== undefined) {
    const program = codexProgram(owner.pid);
    if (program !== undefined) return { by: "codex", program, home: env["CODEX_HOME"] };
  }
  // A waiter of the tool's own is better than keys.
  if (tool === "claude" || tool === "opencode") return undefined;
  const [server] = env["TMUX"]?.split(",") ?? [];
  const pane = env["TMUX_PANE"];
  if (server === undefined || server === "" || pane === undefined) return undefined;
  return { by: "tmux", server, pane };
}

/**
 * Codex itself, of which the session is seen to be open as long as it runs. Its background process
 * outlives the terminal and would run a turn that nobody sees: then it is undefined.
 */
function codexProgram(pid: number): string | undefined {
  try {
    const program = readlinkSync(`/proc/${pid}/exe`);
    const args = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
    if (!basename(program).startsWith("codex")) return undefined;
    return args.includes("app-server") || args.includes("exec") ? undefined : program;
  } catch {
    return undefined;
  }
}
