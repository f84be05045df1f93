import { join } from "node:path";
import { jsonEdit } from "../json-entries.ts";
import { commandOf, ownerOf, type CodingTool, type Joining } from "../integration.ts";
import { blockEdit } from "../text-block.ts";

/** Copilot CLI, as of 1.0.102: it takes the servers of `.mcp.json` first, and those of Claude Code's hooks. */
export const copilot: CodingTool = {
  servers: {
    own: serversOf,
    others: ({ project }) => [join(project, ".mcp.json")],
  },

  integration(at) {
    const [command, ...args] = commandOf(at, "mcp");
    const value = { type: "local", command, args, tools: ["*"] };
    return {
      edits: [
        jsonEdit(serversOf(at), ownerOf(at), {
          entries: [{ path: ["mcpServers", "deaddrop"], value }],
        }),
        ...(at.scope === "user" ? [] : [blockEdit(join(at.project, "AGENTS.md"))]),
      ],
      left: [
        ...(at.scope === "user"
          ? []
          : [
              "trust the folder in copilot, which asks at its start: untrusted, it has no tools of ours",
            ]),
        "approve the tools of deaddrop when copilot asks",
        "nothing names mail while copilot works, but with the hooks of claude in the same folder: its agent calls inbox, with wait_seconds to wait",
      ],
    };
  },
};

function serversOf({ scope, home, env, project }: Joining): string {
  if (scope !== "user") return join(project, ".github", "mcp.json");
  const own = env["COPILOT_HOME"] ?? "";
  return join(own === "" ? join(home, ".copilot") : own, "mcp-config.json");
}
