import { basename, dirname, join } from "node:path";
import { jsonEdit } from "../json-entries.ts";
import { hooksIn, notApproved, shortTimeouts, switchedOff } from "../hook-entries.ts";
import {
  commandOf,
  ownerOf,
  HOOK_SECONDS,
  hookLine,
  isHookOf,
  type CodingTool,
  type Place,
  type ToolTrouble,
} from "../integration.ts";
import { blockEdit } from "../text-block.ts";
import { field, isTrusted, json } from "../tool-state.ts";
import { wholeFile } from "../whole-file.ts";

const EVENTS = ["SessionStart", "BeforeAgent", "AfterTool", "AfterAgent", "SessionEnd"];
const HOOK_MS = HOOK_SECONDS * 1_000;

/** Gemini CLI, as of 0.61.0. It has no files of a person for one project. */
export const gemini: CodingTool = {
  integration(at) {
    const { scope, project } = at;
    const root = scope === "user" ? userHome(at) : project;
    const folder = join(root, ".gemini");
    const [command = "", ...args] = commandOf(at, "mcp");
    const hook = { type: "command", name: "deaddrop", command: hookLine(at), timeout: HOOK_MS };
    return {
      edits: [
        jsonEdit(join(folder, "settings.json"), ownerOf(at), {
          entries: [{ path: ["mcpServers", "deaddrop"], value: { command, args } }],
          hooks: EVENTS.map((event) => ({
            event,
            group: { matcher: "*" },
            hooks: [hook],
            isOurs: (item) => isHookOf("gemini", item),
          })),
        }),
        wholeFile(join(root, ".agents", "skills", "deaddrop", "SKILL.md"), ownerOf(at), {
          text: at.skill,
          mark: "name: deaddrop",
        }),
        blockEdit(scope === "user" ? join(folder, "GEMINI.md") : join(project, "GEMINI.md")),
      ],
      left: [
        "trust the folder in gemini (/permissions, or its question at the start)",
        "without a person gemini offers the tools of deaddrop only if you allow them",
        "an idle gemini is woken by keys, and only within tmux",
      ],
    };
  },

  troubles(place, paths) {
    return paths
      .filter((path) => basename(path) === "settings.json")
      .flatMap((path) => settingsTroubles(place, path));
  },
};

/** What Gemini takes for the home of its person. */
function userHome({ home, env }: Pick<Place, "home" | "env">): string {
  const own = env["GEMINI_CLI_HOME"] ?? "";
  return own === "" ? home : own;
}

function settingsTroubles(place: Place, path: string): ToolTrouble[] {
  const { disk } = place;
  const folder = dirname(dirname(path));
  const files = [...new Set([path, join(userHome(place), ".gemini", "settings.json")])];
  const off = files.find((each) => field(json(disk, each)["hooksConfig"], "enabled") === false);
  return [
    ...(isFolderTrusted(place, folder)
      ? []
      : [notApproved("gemini", folder, "start gemini there, and trust the folder")]),
    ...(off === undefined ? [] : [switchedOff("gemini", off, "hooksConfig.enabled")]),
    ...shortTimeouts("gemini", path, hooksIn(disk, path, "gemini"), "milliseconds"),
  ];
}

function isFolderTrusted(place: Place, folder: string): boolean {
  const own = userHome(place);
  const trusted = json(place.disk, join(own, ".gemini", "trustedFolders.json"));
  const isGiven = (said: unknown): boolean => said === "TRUST_FOLDER" || said === "TRUST_PARENT";
  return (
    folder === own ||
    isTrusted(folder, (at) => (trusted[at] === undefined ? undefined : isGiven(trusted[at])))
  );
}
