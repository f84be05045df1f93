import { join } from "node:path";
import { jsonEdit, serverEntry } from "../json-entries.ts";
import { ownerOf, type CodingTool, type Joining } from "../integration.ts";
import { blockEdit } from "../text-block.ts";
import { settingsFile } from "./opencode.ts";

/** A tool that was not run here: its MCP entry and the files of its instructions are from its documentation. */
function documentedTool(
  servers: string,
  find: (at: Joining, isUser: boolean) => { settings: string; instructions?: string },
  left: string,
): CodingTool {
  return {
    integration(at) {
      const { settings, instructions } = find(at, at.scope === "user");
      return {
        edits: [
          jsonEdit(settings, ownerOf(at), { entries: [serverEntry(at, servers)] }),
          ...(instructions === undefined ? [] : [blockEdit(join(instructions, "AGENTS.md"))]),
        ],
        left: [
          left,
          `nothing names mail while ${at.tool} works: its agent calls inbox, with wait_seconds to wait`,
          `this was written from the documentation of ${at.tool} and not tried`,
        ],
      };
    },
  };
}

/** Cursor and its CLI, as documented in October 2026. */
export const cursor = documentedTool(
  "mcpServers",
  ({ home, project }, isUser) => ({
    settings: join(isUser ? home : project, ".cursor", "mcp.json"),
    ...(isUser ? {} : { instructions: project }),
  }),
  "turn the server on in cursor's settings for MCP (in its CLI: agent mcp enable deaddrop), and approve its tools when it asks",
);

/** Amp, as documented in November 2026: it runs with its own service alone. */
export const amp = documentedTool(
  "amp.mcpServers",
  ({ home, project }, isUser) => {
    const own = join(home, ".config", "amp");
    return isUser
      ? { settings: settingsFile(own, "settings"), instructions: own }
      : { settings: settingsFile(join(project, ".amp"), "settings"), instructions: project };
  },
  "approve the server of the project when amp asks, and its tools",
);
