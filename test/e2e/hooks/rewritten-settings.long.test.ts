import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parse as parseJson } from "jsonc-parser";
import { getStaticTOMLValue, parseTOML } from "toml-eslint-parser";
import { afterEach, describe, expect, test } from "vitest";
import { toolOrSkip, type CodingTool } from "../../support/processes/coding-tool-cache.ts";
import { makeWire, removeWires, type LiveWire } from "../../support/processes/live-wire.ts";
import { BIN, start, until } from "../../support/processes/real-processes.ts";
import {
  endBackground,
  makeProject,
  openTool,
  type ToolProject,
  type ToolTerminal,
} from "../../support/processes/tool-terminals.ts";

// Settings that the tool itself writes between two runs of `integrate`, by its own commands and in a
// session: what is not ours is the same before and after `integrate`, and `integrate --remove`.

const wires: LiveWire[] = [];
const open: ToolTerminal[] = [];
afterEach(async () => {
  for (const terminal of open.splice(0)) terminal.close();
  for (const { folder } of wires.splice(0)) endBackground(folder);
  await removeWires();
});

interface Settings {
  /** What a person has written: below the home, and below the project. */
  readonly own: readonly (readonly [path: string, text: string])[];
  /** Where the tool may have settings. */
  readonly files: readonly string[];
  /** Commands of the tool that change them. */
  readonly commands: readonly (readonly string[])[];
  /** The list of themes, as the screen shows it. */
  readonly themes?: RegExp;
  /** What has to be there when all of this has happened. */
  readonly changed: RegExp;
}

const HOOKS = (event: string): string => `{
  // of the person
  "hooks": { "${event}": [{ "hooks": [{ "type": "command", "command": "true" }] }] }
}
`;

/** Claude Code skips a file with comments. */
const STRICT_HOOKS = (event: string): string => `{
  "env": { "NOTE": "of the person" },
  "hooks": { "${event}": [{ "hooks": [{ "type": "command", "command": "true" }] }] }
}
`;

type Rewriting = Extract<CodingTool, "claude" | "codex" | "opencode" | "copilot">;

const SETTINGS: Readonly<Record<Rewriting, Settings>> = {
  claude: {
    own: [
      ["project/.claude/settings.local.json", STRICT_HOOKS("Stop")],
      ["home/.claude/settings.json", STRICT_HOOKS("Stop")],
    ],
    files: [
      ...["home/.claude.json", "home/.claude/settings.json", "project/.mcp.json"],
      ...["project/.claude/settings.json", "project/.claude/settings.local.json"],
    ],
    commands: ["local", "user", "project"].map((scope) => [
      ...["mcp", "add", "-s", scope, `other-${scope}`, "--", "echo", "hi"],
    ]),
    themes: /Choose the text style/u,
    changed: /"theme": "light"[\s\S]*other-project/u,
  },
  codex: {
    own: [
      ["project/.codex/config.toml", '# of the person\n[mcp_servers.mine]\ncommand = "true"\n'],
      ["project/.codex/hooks.json", HOOKS("Stop").replace(/.*of the person.*\n/u, "")],
    ],
    files: ["home/codex", "project/.codex"].flatMap((folder) => [
      ...[`${folder}/config.toml`, `${folder}/hooks.json`],
    ]),
    commands: [
      ["mcp", "add", "other", "--", "echo", "hi"],
      ["features", "enable", "goals"],
    ],
    themes: /Select Syntax Theme/u,
    changed: /^(?=[\s\S]*"other")(?=[\s\S]*"goals": true)(?=[\s\S]*"trusted_hash")/u,
  },
  opencode: {
    own: [
      ["home/.config/opencode/opencode.jsonc", '{\n  // of the person\n  "autoupdate": false\n}\n'],
    ],
    files: ["home/.config/opencode/opencode", "project/opencode"].flatMap((path) => [
      ...[`${path}.json`, `${path}.jsonc`],
    ]),
    commands: [["mcp", "add", "other", "--", "echo", "hi"]],
    changed: /"other"/u,
  },
  copilot: {
    own: [
      ["project/.github/copilot/settings.local.json", HOOKS("Stop")],
      ["home/.copilot/settings.json", HOOKS("Stop")],
    ],
    files: [
      ...["config.json", "settings.json", "mcp-config.json"].map((name) => `home/.copilot/${name}`),
      ...["project/.mcp.json", "project/.github/copilot/settings.local.json"],
    ],
    commands: [["mcp", "add", "other", "--", "echo", "hi"]],
    changed: /trustedFolders[\s\S]*"other"/u,
  },
};

