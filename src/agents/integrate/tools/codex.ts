import { join } from "node:path";
import { jsonEdit } from "../json-entries.ts";
import {
  commandOf,
  HOOK_SECONDS,
  isHookOf,
  shellLine,
  type Integration,
  type Joining,
} from "../integration.ts";
import { sandboxLeft } from "../sandbox.ts";
import { blockEdit } from "../text-block.ts";
import { tomlEdit } from "../toml-entry.ts";
import { wholeFile } from "../whole-file.ts";

const EVENTS = ["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd"];
/** Codex warns of more at the end of a session. */
const SESSION_END_SECONDS = 3;

const secondsAt = (event: string): number =>
  event === "SessionEnd" ? SESSION_END_SECONDS : HOOK_SECONDS;

/** Codex, as of 0.169.0. It has no files of a person for one project. */
export function codex(at: Joining): Integration {
  const { scope, home, project, env } = at;
  const isUser = scope === "user";
  const folder = isUser ? (env["CODEX_HOME"] ?? join(home, ".codex")) : join(project, ".codex");
  const skills = join(isUser ? home : project, ".agents", "skills");
  const [command = "", ...args] = commandOf(at, "mcp");
  const hook = {
    type: "command",
    command: shellLine(commandOf(at, "hook", "codex")),
  };
  return {
    edits: [
      tomlEdit(join(folder, "config.toml"), { command, args }, at.openedSocket !== undefined),
      jsonEdit(
        join(folder, "hooks.json"),
        "codex",
        EVENTS.map((event) => ({
          path: ["hooks", event],
          value: { hooks: [{ ...hook, timeout: secondsAt(event) }] },
          isOurs: (item) => isHookOf("codex", item),
        })),
      ),
      wholeFile(join(skills, "deaddrop", "SKILL.md"), "codex", {
        text: at.skill,
        mark: "name: deaddrop",
      }),
      blockEdit(isUser ? join(folder, "AGENTS.md") : join(project, "AGENTS.md")),
    ],
    left: [
      ...(isUser ? [] : ["trust the project in codex: it reads .codex/ only then"]),
      'start codex and review its hooks ("Hooks need review"): until then they do nothing, and say nothing',
      ...sandboxLeft(at, "codex"),
    ],
  };
}
