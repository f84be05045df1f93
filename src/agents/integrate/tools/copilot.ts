import { join } from "node:path";
import { jsonEdit } from "../json-entries.ts";
import { commandOf, type Integration, type Joining } from "../integration.ts";
import { blockEdit } from "../text-block.ts";

/** Copilot CLI, from its documentation of MCP servers as of October 2026. It was not run. */
export function copilot(at: Joining): Integration {
  const [command, ...args] = commandOf(at, "mcp");
  const value = { type: "local", command, args, tools: ["*"] };
  const servers =
    at.scope === "user"
      ? join(at.home, ".copilot", "mcp-config.json")
      : join(at.project, ".github", "mcp.json");
  return {
    edits: [
      jsonEdit(servers, "copilot", [{ path: ["mcpServers", "deaddrop"], value }]),
      ...(at.scope === "user" ? [] : [blockEdit(join(at.project, "AGENTS.md"))]),
    ],
    left: [
      "approve the tools of deaddrop when copilot asks",
      "nothing names mail while copilot works: its agent calls inbox, with wait_seconds to wait",
      "this was written from copilot's documentation and not tried",
    ],
  };
}
