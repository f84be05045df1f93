import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { afterEach, beforeEach, expect, test } from "vitest";
import { processCli, type Cli } from "../../src/cli/context.ts";
import { main } from "../../src/cli/main.ts";
import { newMachine, type Machine } from "../setup/machine.ts";

// Whom the guard asks, of two agents that one person has on one wire. Spec 3.6. The commands are real,
// also what they ask of the wire; `guard check` is what the hooks run.

let machine: Machine;
beforeEach(async () => {
  machine = newMachine();
  git(machine.root, "init", "-q", "-b", "main");
  await must(machine.root, "init", "--me", "alice", "--peer", "bob", "--local-pair");
  const path = join(machine.wireDir, "config.json");
  const config = JSON.parse(readFileSync(path, "utf8")) as object;
  const domains = {
    web: { owner: "alice", paths: ["web/**"] },
    api: { owner: "bob", paths: ["api/**"] },
  };
  writeFileSync(path, JSON.stringify({ ...config, domains }));
  for (const handle of ["alice", "bob"]) {
    await must(machine.root, "config", "accept", "--as", handle, "--yes", "--reason", "a test");
  }
});
afterEach(() => machine.remove());

function git(cwd: string, ...args: readonly string[]): void {
  const who = ["-c", "user.name=Ada", "-c", "user.email=ada@a.example"];
  const { status, stderr } = spawnSync("git", [...who, ...args], { cwd, env: machine.env });
  if (status !== 0) throw new Error(stderr.toString());
}

async function deaddrop(cwd: string, args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const [out, err]: [string[], string[]] = [[], []];
  const outside = processCli();
  const cli: Cli = {
    ...{ exitCode: 0, clock: outside.clock, openClient: outside.openClient },
    ...{ env: { ...machine.env, ...env }, cwd, stdin: Readable.from([]) },
    stdout: { write: (text) => out.push(text) },
    stderr: { write: (text) => err.push(text) },
  };
  const exitCode = await main(args, cli);
  return { exitCode, stdout: out.join(""), stderr: err.join("") };
}

async function must(cwd: string, ...args: readonly string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await deaddrop(cwd, args);
  if (exitCode !== 0) throw new Error(`${args.join(" ")}: ${stderr}`);
  return stdout;
}

/** Stages one file of each domain, and says who is asked and what is blocked. */
async function checked(workTree: string, env: NodeJS.ProcessEnv = {}) {
  for (const path of ["web/a.ts", "api/b.ts"]) {
    mkdirSync(dirname(join(workTree, path)), { recursive: true });
    writeFileSync(join(workTree, path), "x\n");
    git(workTree, "add", path);
  }
  const { exitCode, stdout } = await deaddrop(workTree, ["guard", "check", "--json"], env);
  const { verdict, handle, blocked, notes } = JSON.parse(stdout) as {
    [field: string]: unknown;
    blocked: { path: string }[];
    notes: string[];
  };
  return { exitCode, verdict, handle, blocked: blocked.map(({ path }) => path), notes };
}

const asAlice = { exitCode: 1, verdict: "blocked", handle: "alice", blocked: ["api/b.ts"] };
const asBob = { exitCode: 1, verdict: "blocked", handle: "bob", blocked: ["web/a.ts"] };

test("it asks as the agent that installed it, whatever the folder is bound to", async () => {
  await must(machine.root, "as", "alice");
  const installed = await must(machine.root, "guard", "install", "--as", "bob");
  expect(installed).toContain("asks as bob in ");
  expect(JSON.parse(await must(machine.root, "guard", "status", "--json"))).toMatchObject({
    handle: "bob",
  });
  expect(await checked(machine.root)).toMatchObject(asBob);
  // Who commits may say so.
  expect(await checked(machine.root, { DEADDROP_AS: "alice" })).toMatchObject(asAlice);
});

test("it is named by the environment at the installation, too, as the wire is", async () => {
  const beside = newMachine();
  const project = beside.root;
  git(project, "init", "-q");
  const named = { DEADDROP_AS: "bob", DEADDROP_WIRE: machine.wireDir };
  const installed = await deaddrop(project, ["guard", "install"], named);
  expect(installed).toMatchObject({ exitCode: 0, stderr: "" });
  // A second wire of this user: there is no only one to take.
  mkdirSync(join(machine.root, "other"));
  await must(join(machine.root, "other"), "init", "--me", "carol", "--peer", "dan");
  expect(await checked(project)).toMatchObject(asBob);
  beside.remove();
});

test("of two agents and no binding it blocks, and says how to bind", async () => {
  git(machine.root, "commit", "-q", "--allow-empty", "-m", "first");
  const other = join(machine.root, "..", `${machine.root.split("/").at(-1)}-linked`);
  try {
    await must(machine.root, "guard", "install", "--as", "alice");
    git(machine.root, "worktree", "add", "-q", "-b", "linked", other);
    const unbound = await checked(other);
    expect(unbound).toMatchObject({ exitCode: 1, verdict: "blocked", handle: null });
    expect(unbound.notes.join("\n")).toContain("several identities here: alice, bob");
    expect(unbound.notes.join("\n")).toContain("deaddrop guard install --as <handle>");
    expect(await checked(other, { ALLOW_HOTPATH: "1" })).toMatchObject({ verdict: "overridden" });
    // Work trees of one repository share its hooks; each is asked for its own agent.
    await must(other, "as", "bob");
    expect(await checked(other)).toMatchObject(asBob);
    expect(await checked(machine.root)).toMatchObject(asAlice);
    await must(other, "as", "--forget");
    await must(other, "guard", "install", "--as", "bob");
    expect(await checked(other)).toMatchObject(asBob);
    expect(await checked(machine.root)).toMatchObject(asAlice);
    await must(other, "guard", "uninstall");
    for (const folder of ["", "worktrees"]) {
      const left = join(machine.root, ".git", folder, "deaddrop-guard.json");
      expect(existsSync(left)).toBe(false);
    }
    expect(await checked(other)).toMatchObject({ handle: null });
  } finally {
    git(machine.root, "worktree", "remove", "--force", other);
  }
});

test("a note that is damaged is named, and does not decide", async () => {
  await must(machine.root, "guard", "install", "--as", "bob");
  const note = join(machine.root, ".git/deaddrop-guard.json");
  writeFileSync(note, "{}");
  const { notes } = await checked(machine.root);
  expect(notes.join("\n")).toContain(`${note} does not say for whom the guard is installed`);
  await must(machine.root, "guard", "install", "--as", "bob");
  expect(await checked(machine.root)).toMatchObject(asBob);
});
