import { existsSync } from "node:fs";
import { join } from "node:path";
import { jsonEdit } from "../json-entries.ts";
import { commandOf, ownerOf, type CodingTool, type Joining } from "../integration.ts";
import { blockEdit } from "../text-block.ts";
import { skillEdit, wholeFile } from "../whole-file.ts";

const COMMAND = 'const COMMAND = ["deaddrop", "hook"];';

/** Where a tool has its files in one scope: all are folders. */
interface Places {
  /** Undefined: it has no MCP servers that may differ from project to project. */
  readonly settings?: string;
  readonly plugins: string;
  /** The one with AGENTS.md. */
  readonly instructions: string;
}

/** A tool that runs a plugin of ours. It has no files of a person for one project. */
function joinedByPlugin(
  adapter: string,
  findPlaces: (at: Joining, isUser: boolean) => Places,
): CodingTool {
  return {
    integration(at) {
      const { tool, scope, home, project } = at;
      const isUser = scope === "user";
      const { settings, plugins, instructions } = findPlaces(at, isUser);
      const value = { type: "local", command: commandOf(at, "mcp"), enabled: true };
      const bound = `const COMMAND = ${JSON.stringify(commandOf(at, "hook", tool))};`;
      return {
        edits: [
          ...(settings === undefined
            ? []
            : [
                jsonEdit(settingsFile(settings, tool), ownerOf(at), {
                  entries: [{ path: ["mcp", "deaddrop"], value }],
                }),
              ]),
          wholeFile(join(plugins, "deaddrop.js"), ownerOf(at), {
            text: at.plugin(adapter).replace(COMMAND, () => bound),
            mark: "deaddrop: a plugin of",
            identified: /^const COMMAND = .*$/mu,
          }),
          skillEdit(at, isUser ? home : project, ".agents", "skills"),
          blockEdit(join(instructions, "AGENTS.md")),
        ],
        left: [
          `start ${tool} again: it reads its plugins at its start`,
          ...(settings === undefined
            ? [`${tool} gets no MCP server: its agent runs the commands of deaddrop in its shell`]
            : []),
        ],
      };
    },
  };
}

/** The file with comments, where the person has one. */
export function settingsFile(folder: string, name: string): string {
  const withComments = join(folder, `${name}.jsonc`);
  return existsSync(withComments) ? withComments : join(folder, `${name}.json`);
}

/** OpenCode, as of 1.18.33. */
export const opencode = joinedByPlugin("opencode", (at, isUser) => ({
  ...placesLikeOpenCode(at, isUser),
  ...(isUser ? {} : { settings: at.project }),
}));

/**
 * Kilo, as of 7.7.7, descends from OpenCode. It reads `opencode.json` of the project, too, and prefers what
 * is in `.kilo/`.
 */
export const kilo = joinedByPlugin("opencode", placesLikeOpenCode);

function placesLikeOpenCode({ tool, home, project, env }: Joining, isUser: boolean): Places {
  const own = join(env["XDG_CONFIG_HOME"] ?? join(home, ".config"), tool);
  const settings = isUser ? own : join(project, `.${tool}`);
  return { settings, plugins: join(settings, "plugins"), instructions: isUser ? own : project };
}

/** pi, as of 0.73.1, which has no MCP. */
export const pi = joinedByPlugin("pi", ({ home, project, env }, isUser) => {
  const own = env["PI_CODING_AGENT_DIR"] ?? join(home, ".pi", "agent");
  return isUser
    ? { plugins: join(own, "extensions"), instructions: own }
    : { plugins: join(project, ".pi", "extensions"), instructions: project };
});

/**
 * Cline, as of 3.0.65. Its MCP servers are of all projects and run in a background process, in the folder
 * where that was first started: an entry of ours would speak for the agent of another project.
 */
export const cline = joinedByPlugin("cline", ({ home, project, env }, isUser) => ({
  plugins: join(
    isUser ? (env["CLINE_DIR"] ?? join(home, ".cline")) : join(project, ".cline"),
    "plugins",
  ),
  instructions: isUser ? join(home, ".agents") : project,
}));
