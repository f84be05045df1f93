import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { JOINABLE } from "../../src/agents/integrate/integration.ts";
import type { IntegrateView } from "../../src/cli/integrate/run-integrate.ts";
import { newMachine, type Machine } from "../setup/machine.ts";
import { run as runCli, type Outside } from "./fake-cli.ts";

// `integrate` writes nothing that a commit would give to others, and asks first. Spec 8.3.

let machine: Machine;
let project: string;
beforeEach(async () => {
  machine = newMachine();
  project = join(machine.root, "project");
  mkdirSync(project);
  git("init", "-q", "-b", "main");
  await deaddrop(["init", "--me", "alice", "--peer", "bob"]);
});
afterEach(() => machine.remove());

function git(...args: readonly string[]): string {
  const who = ["-c", "user.name=Ada", "-c", "user.email=ada@a.example"];
  const ended = spawnSync("git", [...who, ...args], { cwd: project, env: machine.env });
  if (ended.status !== 0) throw new Error(ended.stderr.toString());
  return ended.stdout.toString();
}

async function deaddrop(args: readonly string[], outside: Outside = {}) {
  const env = { ...machine.env, DEADDROP_WIRE: undefined, DEADDROP_AS: undefined };
  return runCli(args, { env, cwd: project, nowMs: Date.now(), ...outside });
}

async function integrate(...args: readonly string[]): Promise<IntegrateView> {
  const { exitCode, stdout, stderr } = await deaddrop(["integrate", ...args, "--json"]);
  if (exitCode !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as IntegrateView;
}

/** What `git add -A` would commit. */
const offered = () => git("status", "--porcelain", "--untracked-files=all");
const excluded = () => readFileSync(join(project, ".git/info/exclude"), "utf8");

test.each(JOINABLE)(
  "%s: git offers none of it to a commit, and --remove leaves no trace",
  async (tool) => {
    const before = excluded();
    const { files } = await integrate(tool, "--yes");
    expect(files.length).toBeGreaterThan(1);
    expect(offered()).toBe("");
    expect((await integrate(tool, "--yes")).files).toEqual([]);
    await integrate(tool, "--remove");
    expect(offered()).toBe("");
    expect(excluded()).toBe(before);
    for (const { path, what } of files)
      expect([path, existsSync(path)]).toEqual([path, what !== "made"]);
  },
);

test("two tools share the list, and what is shared with --scope project is offered", async () => {
  await integrate("gemini", "--yes");
  await integrate("claude", "--yes");
  await integrate("gemini", "--remove");
  expect(offered()).toBe("");
  const twice = await deaddrop(["integrate", "claude", "--scope", "project", "--yes"]);
  expect(twice.stderr).toContain("claude is joined here already, with --scope local");
  await integrate("claude", "--remove");
  await integrate("claude", "--scope", "project", "--yes");
  expect(offered()).toContain(".mcp.json");
  await integrate("claude", "--remove");
  expect(excluded()).not.toContain("deaddrop:begin");
});

test("instructions that others share are left alone, and tracked settings are refused", async () => {
  for (const name of ["GEMINI.md", "CLAUDE.md", ".mcp.json"]) {
    writeFileSync(join(project, name), name.endsWith("json") ? "{}\n" : "# Ours\n");
  }
  symlinkSync("CLAUDE.md", join(project, "AGENTS.md"));
  git("add", "-A");
  git("commit", "-q", "-m", "first");
  const { left } = await integrate("gemini", "--yes");
  expect(left.join("\n")).toContain("GEMINI.md is shared with others and was left alone");
  const others = await integrate("codex", "--yes");
  expect(others.left.join("\n")).toContain("AGENTS.md is shared with others");
  const refused = await deaddrop(["integrate", "claude", "--yes"]);
  expect(refused.exitCode).not.toBe(0);
  expect(refused.stderr).toContain("git tracks .mcp.json");
  expect(refused.stderr).toContain("deaddrop integrate claude --scope user");
  expect(offered()).toBe("");
  // Who means to share it says so.
  await integrate("claude", "--scope", "project", "--yes");
  expect(offered()).toContain(" M .mcp.json");
});

test("it asks before it writes, and --dry-run shows and writes nothing", async () => {
  const before = machine.picture();
  const shown = await deaddrop(["integrate", "claude", "--dry-run"]);
  expect(shown).toMatchObject({ exitCode: 0 });
  expect(shown.stdout).toContain("nothing was changed");
  const unasked = await deaddrop(["integrate", "claude"]);
  expect(unasked.exitCode).not.toBe(0);
  expect(unasked.stderr).toContain("say yes on a terminal, or give --yes");
  const no = await deaddrop(["integrate", "claude"], { tty: true, stdin: "n\n" });
  expect(no.stderr).toContain("+++");
  expect(no.stderr).toContain("not confirmed; nothing was changed");
  expect(machine.picture()).toEqual(before);
  const yes = await deaddrop(["integrate", "claude"], { tty: true, stdin: "y\n" });
  expect(yes).toMatchObject({ exitCode: 0 });
  expect(existsSync(join(project, ".mcp.json"))).toBe(true);
});
