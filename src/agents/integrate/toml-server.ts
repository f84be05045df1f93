import { boundElsewhere, unreadable, type FileEdit, type Owner } from "./file-edit.ts";
import { isOfAnother, isOurServer } from "./integration.ts";
import { field } from "./tool-state.ts";
import { tomlIn, withoutNoted, withoutTable, withTable, type Values } from "./toml-tables.ts";

const SERVER = ["mcp_servers", "deaddrop"];
const SANDBOX = ["sandbox_workspace_write"];
const NOTE = "deaddrop integrate --open-sandbox";

/**
 * Our server among the MCP servers of Codex's `config.toml`. `opensSandbox`: commands in the sandbox of
 * Codex may use the network, and sockets with it.
 */
export function tomlServer(
  path: string,
  owner: Owner,
  server: Values,
  opensSandbox: boolean,
): FileEdit {
  return {
    path,
    isShared: false,
    put: (text = "") => {
      const settings = tomlIn(text, path);
      const there = SERVER.reduce<unknown>(field, settings);
      if (there !== undefined && !isOurServer(there)) {
        throw unreadable(path, "it has an MCP server `deaddrop` that is not of ours");
      }
      if (there !== undefined && isOfAnother(there, owner)) {
        throw boundElsewhere(path, [owner.tool]);
      }
      const joined = withTable(text, SERVER, server, { path });
      const isOpen = field(settings["sandbox_workspace_write"], "network_access") === true;
      if (!opensSandbox || isOpen) return joined;
      return withTable(joined, SANDBOX, { network_access: true }, { path, note: NOTE });
    },
    take: (text) => {
      const there = SERVER.reduce<unknown>(field, tomlIn(text, path));
      const without = isOurServer(there) ? withoutTable(text, SERVER) : text;
      const rest = withoutNoted(without, SANDBOX, NOTE);
      return rest !== text && rest.trim() === "" ? undefined : rest;
    },
  };
}
