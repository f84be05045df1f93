import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import type { Tool } from "../../../src/api/tool-sessions.ts";
import type { Joining, Scope } from "../../../src/agents/integrate/integration.ts";
import { integrationOf, toolTroubles } from "../../../src/agents/integrate/tools/all-tools.ts";
import { nodeDisk } from "../../../src/storage/disk/node-disk.ts";

// What a tool's person has approved is in the tool's own state, as the versions of docs/coding-tools.md write
// it; test/e2e/hooks/coding-tools.long.test.ts sees the tools themselves write it.

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function machine() {
  const root = mkdtempSync(join(tmpdir(), "deaddrop-approvals-"));
  folders.push(root);
  const [project, home] = [join(root, "project"), join(root, "home")];
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  };
  /** Joins a tool: the files are as `integrate` writes them to a project that has none. */
  const joined = (tool: Tool, scope: Scope = "project") => {
    const at: Joining = {
      ...{ tool, scope, project, home, handle: "forge", wireDir: "/srv/wire", env: {} },
      ...{
        program: ["deaddrop"],
        skill: "a skill",
        plugin: () => "a plugin",
        allowsReading: false,
      },
    };
    const { edits } = integrationOf(at);
    for (const { path, put } of edits) write(path, put(undefined));
    const files = Object.fromEntries(
      edits.map(({ path, put }) => [
        path,
        { before: null, after: put(undefined), users: [`${tool} ${scope}`] },
      ]),
    );
    const written = { files, folders: [], joined: [] };
    return () =>
      toolTroubles({ disk: nodeDisk(), home, env: {} }, written).filter(({ problem }) =>
        problem.includes("does not run what joins it"),
      );
  };
  return { project, home, write, joined };
}

/** Codex's own state, when these hooks of the file were reviewed. */
function reviewed(path: string, places: readonly string[]): string {
  const rows = places.map((at) => `[hooks.state."${path}:${at}"]\ntrusted_hash = "sha256:00"\n`);
  return `[hooks.state]\n\n${rows.join("\n")}`;
}

const EVENTS = ["session_start", "user_prompt_submit", "post_tool_use", "stop", "session_end"];

describe("codex", () => {
  test("each of its hooks has to be reviewed, in the place where it is", () => {
    const { project, home, write, joined } = machine();
    const missing = joined("codex");
    const ask = {
      problem: `codex does not run what joins it to the wire in ${project}`,
      fix: "start codex there, and review its hooks",
    };
    expect(missing()).toEqual([ask]);
    const [config, hooks] = [join(home, ".codex/config.toml"), join(project, ".codex/hooks.json")];
    const places = EVENTS.map((event) => `${event}:0:0`);
    write(config, reviewed(hooks, places));
    expect(missing()).toEqual([]);
    for (const left of places) {
      write(
        config,
        reviewed(
          hooks,
          places.filter((each) => each !== left),
        ),
      );
      expect(missing()).toEqual([ask]);
    }
    write(config, reviewed(join(home, "other/hooks.json"), places));
    expect(missing()).toEqual([ask]);
  });

  test("hooks of the person before ours move ours, which are reviewed there", () => {
    const { project, home, write, joined } = machine();
    const missing = joined("codex");
    const path = join(project, ".codex/hooks.json");
    const ours = { hooks: [{ type: "command", command: "deaddrop hook codex --as forge" }] };
    const own = { hooks: [{ type: "command", command: "date" }] };
    write(path, JSON.stringify({ hooks: { Stop: [own, ours], PreToolUse: [own] } }));
    write(join(home, ".codex/config.toml"), reviewed(path, ["stop:0:0", "pre_tool_use:0:0"]));
    expect(missing()).toHaveLength(1);
    write(join(home, ".codex/config.toml"), reviewed(path, ["stop:1:0"]));
    expect(missing()).toEqual([]);
  });
});

test("claude asks about the project and its server, and keeps that in two files", () => {
  const { project, home, write, joined } = machine();
  const missing = joined("claude");
  const problem = `claude does not run what joins it to the wire in ${project}`;
  const fix = "start claude there, and accept its trust question and the server deaddrop";
  expect(missing()).toEqual([{ problem, fix }]);
  const state = (of: object) =>
    write(join(home, ".claude.json"), JSON.stringify({ projects: { [project]: of } }));
  state({ hasTrustDialogAccepted: false });
  expect(missing()).toHaveLength(1);
  state({ hasTrustDialogAccepted: true });
  expect(missing()).toHaveLength(1);
  state({ hasTrustDialogAccepted: true, enabledMcpjsonServers: ["deaddrop"] });
  expect(missing()).toEqual([]);
  state({ hasTrustDialogAccepted: true, enabledMcpjsonServers: ["another"] });
  const local = join(project, ".claude/settings.local.json");
  write(local, '{ // of its person\n "enableAllProjectMcpServers": true }');
  expect(missing()).toEqual([]);
  write(local, '{ "enabledMcpjsonServers": ["deaddrop"] }');
  expect(missing()).toEqual([]);
  expect(machine().joined("claude", "user")()).toEqual([]);
});

test("gemini trusts a folder by itself or with one above it", () => {
  const { project, home, write, joined } = machine();
  const missing = joined("gemini");
  const problem = `gemini does not run what joins it to the wire in ${project}`;
  expect(missing()).toEqual([{ problem, fix: "start gemini there, and trust the folder" }]);
  const path = join(home, ".gemini/trustedFolders.json");
  for (const [folder, said, count] of [
    [project, "TRUST_FOLDER", 0],
    [project, "DO_NOT_TRUST", 1],
    [dirname(project), "TRUST_PARENT", 0],
    [home, "TRUST_FOLDER", 1],
  ] as const) {
    write(path, JSON.stringify({ [folder]: said }));
    expect(missing(), `${said} ${folder}`).toHaveLength(count);
  }
});

test("copilot trusts a folder by itself or with one above it, where it remembers that", () => {
  const { project, home, write, joined } = machine();
  const missing = joined("copilot");
  const problem = `copilot does not run what joins it to the wire in ${project}`;
  const fix = "start copilot there, and trust the folder for future sessions";
  expect(missing()).toEqual([{ problem, fix }]);
  for (const [folders, count] of [
    [[project], 0],
    [[home, dirname(project)], 0],
    [[home], 1],
  ] as const) {
    const state = JSON.stringify({ trustedFolders: folders });
    write(join(home, ".copilot/config.json"), `// This file is managed automatically.\n${state}`);
    expect(missing()).toHaveLength(count);
  }
  expect(machine().joined("copilot", "user")()).toEqual([]);
});

test("qwen trusts every folder, unless its person has it ask", () => {
  const { project, home, write, joined } = machine();
  const missing = joined("qwen");
  expect(missing()).toEqual([]);
  const security = { folderTrust: { enabled: true } };
  write(join(home, ".qwen/settings.json"), JSON.stringify({ security }));
  expect(missing()).toHaveLength(1);
  write(join(home, ".qwen/trustedFolders.json"), JSON.stringify({ [project]: "TRUST_FOLDER" }));
  expect(missing()).toEqual([]);
});

test("opencode asks nothing, and a state that cannot be read approves nothing", () => {
  const { home, write, joined } = machine();
  expect(joined("opencode")()).toEqual([]);
  write(join(home, ".claude.json"), "{");
  write(join(home, ".codex/config.toml"), "[");
  write(join(home, ".gemini/trustedFolders.json"), "null");
  for (const tool of ["claude", "codex", "gemini"] as const) {
    expect(joined(tool)(), tool).toHaveLength(1);
  }
});
