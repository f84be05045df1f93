import { existsSync } from "node:fs";
import { join } from "node:path";
import { jsonEdit } from "../json-entries.ts";
import { commandOf, ownerOf, type CodingTool } from "../integration.ts";
import { blockEdit } from "../text-block.ts";
import { skillEdit, wholeFile } from "../whole-file.ts";

const COMMAND = 'const COMMAND = ["deaddrop", "hook", "opencode"];';

/** OpenCode, as of 1.18.33. It has no files of a person for one project. */
export const opencode: CodingTool = {
  integration(at) {
    const { scope, home, project, env, plugin } = at;
    const isUser = scope === "user";
    const configHome = env["XDG_CONFIG_HOME"] ?? join(home, ".config");
    const root = isUser ? join(configHome, "opencode") : project;
    const folder = isUser ? root : join(project, ".opencode");
    const withComments = join(root, "opencode.jsonc");
    const config = existsSync(withComments) ? withComments : join(root, "opencode.json");
    const value = { type: "local", command: commandOf(at, "mcp"), enabled: true };
    const bound = `const COMMAND = ${JSON.stringify(commandOf(at, "hook", "opencode"))};`;
    return {
      edits: [
        jsonEdit(config, ownerOf(at), { entries: [{ path: ["mcp", "deaddrop"], value }] }),
        wholeFile(join(folder, "plugins", "deaddrop.js"), ownerOf(at), {
          text: plugin.replace(COMMAND, () => bound),
          mark: "deaddrop: a plugin of OpenCode",
          identified: /^const COMMAND = .*$/mu,
        }),
        skillEdit(at, isUser ? home : project, ".agents", "skills"),
        blockEdit(isUser ? join(root, "AGENTS.md") : join(project, "AGENTS.md")),
      ],
      left: ["start opencode again: it reads its plugins at its start"],
    };
  },
};
