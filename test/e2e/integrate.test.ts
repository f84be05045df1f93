import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { JOINABLE } from "../../src/agents/integrate/integration.ts";
import type { IntegrateView } from "../../src/cli/integrate/run-integrate.ts";
import { makeWire, removeWires, type LiveWire } from "../support/processes/live-wire.ts";
import { BIN, start, type Ended } from "../support/processes/real-processes.ts";
import { filesOf } from "../support/processes/tool-terminals.ts";

// `integrate` and `run` as a person runs them, in a project with settings of its own.

afterEach(removeWires);

interface Project {
  readonly wire: LiveWire;
  readonly folder: string;
  run(...args: readonly string[]): Promise<Ended>;
}

function makeProject(): Project {
  const wire = makeWire({ cadenceSeconds: 60, deadlineSeconds: 3_600 });
  const folder = join(wire.folder, "project");
  mkdirSync(join(folder, ".git"), { recursive: true });
  mkdirSync(join(folder, ".claude"));
  writeFileSync(
    join(folder, ".claude", "settings.local.json"),
    '{\n  // mine\n  "model": "x"\n}\n',
  );
  writeFileSync(join(folder, "AGENTS.md"), "# Agents\n");
  const run = (...[command = "", ...args]: readonly string[]) => {
    const yes = command === "integrate" ? ["--yes"] : [];
    const words = [BIN, command, "--as", "forge", "--wire", wire.dir, ...yes, ...args];
    return start(process.execPath, words, { env: wire.env, cwd: folder, input: "" }).ended;
  };
  return { wire, folder, run };
}

test.each(JOINABLE)("%s: what is printed happens, and all of it is taken back", async (tool) => {
  const { folder, run } = makeProject();
  const before = filesOf(folder);
  const printed = await run("integrate", tool, "--dry-run", "--json");
  expect(printed).toMatchObject({ code: 0, stderr: "" });
  expect(filesOf(folder)).toEqual(before);
  const joined = await run("integrate", tool, "--json");
  expect(joined).toMatchObject({ code: 0, stderr: "" });
  const [would, did] = [printed, joined].map(({ stdout }) => JSON.parse(stdout) as IntegrateView);
  expect(did?.files).toEqual(would?.files);
  expect(did?.files.length).toBeGreaterThanOrEqual(2);
  for (const { path } of did?.files ?? []) expect(existsSync(path), path).toBe(true);
  expect(did?.left.length).toBeGreaterThan(0);
  // Nothing that a person has to decide is decided.
  const written = Object.values(filesOf(folder)).join("\n");
  expect(written).not.toMatch(/"permissions"|trust_level|trusted|bypass|autoApprove|"trust"/i);
  expect(await run("integrate", tool)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("nothing to change") as string,
  });
  expect(await run("integrate", tool, "--remove")).toMatchObject({ code: 0 });
  expect(filesOf(folder)).toEqual(before);
});

test.each(["claude", "codex"] as const)(
  "%s: its sandbox is opened only when the person asks, and closed with the rest",
  async (tool) => {
    const { folder, run } = makeProject();
    const before = filesOf(folder);
    const setting = /"allow(All)?UnixSockets"|network_access = true/;
    const words = (): string => Object.values(filesOf(folder)).join("\n");
    const offered = await run("integrate", tool);
    expect(offered.stdout).toContain(`deaddrop integrate ${tool} --scope `);
    expect(offered.stdout).toContain("--open-sandbox");
    expect(words()).not.toMatch(setting);
    const shown = await run("integrate", tool, "--open-sandbox", "--dry-run");
    expect(shown.stdout).toMatch(setting);
    expect(words()).not.toMatch(setting);
    expect((await run("integrate", tool, "--open-sandbox")).code).toBe(0);
    expect(words()).toMatch(setting);
    // A later run without the flag leaves it as the person wanted it.
    expect((await run("integrate", tool)).stdout).toContain("nothing to change");
    expect((await run("integrate", tool, "--remove")).code).toBe(0);
    expect(filesOf(folder)).toEqual(before);
  },
);

test("a file that is broken is named, and no file is touched", async () => {
  const { folder, run } = makeProject();
  const path = join(folder, ".claude", "settings.local.json");
  writeFileSync(path, '{ "model": ');
  const before = filesOf(folder);
  const refused = await run("integrate", "claude");
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain(`${path}: not valid JSON`);
  expect(filesOf(folder)).toEqual(before);
  mkdirSync(join(folder, ".codex"));
  writeFileSync(join(folder, ".codex", "config.toml"), "[a\n");
  expect((await run("integrate", "codex")).stderr).toContain("config.toml: not valid TOML");
});

