import { parse } from "smol-toml";
import { boundElsewhere, unreadable, type FileEdit } from "./file-edit.ts";

const BEGIN = "# deaddrop:begin, kept by `deaddrop integrate`";
const END = "# deaddrop:end";
const BLOCK = /(?:\r?\n)?# deaddrop:begin[\s\S]*?# deaddrop:end[^\n]*\n?/u;

/** Our server among the MCP servers of Codex's `config.toml`: a block at its end. */
export function tomlEdit(path: string, server: { command: string; args: string[] }): FileEdit {
  const { command, args } = server;
  // A JSON string is a TOML string.
  const block = [
    BEGIN,
    "[mcp_servers.deaddrop]",
    `command = ${JSON.stringify(command)}`,
    `args = [${args.map((arg) => JSON.stringify(arg)).join(", ")}]`,
    END,
  ].join("\n");
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
      const gap = text === "" ? "" : text.endsWith("\n") ? "\n" : "\n\n";
      return `${text}${gap}${block}\n`;
    },
    take: (text) => {
      const rest = text.replace(BLOCK, "");
      return rest !== text && rest.trim() === "" ? undefined : rest;
    },
  };
}

function serverIn(text: string, path: string): { args?: unknown } | undefined {
  try {
    const { mcp_servers: servers } = parse(text) as { mcp_servers?: Record<string, object> };
    return servers?.["deaddrop"];
  } catch (error) {
    throw unreadable(path, `not valid TOML: ${(error as Error).message.split("\n")[0]}`);
  }
}

/** Whom the server speaks for: what comes behind its command. */
function identityOf(args: unknown): string {
  const words = Array.isArray(args) ? args.map(String) : [];
  return words.slice(words.indexOf("--as")).join(" ");
}
