import { dirname, join } from "node:path";
import { jsonEdit, serverEntry, type HookEntry, type JsonEntry } from "../json-entries.ts";
import { hookTroubles } from "../hook-entries.ts";
import {
  ownerOf,
  HOOK_EVENTS,
  HOOK_SECONDS,
  hookLine,
  waiterLine,
  type CodingTool,
  type Joining,
  type Place,
  type ToolTrouble,
} from "../integration.ts";
import { sandboxLeft, sandboxLimit } from "../sandbox.ts";
import { blockEdit } from "../text-block.ts";
import { field, json } from "../tool-state.ts";
import { skillEdit } from "../whole-file.ts";

/** A waiter waits as long as it may; the tool takes no more than this as a timer. */
const WAITER_SECONDS = 2_000_000;
/** Tools that change nothing. A test compares them with the table of tools. @internal */
export const READING_TOOLS = ["whoami", "inbox", "read"];
/** After these the session waits for its person: a waiter is armed. */
const WAITING_EVENTS = ["SessionStart", "Stop"];

/** Claude Code, as of 2.1.332. */
export const claude: CodingTool = {
  integration(at) {
    const { scope, project } = at;
    const user = userFiles(at);
    const folder = scope === "user" ? user.folder : join(project, ".claude");
    const settings = join(folder, scope === "local" ? "settings.local.json" : "settings.json");
    const servers = scope === "user" ? user.state : join(project, ".mcp.json");
    const instructions = {
      user: join(folder, "CLAUDE.md"),
      project: join(project, "CLAUDE.md"),
      local: join(project, "CLAUDE.local.md"),
    }[scope];
    // Only a person allows anything.
    const allowed = at.allowsReading ? rules() : [];
    return {
      edits: [
        jsonEdit(servers, ownerOf(at), { entries: [serverEntry(at)] }),
        jsonEdit(settings, ownerOf(at), {
          entries: [...allowed, ...opened(at)],
          hooks: hooks(at),
          rules: rules(),
        }),
        skillEdit(at, folder, "skills"),
        blockEdit(instructions),
      ],
      left: [
        "start claude in the project: accept its trust question and the server deaddrop, if it asks",
        "approve the tools of deaddrop when claude asks, or allow them: /permissions, mcp__deaddrop",
        ...sandboxLeft(at, "claude"),
      ],
    };
  },

  settings: /^settings(?:\.local)?\.json$/u,
  troubles: settingsTroubles,
};

/** The person's own files. CLAUDE_CONFIG_DIR moves all of them. */
function userFiles({ home, env }: Pick<Place, "home" | "env">): { folder: string; state: string } {
  const own = env["CLAUDE_CONFIG_DIR"] ?? "";
  return own === ""
    ? { folder: join(home, ".claude"), state: join(home, ".claude.json") }
    : { folder: own, state: join(own, ".claude.json") };
}

/** One string for each: Copilot CLI reads these hooks too, and leaves out arguments. */
function hooks(at: Joining): HookEntry[] {
  const hook = { type: "command", command: hookLine(at), timeout: HOOK_SECONDS };
  const waiter = {
    ...hook,
    command: waiterLine(at),
    asyncRewake: true,
    timeout: WAITER_SECONDS,
  };
  return HOOK_EVENTS.map((event) => ({
    event,
    hooks: WAITING_EVENTS.includes(event) ? [hook, waiter] : [hook],
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

function settingsTroubles(place: Place, path: string): ToolTrouble[] {
  const { disk } = place;
  const user = userFiles(place);
  const isUsers = dirname(path) === user.folder;
  const folder = dirname(dirname(path));
  const missing = "start claude there, and accept its trust question and the server deaddrop";
  const own = join(user.folder, "settings.json");
  const at = { path, user: own, folder, isApproved: isUsers || isApproved(place, folder), missing };
  return [
    ...hookTroubles(disk, { tool: "claude", ...at }),
    ...(isSandboxClosed(place, [path, own]) ? [sandboxLimit("claude")] : []),
  ];
}

function isApproved(place: Place, folder: string): boolean {
  const { disk } = place;
  const project = field(json(disk, userFiles(place).state)["projects"], folder);
  // What was answered to its question about a server it keeps in the one or the other file.
  const kept = [project, json(disk, join(folder, ".claude", "settings.local.json"))];
  const servers = kept.flatMap((each) => field(each, "enabledMcpjsonServers"));
  const allowsAll = kept.some((each) => field(each, "enableAllProjectMcpServers") === true);
  const hasServer = allowsAll || servers.includes("deaddrop");
  return hasServer && field(project, "hasTrustDialogAccepted") === true;
}

/** Commands run in a sandbox from which the daemon cannot be reached. */
function isSandboxClosed({ disk }: Place, files: readonly string[]): boolean {
  const sandboxes = files.map((path) => json(disk, path)["sandbox"]);
  const isOpen = sandboxes.some((sandbox) =>
    Object.entries(field(sandbox, "network") ?? {}).some(
      ([name, value]) => /^allow(?:All)?UnixSockets$/u.test(name) && value !== false,
    ),
  );
  return !isOpen && sandboxes.some((sandbox) => field(sandbox, "enabled") === true);
}