test("another agent's entry is not overwritten, nor is a link out of the project followed", async () => {
  const { wire, folder, run } = makeProject();
  expect(await run("integrate", "gemini")).toMatchObject({ code: 0 });
  const joined = filesOf(folder);
  const words = [BIN, "integrate", "gemini", "--yes", "--as", "scribe", "--wire", wire.dir];
  const other = await start(process.execPath, words, { env: wire.env, cwd: folder, input: "" })
    .ended;
  expect(other.code).toBe(2);
  expect(other.stderr).toContain("joins gemini to another agent or wire already");
  expect(filesOf(folder)).toEqual(joined);
  // A run that is refused starts no daemon.
  const asScribe = [BIN, "run", "--as", "scribe", "--wire", wire.dir, "gemini"];
  const ran = await start(process.execPath, asScribe, { env: wire.env, cwd: folder, input: "" })
    .ended;
  expect(ran.code).toBe(2);
  expect(ran.stderr).toContain("joins gemini to another agent or wire already");
  expect(existsSync(join(wire.paths("scribe").stateDir, "run.log"))).toBe(false);

  const outside = join(wire.folder, "outside.json");
  writeFileSync(outside, "{}");
  symlinkSync(outside, join(folder, "opencode.json"));
  expect((await run("integrate", "opencode")).stderr).toContain("outside of the project");
  expect(readFileSync(outside, "utf8")).toBe("{}");
});

test("no session is of two agents, whichever scope comes first", async () => {
  const tool = "claude";
  const { wire, folder, run } = makeProject();
  const other = (...args: readonly string[]) => {
    const words = [BIN, "integrate", tool, "--yes", "--as", "scribe", "--wire", wire.dir, ...args];
    return start(process.execPath, words, { env: wire.env, cwd: folder, input: "" }).ended;
  };
  const home = wire.env["HOME"] ?? "";
  // Node.js 22 and newer keep compiled code in ~/.cache.
  const isKept = ([name]: [string, unknown]): boolean => !name.startsWith(".cache/");
  const all = (): unknown => [filesOf(folder), Object.entries(filesOf(home)).filter(isKept)];
  for (const [first, second, said] of [
    ["local", "user", `joins ${tool} to another agent or wire already`],
    ["local", "local", `joins ${tool} to another agent or wire already`],
    ["project", "user", `${folder} is bound to forge`],
    ["project", "local", `${folder} is bound to forge`],
    ["user", "local", `${folder} is bound to forge`],
  ] as const) {
    expect(await run("integrate", tool, "--scope", first)).toMatchObject({ code: 0 });
    const joined = all();
    const refused = await other("--scope", second);
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toContain(said);
    if (first !== second) {
      const twice = await run("integrate", tool, "--scope", second);
      expect(twice.stderr).toContain(`${tool} is joined here already, with --scope ${first}`);
    }
    expect(all()).toEqual(joined);
    expect(await run("integrate", tool, "--remove")).toMatchObject({ code: 0 });
    await run("as", "--forget");
    expect(await other("--scope", second)).toMatchObject({ code: 0 });
    expect(await other("--scope", second, "--remove")).toMatchObject({ code: 0 });
    await run("as", "--forget");
  }
});

test("run joins for one run, hands through arguments and exit code, and says what is unread", async () => {
  const { wire, folder, run } = makeProject();
  const bin = join(wire.folder, "bin");
  mkdirSync(bin);
  const tool = join(bin, "gemini");
  const script = [
    "#!/bin/sh",
    'echo "$DEADDROP_AS $*"',
    "grep -c deaddrop .gemini/settings.json >/dev/null && echo joined",
    "exit 7",
  ];
  writeFileSync(tool, `${script.join("\n")}\n`, { mode: 0o755 });
  const env = { ...wire.env, PATH: `${bin}:${process.env["PATH"]}` };
  await wire.run("scribe", "send", "a subject", "a body");
  const before = filesOf(folder);
  const words = [
    BIN,
    "run",
    "--as",
    "forge",
    "--wire",
    wire.dir,
    "gemini",
    "-p",
    "--flag",
    "two words",
  ];
  const ended = await start(process.execPath, words, { env, cwd: folder, input: "" }).ended;
  expect(ended.code).toBe(7);
  expect(ended.stdout).toBe("forge -p --flag two words\njoined\n");
  expect(ended.stderr).toContain("forge has 1 unread message");
  expect(filesOf(folder)).toEqual(before);
  expect(await wire.json("forge", "whoami")).toMatchObject({ daemon: { running: false } });
  // Joined before: it stays joined.
  await run("integrate", "gemini");
  const joined = filesOf(folder);
  await start(process.execPath, words, { env, cwd: folder, input: "" }).ended;
  expect(filesOf(folder)).toEqual(joined);
});
