import { createHash } from "node:crypto";
import { join } from "node:path";
import { DeaddropError } from "../../../api/errors.ts";
import { mainCheckoutOf } from "../../../setup/here/project.ts";
import { jsonEdit } from "../json-entries.ts";
import { hooksIn, notApproved, shortTimeouts, type FoundHook } from "../hook-entries.ts";
import {
  commandOf,
  ownerOf,
  HOOK_EVENTS,
  HOOK_SECONDS,
  hookLine,
  PLACE_VARIABLES,
  type CodingTool,
  type Joining,
  type Place,
  type ToolTrouble,
} from "../integration.ts";
import { sandboxLeft, sandboxLimit } from "../sandbox.ts";
import { blockEdit } from "../text-block.ts";
import { tomlServer } from "../toml-server.ts";
import { field, toml } from "../tool-state.ts";
import { skillEdit } from "../whole-file.ts";

/** Codex warns of more at the end of a session. */
const SESSION_END_SECONDS = 3;
/** What a server of Codex sees of the environment, beside HOME, LANG, PATH and TERM. */
const PASSED_ON = ["DEADDROP_AS", "DEADDROP_WIRE", ...PLACE_VARIABLES];

/** Codex, as of 0.171.0. It has no files of a person for one project. */
export const codex: CodingTool = {
  integration(at) {
    const { scope, home, project } = at;
    const isUser = scope === "user";
    const folder = isUser ? userFolder(at) : join(project, ".codex");
    const skills = join(isUser ? home : project, ".agents", "skills");
    const [command = "", ...args] = commandOf(at, "mcp");
    const server = { command, args, env_vars: PASSED_ON };
    // A linked work tree runs the hooks of the main one: there they are silent.
    const line = hookLine(at, ...(scope === "local" ? ["--project", project] : []));
    return {
      edits: [
        tomlServer(join(folder, "config.toml"), ownerOf(at), server, at.openedSocket !== undefined),
        jsonEdit(join(folder, "hooks.json"), ownerOf(at), {
          entries: [],
          hooks: HOOK_EVENTS.map((event) => ({
            event,
            hooks: [{ type: "command", command: line, timeout: secondsAt(event) }],
          })),
        }),
        skillEdit(at, skills),
        blockEdit(isUser ? join(folder, "AGENTS.md") : join(project, "AGENTS.md")),
      ],
      left: [
        ...(isUser ? [] : ["trust the project in codex: it reads .codex/ only then"]),
        'start codex and review its hooks ("Hooks need review"): until then they do nothing, and say nothing',
        ...sandboxLeft(at, "codex"),
      ],
    };
  },

  refusal({ scope, project, handle }) {
    const main = scope === "user" ? undefined : mainCheckoutOf(project);
    if (main === undefined) return undefined;
    return new DeaddropError(
      "refused",
      `${project} is a linked work tree of ${main}, and codex takes its hooks from there; nothing was changed`,
      {
        hint: `join codex for all your folders, and say who you are in this one: deaddrop integrate codex --scope user && deaddrop as ${handle}; or work in a clone`,
      },
    );
  },

  settings: /^hooks\.json$/u,
  troubles: hooksTroubles,
};

function userFolder({ home, env }: Pick<Joining, "home" | "env">): string {
  return env["CODEX_HOME"] ?? join(home, ".codex");
}

function secondsAt(event: string): number {
  return event === "SessionEnd" ? SESSION_END_SECONDS : HOOK_SECONDS;
}

function hooksTroubles(place: Place, path: string): ToolTrouble[] {
  const { disk } = place;
  const own = toml(disk, join(userFolder(place), "config.toml"));
  const project = toml(disk, path.replace(/hooks\.json$/u, "config.toml"));
  const hooks = hooksIn(disk, path, "codex");
  const reviews = hooks.map((each) => reviewOf(own, path, each));
  const folder = path.replace(/\/[^/]+\/hooks\.json$/u, "");
  const stale = {
    problem: `codex passes over hooks in ${path}: they have changed since they were reviewed`,
    fix: "start codex there, and review its hooks again (/hooks)",
  };
  const isOpen = [own, project].some(
    (config) =>
      config["sandbox_mode"] === "danger-full-access" ||
      field(config["sandbox_workspace_write"], "network_access") === true,
  );
  return [
    ...(reviews.includes("missing")
      ? [notApproved("codex", folder, "start codex there, and review its hooks")]
      : []),
    ...(reviews.includes("stale") ? [stale] : []),
    ...shortTimeouts(
      "codex",
      path,
      hooks.filter(({ event }) => event !== "SessionEnd"),
    ),
    ...(isOpen ? [] : [sandboxLimit("codex")]),
  ];
}

/**
 * Codex keeps what was reviewed by file, event, and the places of the group and of the hook in it. It
 * passes over a hook that has changed since, and says nothing.
 */
function reviewOf(
  config: Record<string, unknown>,
  path: string,
  { event, group, index, hook }: FoundHook,
): "missing" | "stale" | "there" {
  const name = event.replaceAll(/(?<=[a-z])[A-Z]/gu, "_$&").toLowerCase();
  const states = field(config["hooks"], "state");
  const state = field(states, `${path}:${name}:${group}:${index}`);
  if (state === undefined) return "missing";
  const trusted = field(state, "trusted_hash");
  return trusted === undefined || trusted === hashOf(name, hook) ? "there" : "stale";
}

/** As Codex 0.169 computes it: of what it runs, with its defaults filled in and keys in order. */
function hashOf(event: string, hook: unknown): string {
  const given = Number(field(hook, "timeout") ?? 600);
  const timeout = event === "session_end" ? Math.min(given, SESSION_END_SECONDS) : given;
  const command = field(hook, "command");
  const identity = {
    event_name: event,
    hooks: [{ async: false, command, timeout, type: "command" }],
  };
  return `sha256:${createHash("sha256").update(JSON.stringify(identity)).digest("hex")}`;
}
