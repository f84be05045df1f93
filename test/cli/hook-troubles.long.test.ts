import type { TroubleView } from "../../src/api/troubles.ts";
import type { Check } from "../../src/setup/checks/host-checks.ts";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { newMachine, type Machine } from "../setup/machine.ts";
import { commandsOn } from "./on-machine.ts";
import { run as runCli } from "./fake-cli.ts";

// What keeps a tool's hooks from running is in the tool's own files, as docs/coding-tools.md says;
// trusted_hash is the one that `codex app-server` 0.169.0 gives for the command below.

let machine: Machine;
afterEach(() => machine.remove());

const { run } = commandsOn(() => machine);

/** A wire on which forge is, with a tool that is joined in the project. */
async function joined(tool: string): Promise<string> {
  machine = newMachine();
  const project = join(machine.root, "project");
  mkdirSync(machine.env["HOME"] ?? "", { recursive: true });
  execFileSync("git", ["init", "--quiet", project]);
  const pair = ["--local-pair", "--me", "forge", "--peer", "scribe", "--wire", machine.wireDir];
  expect(await run("init", ...pair)).toMatchObject({ code: 0, stderr: "" });
  const ended = await at(project, ["integrate", tool, "--scope", "project", "--yes"]);
  expect(ended, ended.stderr).toMatchObject({ exitCode: 0 });
  return project;
}

function at(cwd: string, args: readonly string[]) {
  const env = { ...machine.env, DEADDROP_WIRE: machine.wireDir, DEADDROP_AS: "forge" };
  return runCli(args, { env, cwd, nowMs: Date.now() });
}

async function toolFindings(cwd: string) {
  const { stdout } = await at(cwd, ["doctor", "--json"]);
  const { checks, troubles } = JSON.parse(stdout) as { checks: Check[]; troubles: TroubleView[] };
  return [
    ...checks.filter(({ check }) => check === "coding tools"),
    ...troubles.filter(({ code }) => code === "coding_tool"),
  ];
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

function change(path: string, by: (settings: Record<string, unknown>) => object): void {
  write(
    path,
    JSON.stringify(by(JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>)),
  );
}

const details = async (cwd: string) =>
  (await toolFindings(cwd))
    .map((each) => `${each.detail} → ${"end" in each ? each.end : ""}`)
    .join("\n");

test("hooks that Codex has not reviewed since they changed are named", async () => {
  const project = await joined("codex");
  const path = join(project, ".codex", "hooks.json");
  const handler = { type: "command", command: "deaddrop hook codex --as forge", timeout: 10 };
  change(path, () => ({ hooks: { Stop: [{ hooks: [handler] }] } }));
  const review = (hash: string) =>
    write(
      join(machine.env["HOME"] ?? "", ".codex", "config.toml"),
      `[hooks.state."${path}:stop:0:0"]\ntrusted_hash = "sha256:${hash}"\n`,
    );
  review("38fd508acd0cc6a9768749ced82b85f3d463c62c750175afc9dfb9300b847228");
  expect(await details(project)).not.toContain("codex passes over");
  review("0".repeat(64));
  expect(await details(project)).toContain(`codex passes over hooks in ${path}`);
  expect(await details(project)).toContain("review its hooks again");
});

test.each(["project", "home"])(
  "Gemini with hooks switched off in its %s is named",
  async (where) => {
    const project = await joined("gemini");
    expect(await details(project)).not.toContain("runs no hooks");
    const path = join(
      where === "home" ? (machine.env["HOME"] ?? "") : project,
      ".gemini/settings.json",
    );
    if (where === "home") write(path, "{}");
    change(path, (settings) => ({ ...settings, hooksConfig: { enabled: false } }));
    expect(await details(project)).toContain(`${path} switches them off with hooksConfig.enabled`);
  },
);

test.each([
  ["gemini", ".gemini/settings.json", 5_000],
  ["qwen", ".qwen/settings.json", 5],
  ["codex", ".codex/hooks.json", 3],
  ["claude", ".claude/settings.json", 5],
])("timeouts of %s that eight hooks at once do not keep are named", async (tool, file, short) => {
  const project = await joined(tool);
  const path = join(project, file);
  expect(await details(project)).not.toContain("cuts them off");
  const text = readFileSync(path, "utf8");
  writeFileSync(path, text.replaceAll(/"timeout": 10(?:000)?\b/g, `"timeout": ${short}`));
  expect(readFileSync(path, "utf8")).not.toBe(text);
  expect(await details(project)).toContain(`${tool} cuts them off`);
  expect(await details(project)).toContain(`deaddrop integrate ${tool}`);
});

test("a worktree whose main checkout is joined is named, with the command that joins it", async () => {
  const project = await joined("gemini");
  const worktree = join(machine.root, "worktree");
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=x", "-c", "user.email=x@y", "-C", project, ...args]);
  git("commit", "--quiet", "--allow-empty", "-m", "a commit");
  git("worktree", "add", "--quiet", worktree);
  expect(await details(project)).not.toContain("worktree");
  mkdirSync(join(worktree, "src"));
  expect(await details(join(worktree, "src"))).toContain(
    `join it here: cd ${worktree} && deaddrop integrate gemini`,
  );
});
