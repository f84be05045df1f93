import { join } from "node:path";
import { jsonEdit } from "../json-entries.ts";
import { commandOf, ownerOf, type CodingTool } from "../integration.ts";
import { blockEdit } from "../text-block.ts";

/** Cursor, from its documentation of MCP and of rules as of October 2026. It was not run. */
export const cursor: CodingTool = {
  integration(at) {
    const root = at.scope === "user" ? at.home : at.project;
    const [command, ...args] = commandOf(at, "mcp");
    const server = { path: ["mcpServers", "deaddrop"], value: { command, args } };
    return {
      edits: [
        jsonEdit(join(root, ".cursor", "mcp.json"), ownerOf(at), { entries: [server] }),
        ...(at.scope === "user" ? [] : [blockEdit(join(at.project, "AGENTS.md"))]),
      ],
      left: [
        "turn the server on in cursor's settings for MCP, and approve its tools when it asks",
        "nothing names mail while cursor works: its agent calls inbox, with wait_seconds to wait",
        "this was written from cursor's documentation and not tried",
      ],
    };
  },
};
