import { dirname, join } from "node:path";
import { hookTroubles } from "../hook-entries.ts";
import {
  ownerOf,
  HOOK_EVENTS,
  HOOK_SECONDS,
  hookLine,
  type CodingTool,
  type Place,
  type ToolTrouble,
} from "../integration.ts";
import { jsonEdit, serverEntry } from "../json-entries.ts";
import { blockEdit } from "../text-block.ts";
import { isTrusted, json, listOf } from "../tool-state.ts";
import { skillEdit } from "../whole-file.ts";

/** GitHub Copilot CLI, as of 1.0.102. It takes the servers of `.mcp.json`, as Claude Code does. */
export const copilot: CodingTool = {
  integration(at) {
    const { scope, project } = at;
    const isUser = scope === "user";
    const user = userFolder(at);
    const folder = isUser ? user : join(project, ".github", "copilot");
    const settings = scope === "local" ? "settings.local.json" : "settings.json";
    const hook = { type: "command", command: hookLine(at), timeout: HOOK_SECONDS };
    // Copilot adds this to each server of its own file when it changes one.
    const tools = isUser ? { tools: ["*"] } : {};
    const skills = isUser ? join(user, "skills") : join(project, ".agents", "skills");
    return {
      edits: [
        jsonEdit(join(folder, settings), ownerOf(at), {
          entries: [],
          // With these names an event has the same fields as in Claude Code.
          hooks: HOOK_EVENTS.map((event) => ({ event, hooks: [hook] })),
        }),
        jsonEdit(isUser ? join(user, "mcp-config.json") : join(project, ".mcp.json"), ownerOf(at), {
          entries: [serverEntry(at, "mcpServers", tools)],
        }),
        skillEdit(at, skills),
        blockEdit(isUser ? join(user, "copilot-instructions.md") : join(project, "AGENTS.md")),
      ],
      left: [
        ...(isUser ? [] : ["trust the folder in copilot, and remember it: it asks at its start"]),
        "approve the tools of deaddrop when copilot asks",
        "an idle copilot is woken by keys, only within tmux and after its first prompt",
      ],
    };
  },

  settings: /^settings(?:\.local)?\.json$/u,
  troubles: settingsTroubles,
};

function userFolder({ home, env }: Pick<Place, "home" | "env">): string {
  const own = env["COPILOT_HOME"] ?? "";
  return own === "" ? join(home, ".copilot") : own;
}

function settingsTroubles(place: Place, path: string): ToolTrouble[] {
  const { disk } = place;
  const user = userFolder(place);
  const folder = dirname(dirname(dirname(path)));
  const trusted = listOf(json(disk, join(user, "config.json"))["trustedFolders"]);
  const isApproved =
    dirname(path) === user || isTrusted(folder, (at) => trusted.includes(at) || undefined);
  const missing = "start copilot there, and trust the folder for future sessions";
  const at = { path, user: join(user, "settings.json"), folder, isApproved, missing };
  return hookTroubles(disk, { tool: "copilot", ...at });
}
