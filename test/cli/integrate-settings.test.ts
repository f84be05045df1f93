import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parse as parseJson } from "jsonc-parser";
import { getStaticTOMLValue, parseTOML } from "toml-eslint-parser";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { JOINABLE } from "../../src/agents/integrate/integration.ts";
import type { IntegrateView } from "../../src/cli/integrate/run-integrate.ts";
import { newMachine, type Machine } from "../setup/machine.ts";
import { run as runCli } from "./fake-cli.ts";

// `integrate` in settings that a person, the tool itself or a colleague has written, too. Spec 8.3.

let machine: Machine;
let project: string;
let home: string;
beforeEach(async () => {
  machine = newMachine();
  project = join(machine.root, "project");
  home = machine.env["HOME"] ?? "";
  mkdirSync(project);
  mkdirSync(home, { recursive: true });
  git(project, "init", "-q", "-b", "main");
  await succeeds("init", "--local-pair", "--me", "forge", "--peer", "scribe");
});
afterEach(() => machine.remove());

function git(cwd: string, ...args: readonly string[]): string {
  const who = ["-c", "user.name=Ada", "-c", "user.email=ada@a.example"];
  const ended = spawnSync("git", [...who, ...args], { cwd, env: machine.env });
  if (ended.status !== 0) throw new Error(ended.stderr.toString());
  return ended.stdout.toString();
}

interface At {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
}

function deaddrop(args: readonly string[], { cwd = project, env = {} }: At = {}) {
  const all = { ...machine.env, DEADDROP_WIRE: undefined, DEADDROP_AS: undefined, ...env };
  return runCli(args, { env: all, cwd, nowMs: Date.now() });
}

async function succeeds(...args: readonly string[]): Promise<string> {
  return succeedsAt({}, ...args);
}

async function succeedsAt(at: At, ...args: readonly string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await deaddrop(args, at);
  if (exitCode !== 0) throw new Error(stderr);
  return stdout;
}

async function integrate(at: At, ...args: readonly string[]): Promise<IntegrateView> {
  return JSON.parse(await succeedsAt(at, "integrate", ...args, "--json")) as IntegrateView;
}

const joins = (at: At, tool: string, handle: string, ...more: readonly string[]) =>
  integrate(at, tool, "--as", handle, "--yes", ...more);

