import { dirname, join } from "node:path";
import { jsonEdit, serverEntry } from "../json-entries.ts";
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
import { blockEdit } from "../text-block.ts";
import { field, isTrusted, json } from "../tool-state.ts";
import { skillEdit } from "../whole-file.ts";

/** What tells Gemini CLI and the tools that descend from it apart. */
interface Kin {
  readonly tool: "gemini" | "qwen";
  readonly events: readonly string[];
  readonly unit: "seconds" | "milliseconds";
  /** The folder of the tool in the person's home, and that of their skills. */
  folderOf(place: Pick<Place, "home" | "env">): string;
  skillsOf(folder: string): string;
  /** The files of instructions, in the person's folder and in a project. */
  readonly instructions: { readonly user: string; readonly project: string };
  /** The setting that switches hooks off. */
  readonly off: readonly [path: readonly string[], value: boolean];
  /** Whether the person is asked to trust a folder, in view of their settings. */
  asksForTrust(settings: unknown): boolean;
  readonly left: readonly string[];
}

/** Gemini CLI, as of 0.61.0. */
export const gemini = kin({
  tool: "gemini",
  events: ["SessionStart", "BeforeAgent", "AfterTool", "AfterAgent", "SessionEnd"],
  unit: "milliseconds",
  folderOf: ({ home, env }) => join(env["GEMINI_CLI_HOME"] || home, ".gemini"),
  skillsOf: (folder) => join(dirname(folder), ".agents", "skills"),
  instructions: { user: "GEMINI.md", project: "GEMINI.md" },
  off: [["hooksConfig", "enabled"], false],
  asksForTrust: () => true,
  left: [
    "trust the folder in gemini (/permissions, or its question at the start)",
    "without a person gemini offers the tools of deaddrop only if you allow them",
    "an idle gemini is woken by keys, and only within tmux",
  ],
});

/** Qwen Code, as of 0.24.4. Its hooks are those of Claude Code. */
export const qwen = kin({
  tool: "qwen",
  events: HOOK_EVENTS,
  unit: "seconds",
  folderOf: ({ home, env }) => env["QWEN_HOME"] || join(home, ".qwen"),
  skillsOf: (folder) => join(folder, "skills"),
  instructions: { user: "QWEN.md", project: "AGENTS.md" },
  off: [["disableAllHooks"], true],
  asksForTrust: (settings) =>
    ["security", "folderTrust", "enabled"].reduce<unknown>(field, settings) === true,
  left: ["approve the tools of deaddrop when qwen asks"],
});

/** They have no files of a person for one project. */
function kin(own: Kin): CodingTool {
  const { tool, unit, instructions } = own;
  const timeout = unit === "seconds" ? HOOK_SECONDS : HOOK_SECONDS * 1_000;
  return {
    integration(at) {
      const { scope, project } = at;
      const isUser = scope === "user";
      const folder = isUser ? own.folderOf(at) : join(project, `.${tool}`);
      const skills = isUser ? own.skillsOf(folder) : join(project, ".agents", "skills");
      const hook = { type: "command", name: "deaddrop", command: hookLine(at), timeout };
      return {
        edits: [
          jsonEdit(join(folder, "settings.json"), ownerOf(at), {
            entries: [serverEntry(at)],
            hooks: own.events.map((event) => ({
              event,
              group: { matcher: "*" },
              hooks: [hook],
            })),
          }),
          skillEdit(at, skills),
          blockEdit(isUser ? join(folder, instructions.user) : join(project, instructions.project)),
        ],
        left: own.left,
      };
    },

    settings: /^settings\.json$/u,
    troubles: (place, path) => settingsTroubles(own, place, path),
  };
}

function settingsTroubles(own: Kin, place: Place, path: string): ToolTrouble[] {
  const { tool, unit, off } = own;
  const user = own.folderOf(place);
  const folder = dirname(dirname(path));
  return hookTroubles(place.disk, {
    ...{ tool, unit, off, path, folder, user: join(user, "settings.json") },
    isApproved: dirname(path) === user || isFolderTrusted(own, place, folder),
    missing: `start ${tool} there, and trust the folder`,
  });
}

function isFolderTrusted(own: Kin, place: Place, folder: string): boolean {
  const user = own.folderOf(place);
  if (!own.asksForTrust(json(place.disk, join(user, "settings.json")))) return true;
  const trusted = json(place.disk, join(user, "trustedFolders.json"));
  const isGiven = (said: unknown): boolean => said === "TRUST_FOLDER" || said === "TRUST_PARENT";
  return isTrusted(folder, (at) => (trusted[at] === undefined ? undefined : isGiven(trusted[at])));
}
