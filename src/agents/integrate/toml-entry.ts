import { parse } from "smol-toml";
import { boundElsewhere, unreadable, type FileEdit } from "./file-edit.ts";

const BEGIN = "# deaddrop:begin, kept by `deaddrop integrate`";
const END = "# deaddrop:end";
const BLOCK = /(?:\r?\n)?# deaddrop:begin[\s\S]*?# deaddrop:end[^\n]*\n?/u;

const SANDBOX = "sandbox_workspace_write";

/**
 * Our server among the MCP servers of Codex's `config.toml`: a block at its end. `opensSandbox`: commands
 * in the sandbox of Codex may use the network, and sockets with it.
 */
export function tomlEdit(
  path: string,
  server: { command: string; args: string[] },
  opensSandbox = false,
): FileEdit {
  const { command, args } = server;
  // A JSON string is a TOML string.
  const entry = [
    "[mcp_servers.deaddrop]",
    `command = ${JSON.stringify(command)}`,
    `args = [${args.map((arg) => JSON.stringify(arg)).join(", ")}]`,
  ];
  const opened = [`[${SANDBOX}]`, "network_access = true"];
  return {
    path,
    isShared: false,
    put: (given = "") => {
      const known = serverIn(given, path);
      const text = given.replace(BLOCK, "");
      if (serverIn(text, path) !== undefined) {
        throw unreadable(path, "it has an MCP server `deaddrop` that is not of ours");
      }
      if (known !== undefined && identityOf(known.args) !== identityOf(args)) {
        throw boundElsewhere(path, "codex");
      }
      const isOpened = BLOCK.exec(given)?.[0].includes(`[${SANDBOX}]`) === true;
      const opens = isOpened || (opensSandbox && !isOpen(text, path));
      const block = [BEGIN, ...entry, ...(opens ? opened : []), END].join("\n");
      const gap = text === "" ? "" : text.endsWith("\n") ? "\n" : "\n\n";
      return `${text}${gap}${block}\n`;
    },
    take: (text) => {
      const rest = text.replace(BLOCK, "");
      return rest !== text && rest.trim() === "" ? undefined : rest;
    },
  };
}

/** Whether the file opens the sandbox already. A table of its own cannot be continued by us. */
function isOpen(text: string, path: string): boolean {
  const table = tablesIn(text, path)[SANDBOX];
  if (table === undefined) return false;
  if ("network_access" in table && table.network_access === true) return true;
  throw unreadable(
    path,
    `it has a table [${SANDBOX}] of yours`,
    "put `network_access = true` into that table, and run this again; nothing was changed",
  );
}

function serverIn(text: string, path: string): { args?: unknown } | undefined {
  return (tablesIn(text, path)["mcp_servers"] as Record<string, object> | undefined)?.["deaddrop"];
}

function tablesIn(text: string, path: string): Record<string, object> {
  try {
    return parse(text) as Record<string, object>;
  } catch (error) {
    throw unreadable(path, `not valid TOML: ${(error as Error).message.split("\n")[0]}`);
  }
}

/** Whom the server speaks for: what comes behind its command. */
function identityOf(args: unknown): string {
  const words = Array.isArray(args) ? args.map(String) : [];
  return words.slice(words.indexOf("--as")).join(" ");
}