async function refusal(at: At, ...args: readonly string[]): Promise<string> {
  const { exitCode, stderr } = await deaddrop(["integrate", ...args, "--yes"], at);
  expect(exitCode).not.toBe(0);
  return stderr;
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

const textOf = (...path: string[]): string => readFileSync(join(...path), "utf8");

type Settings = Record<string, Record<string, Record<string, unknown>>>;
const tomlOf = (...path: string[]) => getStaticTOMLValue(parseTOML(textOf(...path))) as Settings;

const HOOK_FILES = {
  claude: [".claude/settings.local.json", "Stop"],
  codex: [".codex/hooks.json", "Stop"],
  gemini: [".gemini/settings.json", "AfterAgent"],
  copilot: [".github/copilot/settings.local.json", "Stop"],
  qwen: [".qwen/settings.json", "Stop"],
} as const;
const WITH_HOOKS = Object.keys(HOOK_FILES) as (keyof typeof HOOK_FILES)[];

interface Group {
  hooks: { command: string; args?: unknown }[];
}

/** The groups of hooks in a file, of all events. */
function groupsIn(...path: string[]): Group[] {
  const { hooks } = parseJson(textOf(...path)) as { hooks: Record<string, Group[]> };
  return Object.values(hooks).flat();
}

describe("where deaddrop is gone", () => {
  test.each(WITH_HOOKS)("every hook of %s is quiet, and no failure", async (tool) => {
    await joins({}, tool, "forge");
    const [file] = HOOK_FILES[tool];
    const commands = groupsIn(project, file).flatMap(({ hooks }) => hooks);
    expect(commands.length).toBeGreaterThanOrEqual(5);
    for (const { command, args } of commands) {
      expect(args).toBeUndefined();
      // Nothing of the machine is there but a shell.
      const gone = command.replaceAll(process.execPath, "/gone/node");
      const ended = spawnSync("/bin/sh", ["-c", gone], { env: { PATH: "/gone" }, cwd: project });
      expect([ended.status, ended.stdout.toString()]).toEqual([0, ""]);
      if (!command.includes("--wait")) expect(ended.stderr.toString()).toBe("");
    }
  });

  test("--remove --all takes out every tool of every agent of this user, and lists it", async () => {
    const clone = join(machine.root, "clone");
    mkdirSync(clone);
    git(clone, "init", "-q");
    const wire = ["--wire", join(project, "_coordination")];
    await joins({}, "gemini", "forge");
    await joins({}, "codex", "forge", "--scope", "user");
    await joins({ cwd: clone }, "claude", "scribe", ...wire);
    const shown = await succeeds("integrate", "--remove", "--all", "--dry-run", "--json");
    const { removed } = JSON.parse(shown) as { removed: IntegrateView[] };
    expect(removed.map(({ tool }) => tool).toSorted()).toEqual(["claude", "codex", "gemini"]);
    rmSync(join(project, "_coordination"), { recursive: true });
    const said = await succeeds("integrate", "--remove", "--all");
    for (const tool of ["claude", "codex", "gemini"]) expect(said).toContain(`${tool}: taken out`);
    for (const path of [".gemini", ".codex", ".claude", ".mcp.json"]) {
      for (const folder of [project, clone, home]) {
        expect([folder, path, existsSync(join(folder, path))]).toEqual([folder, path, false]);
      }
    }
    expect(await succeeds("integrate", "--remove", "--all")).toContain(
      "no coding tool is integrated",
    );
    expect(await refusal({}, "--remove")).toContain("name one tool, or give --remove --all");
  });
});

describe("codex in a linked work tree", () => {
  test("is refused with the way that works, and joined for all folders", async () => {
    git(project, "commit", "--quiet", "--allow-empty", "-m", "a commit");
    const cwd = join(machine.root, "worktree");
    git(project, "worktree", "add", "--quiet", cwd);
    for (const scope of ["local", "project"]) {
      const said = await refusal({ cwd }, "codex", "--as", "scribe", "--scope", scope);
      expect(said).toContain(`${cwd} is a linked work tree of ${project}`);
      expect(said).toContain("deaddrop integrate codex --scope user && deaddrop as scribe");
    }
    // What the main one has for itself is silent in the others.
    await joins({}, "codex", "forge");
    const [own] = groupsIn(project, ".codex/hooks.json").flatMap(({ hooks }) => hooks);
    expect(own?.command).toContain(`--project ${project}`);
    const { left } = await joins({ cwd }, "codex", "scribe", "--scope", "user");
    expect(left).toContain(`in ${cwd} you are scribe from now on (deaddrop as)`);
    expect(await succeedsAt({ cwd }, "as")).toContain("You are scribe");
    const [hook] = groupsIn(home, ".codex/hooks.json").flatMap(({ hooks }) => hooks);
    expect(hook?.command).not.toContain("--as");
  });
});

describe("settings that somebody else writes, too", () => {
  const config = () => join(home, ".codex/config.toml");
  const user = ["--scope", "user"] as const;

  test("codex: tables that it writes behind, between and in front of ours stay", async () => {
    write(config(), "# mine\nmodel = 'x'\n");
    await joins({}, "codex", "forge", ...user);
    const ours = textOf(config());
    const trust = `[projects."${project}"]\ntrust_level = "trusted"\n`;
    const theirs = ours
      .replace("[mcp_servers.deaddrop]", `[tui]\ntheme = "a"\n\n[mcp_servers.deaddrop]`)
      .concat(`\n[mcp_servers.deaddrop.tools.inbox]\napproval_mode = "auto"\n\n# why\n${trust}`);
    writeFileSync(config(), theirs);
    expect((await joins({}, "codex", "forge", ...user)).files).toEqual([]);
    await integrate({}, "codex", "--remove", "--as", "forge", ...user);
    const { mcp_servers, ...rest } = tomlOf(config());
    expect(mcp_servers).toBeUndefined();
    expect(rest).toEqual({
      model: "x",
      tui: { theme: "a" },
      projects: { [project]: { trust_level: "trusted" } },
    });
    expect(textOf(config())).toMatch(/^# mine\n[\s\S]*\n# why\n\[projects\./u);
  });

  test("codex: our table is known without the comments around it", async () => {
    await joins({}, "codex", "forge", ...user);
    const server = tomlOf(config())["mcp_servers"]?.["deaddrop"];
    // As another writer of TOML puts it.
    write(
      config(),
      `mcp_servers = { deaddrop = ${JSON.stringify(server).replaceAll('":', '"=')} }\n`,
    );
    expect(tomlOf(config())["mcp_servers"]?.["deaddrop"]).toEqual(server);
    expect((await joins({}, "codex", "forge", ...user)).files).toEqual([]);
    await integrate({}, "codex", "--remove", "--as", "forge", ...user);
    expect(textOf(config())).toBe("mcp_servers = {  }\n");
  });

  test.each([
    "mcp_servers = { mine = { command = 'true' } }\n",
    "mcp_servers.mine.command = 'true'\n",
    "[mcp_servers]\nmine = { command = 'true' } # mine\n",
    "[sandbox_workspace_write]\nexclude_slash_tmp = true\n",
    "a = 1",
  ])("codex: what is written into %j is valid, and taken out again", async (text) => {
    write(config(), text);
    await joins({}, "codex", "forge", ...user, "--open-sandbox");
    const before = getStaticTOMLValue(parseTOML(text)) as Settings;
    const after = tomlOf(config());
    expect(after).toMatchObject(before);
    expect(after["mcp_servers"]).toHaveProperty("deaddrop.command");
    expect(after["sandbox_workspace_write"]).toMatchObject({ network_access: true });
    // Changed since: what is taken out is found by what it is.
    writeFileSync(config(), `# a comment\n${textOf(config())}`);
    await integrate({}, "codex", "--remove", "--as", "forge", ...user);
    expect(textOf(config()).trimEnd()).toBe(`# a comment\n${text}`.trimEnd());
  });

  test.each(WITH_HOOKS)("%s: a hook of the person among ours stays", async (tool) => {
    await joins({}, tool, "forge");
    const [file, event] = HOOK_FILES[tool];
    const path = join(project, file);
    const settings = parseJson(textOf(path)) as { hooks: Record<string, Group[]> };
    const mine = { type: "command", command: "/home/me/lint.sh" };
    settings.hooks[event]?.[0]?.hooks.unshift(mine);
    settings.hooks[event]?.push({ hooks: [mine] });
    writeFileSync(path, JSON.stringify(settings, null, 2));
    expect((await joins({}, tool, "forge")).files).toEqual([]);
    // Another version of ours is replaced in its place, and no hook of the person moves.
    const now = textOf(path);
    writeFileSync(path, now.replaceAll("|| true", "|| exit 0"));
    await joins({}, tool, "forge");
    expect(parseJson(textOf(path))).toEqual(parseJson(now));
    // One that is missing gets a group behind those of the person.
    settings.hooks[event] = [{ hooks: [mine] }, { hooks: [mine] }];
    writeFileSync(path, JSON.stringify(settings, null, 2));
    await joins({}, tool, "forge");
    const { hooks } = parseJson(textOf(path)) as typeof settings;
    expect(hooks[event]?.slice(0, 2)).toEqual(settings.hooks[event]);
    expect(hooks[event]).toHaveLength(3);
    const kept = () => groupsIn(path).filter(({ hooks }) => hooks[0]?.command === mine.command);
    expect(kept()).toHaveLength(2);
    await integrate({}, tool, "--remove", "--as", "forge");
    expect(kept().map(({ hooks }) => hooks)).toEqual([[mine], [mine]]);
    expect(textOf(path)).not.toContain("deaddrop");
  });
});

/** A tool, files of its person in the project, those that join it there, and those of a person's own. */
const JOINED_BY: readonly (readonly [
  string,
  Record<string, string>,
  readonly string[],
  readonly string[],
])[] = [
  [
    "kilo",
    {
      ".kilo/kilo.jsonc":
        '{\n  // mine\n  "mcp": { "mine": { "type": "local", "command": ["true"] } },\n}\n',
      "AGENTS.md": "# Mine\n",
    },
    [".kilo/plugins/deaddrop.js", ".agents/skills/deaddrop/SKILL.md"],
    ["kilo/kilo.json", "kilo/plugins/deaddrop.js", "kilo/AGENTS.md"],
  ],
  [
    "pi",
    { "AGENTS.md": "# Mine\n" },
    [".pi/extensions/deaddrop.js", ".agents/skills/deaddrop/SKILL.md"],
    [".pi/agent/extensions/deaddrop.js", ".pi/agent/AGENTS.md"],
  ],
  [
    "cline",
    { "AGENTS.md": "# Mine\n" },
    [".cline/plugins/deaddrop.js", ".agents/skills/deaddrop/SKILL.md"],
    [".cline/plugins/deaddrop.js", ".agents/AGENTS.md"],
  ],
  [
    "amp",
    {
      ".amp/settings.jsonc":
        '{\n  // mine\n  "amp.mcpServers": {\n    "mine": { "command": "true" }\n  }\n}\n',
      "AGENTS.md": "# Mine\n",
    },
    [],
    [".config/amp/settings.json", ".config/amp/AGENTS.md"],
  ],
];

describe.each(JOINED_BY)("%s", (tool, mine, made, own) => {
  test("joins in a project beside what its person has there, and is taken out to the last byte", async () => {
    for (const [name, text] of Object.entries(mine)) write(join(project, name), text);
    await joins({}, tool, "forge", "--scope", "project");
    for (const [name, text] of Object.entries(mine)) {
      const after = textOf(project, name);
      expect(after).toContain("deaddrop");
      for (const word of text.match(/\w+/gu) ?? []) expect(after).toContain(word);
    }
    for (const name of made) expect(textOf(project, name)).toContain("deaddrop");
    expect((await joins({}, tool, "forge", "--scope", "project")).files).toEqual([]);
    await integrate({}, tool, "--remove", "--as", "forge", "--scope", "project");
    for (const [name, text] of Object.entries(mine)) expect(textOf(project, name)).toBe(text);
    for (const name of made) expect(existsSync(join(project, name))).toBe(false);
  });

  test("joins in all folders of its person by files that name nobody", async () => {
    const { files } = await joins({}, tool, "forge", "--scope", "user");
    const paths = files.map(({ path }) => path).join("\n");
    for (const name of own) expect(paths).toMatch(new RegExp(`/${name}$`, "mu"));
    for (const { path } of files) expect(textOf(path)).not.toMatch(/--as[" ,]+forge/u);
    await integrate({}, tool, "--remove", "--as", "forge", "--scope", "user");
    for (const { path } of files) expect(existsSync(path)).toBe(false);
  });

  test("refuses a second agent in the same folder", async () => {
    await joins({}, tool, "forge");
    expect(await refusal({}, tool, "--as", "scribe")).toContain(`joins ${tool}`);
  });
});

test("opencode and kilo in one folder may be different agents", async () => {
  await joins({}, "opencode", "forge");
  await joins({}, "kilo", "scribe");
  expect(textOf(project, "opencode.json")).toContain("forge");
  expect(textOf(project, ".kilo/kilo.json")).toContain("scribe");
});

describe("one session, one agent", () => {
  test.each([
    ["claude", "copilot"],
    ["copilot", "claude"],
  ])("%s and %s share .mcp.json: two agents are refused, one has both", async (first, second) => {
    await joins({}, first, "forge");
    const said = await refusal({}, second, "--as", "scribe");
    expect(said).toContain(".mcp.json joins claude or copilot to another agent or wire already");
    expect(said).toContain("deaddrop integrate claude --remove; or deaddrop");
    expect((await joins({}, second, "forge")).files.length).toBeGreaterThan(0);
    await integrate({}, first, "--remove", "--as", "forge");
    expect(textOf(project, ".mcp.json")).toContain("deaddrop");
    await integrate({}, second, "--remove", "--as", "forge");
    expect(existsSync(join(project, ".mcp.json"))).toBe(false);
  });

  test("what joins claude for everybody in a project does not count as copilot's hooks", async () => {
    await joins({}, "claude", "forge", "--scope", "project");
    const { files } = await joins({}, "copilot", "forge", "--scope", "project");
    expect(files.map(({ path }) => path)).toContain(join(project, ".github/copilot/settings.json"));
  });

  test("a folder that is bound to another agent is refused", async () => {
    await succeeds("as", "forge");
    expect(await refusal({}, "claude", "--as", "scribe")).toContain(`${project} is bound to forge`);
    await joins({}, "claude", "forge");
  });

  test("what a colleague gets names nobody, and theirs is found by their folder", async () => {
    const { left } = await joins({}, "claude", "forge", "--scope", "project");
    expect(left).toContain(`in ${project} you are forge from now on (deaddrop as)`);
    for (const file of [".mcp.json", ".claude/settings.json"]) {
      expect(textOf(project, file)).not.toMatch(/--as|--wire|forge/u);
      expect(textOf(project, file)).not.toContain(machine.root);
    }
    git(project, "add", "-A");
    git(project, "commit", "-q", "-m", "joined");
    const clone = join(machine.root, "clone");
    git(machine.root, "clone", "-q", project, clone);
    const before = git(clone, "status", "--porcelain", "--untracked-files=all");
    const wire = ["--wire", join(project, "_coordination")];
    const joined = await joins({ cwd: clone }, "claude", "scribe", ...wire);
    expect(joined.files).toEqual([]);
    expect(joined.left.join("\n")).toContain("claude is joined by the project's files");
    expect(await succeedsAt({ cwd: clone }, "as")).toContain("You are scribe");
    expect(git(clone, "status", "--porcelain", "--untracked-files=all")).toBe(before);
  });
});

describe("where keys and settings are elsewhere", () => {
  test.each(JOINABLE)("%s: the entry carries where the keys are", async (tool) => {
    const env = { XDG_STATE_HOME: machine.env["XDG_STATE_HOME"] ?? join(home, "state dir") };
    const { files } = await joins({ env }, tool, "forge");
    const text = files.map(({ path }) => textOf(path)).join("\n");
    expect(text).toContain(`XDG_STATE_HOME=${env.XDG_STATE_HOME}`);
  });

  test.each([
    ["claude", "CLAUDE_CONFIG_DIR", ["settings.json", ".claude.json", "CLAUDE.md"]],
    ["codex", "CODEX_HOME", ["config.toml", "hooks.json", "AGENTS.md"]],
    ["gemini", "GEMINI_CLI_HOME", [".gemini/settings.json", ".gemini/GEMINI.md"]],
    ["qwen", "QWEN_HOME", ["settings.json", "QWEN.md", "skills/deaddrop/SKILL.md"]],
    ["copilot", "COPILOT_HOME", ["settings.json", "mcp-config.json", "copilot-instructions.md"]],
    ["pi", "PI_CODING_AGENT_DIR", ["extensions/deaddrop.js", "AGENTS.md"]],
    ["cline", "CLINE_DIR", ["plugins/deaddrop.js"]],
  ])("%s: the person's files are in %s", async (tool, variable, names) => {
    const folder = join(machine.root, "elsewhere");
    const env = { [variable]: folder };
    await joins({ env }, tool, "forge", "--scope", "user");
    for (const name of names) expect([name, existsSync(join(folder, name))]).toEqual([name, true]);
    for (const name of [".claude", ".claude.json", ".codex", ".gemini", ".copilot", ".qwen"]) {
      expect([name, existsSync(join(home, name))]).toEqual([name, false]);
    }
    await integrate({ env }, tool, "--remove", "--as", "forge");
    expect(existsSync(join(folder, names[0] ?? ""))).toBe(false);
  });

  test("where its key is not found, an agent is never told to make a second one", async () => {
    const env = { XDG_CONFIG_HOME: join(machine.root, "nothing") };
    mkdirSync(env.XDG_CONFIG_HOME);
    for (const args of [["as"], ["doctor"], ["doctor", "--as", "forge"], ["integrate", "codex"]]) {
      const { exitCode, stdout, stderr } = await deaddrop(args, { env });
      expect(exitCode).not.toBe(0);
      expect(`${stdout}${stderr}`).not.toContain("keygen");
      expect(`${stdout}${stderr}`).toContain("XDG_CONFIG_HOME");
    }
  });
});