const REWRITING = Object.keys(SETTINGS) as readonly Rewriting[];

const CASES = REWRITING.flatMap((tool) =>
  (["local", "user"] as const).map((scope) => [tool, scope] as const),
);

describe.each(CASES)("%s, --scope %s", (tool, scope) => {
  test("what the tool has written meanwhile stays", async ({ skip }) => {
    const found = await toolOrSkip(tool, skip);
    const wire = makeWire({ cadenceSeconds: 60, deadlineSeconds: 3_600 });
    wires.push(wire);
    const at = await makeProject(found, wire);
    const { own, commands, files, changed, themes } = SETTINGS[tool];
    for (const [path, text] of own) {
      mkdirSync(dirname(join(wire.folder, path)), { recursive: true });
      writeFileSync(join(wire.folder, path), text);
    }
    const integrate = async (...flags: readonly string[]): Promise<string> => {
      const words = ["integrate", tool, "--yes", "--as", "forge", "--wire", wire.dir, ...flags];
      const how = { env: at.env, cwd: at.folder, input: "" };
      const ended = await start(process.execPath, [BIN, ...words], how).ended;
      expect(ended.code, ended.stderr).toBe(0);
      return ended.stdout;
    };
    await integrate("--scope", scope);

    const terminal = await openTool(at);
    open.push(terminal);
    if (themes !== undefined) await chooseTheme(terminal, themes);
    await terminal.quit();
    for (const command of commands) await byTool(at, command);
    const written = theirs(wire, files);
    expect(written).toMatch(changed);
    expect(written).toContain("of the person");

    expect(await integrate("--scope", scope)).toContain("nothing to change");
    expect(theirs(wire, files)).toBe(written);
    await integrate("--remove");
    expect(theirs(wire, files)).toBe(written);
    const left = files.map((path) => textIn(wire, path)).join("\n");
    expect(left).not.toMatch(
      / hook (?:claude|codex|gemini|copilot)\b|mcp_servers\.deaddrop|"deaddrop":/u,
    );
  });
});

/** Picks the next theme, as a person does. */
async function chooseTheme(terminal: ToolTerminal, list: RegExp): Promise<void> {
  await terminal.type("/theme");
  await until("the list of themes is shown", () => {
    if (list.test(terminal.screen())) return true;
    terminal.key("Enter");
    return false;
  });
  terminal.key("Down");
  await until("a theme was chosen", () => {
    if (!list.test(terminal.screen())) return true;
    terminal.key("Enter");
    return false;
  });
}

async function byTool({ found, env, folder }: ToolProject, words: readonly string[]) {
  const { code, stdout, stderr } = await start(found.program, words, {
    env,
    cwd: folder,
    input: "",
  }).ended;
  expect(code, stdout + stderr).toBe(0);
}

function textIn({ folder }: LiveWire, path: string): string {
  const file = join(folder, path);
  return existsSync(file) ? readFileSync(file, "utf8") : "";
}

/** All settings but ours, with their comments, in the order in which they stand in the files. */
function theirs(wire: LiveWire, files: readonly string[]): string {
  return files
    .map((path) => {
      const text = textIn(wire, path);
      const value = path.endsWith(".toml")
        ? getStaticTOMLValue(parseTOML(text))
        : (parseJson(text) as unknown);
      const comments = text.split("\n").filter((line) => /^\s*(?:#|\/\/)/u.test(line));
      const others = comments.filter((line) => !line.includes("deaddrop"));
      return [path, ...others, JSON.stringify(withoutOurs(value), null, 2) ?? ""].join("\n");
    })
    .join("\n\n");
}

/** Our server and our hooks are left out, and what is empty without them. */
function withoutOurs(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const rest = value.map((each) => withoutOurs(each)).filter((each) => each !== undefined);
    return rest.length === 0 && value.length > 0 ? undefined : rest;
  }
  const entries = Object.entries(value as Record<string, unknown>);
  const isOurHook = entries.some(
    ([name, each]) =>
      name === "command" && / hook (?:claude|codex|gemini|copilot)\b/u.test(String(each)),
  );
  if (isOurHook) return undefined;
  const rest = entries
    .filter(([name]) => name !== "deaddrop")
    .map(([name, each]) => [name, withoutOurs(each)] as const)
    .filter(([, each]) => each !== undefined);
  // A group of hooks is nothing without its hooks.
  const isEmpty =
    rest.length === 0 || ("hooks" in value && !rest.some(([name]) => name === "hooks"));
  return isEmpty && entries.length > 0 ? undefined : Object.fromEntries(rest);
}
