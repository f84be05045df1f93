import { join } from "node:path";
import { jsonEdit, type JsonEntry } from "../json-entries.ts";
import {
  commandOf,
  HOOK_SECONDS,
  isHookOf,
  type Integration,
  type Joining,
} from "../integration.ts";
import { sandboxLeft } from "../sandbox.ts";
import { blockEdit } from "../text-block.ts";
import { wholeFile } from "../whole-file.ts";

/** A waiter waits as long as it may; the tool takes no more than this as a timer. */
const WAITER_SECONDS = 2_000_000;
const EVENTS = ["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd"];
/** Tools that change nothing. A test compares them with the table of tools. @internal */
export const READING_TOOLS = ["whoami", "inbox", "read"];
/** After these the session waits for its person: a waiter is armed. */
const WAITING_EVENTS = ["SessionStart", "Stop"];

/** Claude Code, as of 2.1.197. */
export function claude(at: Joining): Integration {
  const { scope, home, project } = at;
  const root = scope === "user" ? home : project;
  const folder = join(root, ".claude");
  const settings = join(folder, scope === "local" ? "settings.local.json" : "settings.json");
  const servers = scope === "user" ? join(home, ".claude.json") : join(project, ".mcp.json");
  const [command, ...args] = commandOf(at, "mcp");
  const server = { path: ["mcpServers", "deaddrop"], value: { command, args } };
  const instructions = {
    user: join(folder, "CLAUDE.md"),
    project: join(project, "CLAUDE.md"),
    local: join(project, "CLAUDE.local.md"),
  }[scope];
  // Only a person allows anything.
  const allowed = at.allowsReading ? rules() : [];
  return {
    edits: [
      jsonEdit(servers, "claude", [server]),
      jsonEdit(settings, "claude", [...hooks(at), ...allowed, ...opened(at)], rules()),
      wholeFile(join(folder, "skills", "deaddrop", "SKILL.md"), "claude", {
        text: at.skill,
        mark: "name: deaddrop",
      }),
      blockEdit(instructions),
    ],
    left: [
      "start claude in the project: accept its trust question and the server deaddrop, if it asks",
      "approve the tools of deaddrop when claude asks, or allow them: /permissions, mcp__deaddrop",
      ...sandboxLeft(at, "claude"),
    ],
  };
}

function hooks(at: Joining): JsonEntry[] {
  const [command = "", ...args] = commandOf(at, "hook", "claude");
  const hook = { type: "command", command, args, timeout: HOOK_SECONDS };
  const waiter = { ...hook, args: [...args, "--wait"], asyncRewake: true, timeout: WAITER_SECONDS };
  return EVENTS.map((event) => ({
    path: ["hooks", event],
    value: { hooks: WAITING_EVENTS.includes(event) ? [hook, waiter] : [hook] },
    isOurs: (item) => isHookOf("claude", item),
  }));
}

/** The sandbox can tell sockets apart on macOS alone. It stays when the tool is taken out: others may need it. */
function opened({ openedSocket }: Joining): JsonEntry[] {
  if (openedSocket === undefined) return [];
  const path = ["sandbox", "network"];
  return process.platform === "darwin"
    ? [
        {
          path: [...path, "allowUnixSockets"],
          value: openedSocket,
          isOurs: (item) => item === openedSocket,
        },
      ]
    : [{ path: [...path, "allowAllUnixSockets"], value: true }];
}

function rules(): JsonEntry[] {
  const names = READING_TOOLS.map((tool) => `mcp__deaddrop__${tool}`);
  return names.map((value) => ({
    path: ["permissions", "allow"],
    value,
    isOurs: (item) => item === value,
  }));
}
