import { join } from "node:path";
import { jsonEdit, type JsonEntry } from "../json-entries.ts";
import {
  commandOf,
  HOOK_SECONDS,
  isHookOf,
  shellLine,
  type Integration,
  type Joining,
} from "../integration.ts";
import { blockEdit } from "../text-block.ts";
import { wholeFile } from "../whole-file.ts";

const EVENTS = ["SessionStart", "BeforeAgent", "AfterTool", "AfterAgent", "SessionEnd"];
const HOOK_MS = HOOK_SECONDS * 1_000;

/** Gemini CLI, as of 0.61.0. It has no files of a person for one project. */
export function gemini(at: Joining): Integration {
  const { scope, home, project } = at;
  const root = scope === "user" ? home : project;
  const folder = join(root, ".gemini");
  const [command = "", ...args] = commandOf(at, "mcp");
  const line = shellLine(commandOf(at, "hook", "gemini"));
  const hook = { type: "command", name: "deaddrop", command: line, timeout: HOOK_MS };
  const entries: JsonEntry[] = EVENTS.map((event) => ({
    path: ["hooks", event],
    value: { matcher: "*", hooks: [hook] },
    isOurs: (item) => isHookOf("gemini", item),
  }));
  const server = { path: ["mcpServers", "deaddrop"], value: { command, args } };
  return {
    edits: [
      jsonEdit(join(folder, "settings.json"), "gemini", [server, ...entries]),
      wholeFile(join(root, ".agents", "skills", "deaddrop", "SKILL.md"), "gemini", {
        text: at.skill,
        mark: "name: deaddrop",
      }),
      blockEdit(scope === "user" ? join(folder, "GEMINI.md") : join(project, "GEMINI.md")),
    ],
    left: [
      "trust the folder in gemini (/permissions, or its question at the start)",
      "without a person gemini offers the tools of deaddrop only if you allow them",
      "an idle gemini is woken by keys, and only within tmux",
    ],
  };
}
