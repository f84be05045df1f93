import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { newMachine, type Machine } from "../setup/machine.ts";
import { BY_FLAGS, commandsOn } from "./on-machine.ts";

// Two machines that share nothing but a bare repository; no daemon runs.

let forge: Machine;
let scribe: Machine;
const one = commandsOn(() => forge, { viaDaemon: false });
const two = commandsOn(() => scribe, { viaDaemon: false });
beforeEach(() => {
  forge = newMachine();
  scribe = newMachine();
});
afterEach(() => {
  forge.remove();
  scribe.remove();
});

function git(folder: string, ...args: readonly string[]): string {
  return execFileSync("git", ["-C", folder, ...args], { encoding: "utf8" });
}

function bare(name = "wire.git", ...options: readonly string[]): string {
  const folder = join(forge.root, name);
  execFileSync("git", ["init", "--quiet", "--bare", ...options, folder]);
  return folder;
}

interface Report {
  wire_id: string;
  wire_dir: string;
  steps: { step: string; outcome: string }[];
  peers: { handle: string; tier: string | null }[];
}

const INIT = ["init", "--me", "forge", "--peer", "scribe", "--remote"];

function join2(remote: string, ...more: readonly string[]): readonly string[] {
  return ["join", remote, "--me", "scribe", "--peer", "forge", ...more];
}

test("init fills an empty repository, and join makes the folder from it", async () => {
  const remote = bare();
  const made = await one.json<Report>(...INIT, remote);
  const files = git(remote, "ls-tree", "-r", "--name-only", "main").trim().split("\n");
  expect(files).toEqual([
    ...[".gitattributes", "PROTOCOL.md", "config.json", "forge_state.json", "tiers.json"],
    ...["trust.json", "trust/forge.card.json"],
  ]);
  expect(git(remote, "show", "main:.gitattributes")).toContain("*.jsonl merge=union");

  const joined = await two.json<Report>(...join2(remote));
  expect(joined.wire_id).toBe(made.wire_id);
  expect(joined.peers).toMatchObject([{ handle: "forge", tier: "UNTRUSTED" }]);
  for (const file of ["config.json", "tiers.json"]) {
    expect(readFileSync(join(joined.wire_dir, file))).toEqual(
      readFileSync(join(made.wire_dir, file)),
    );
  }
  const trust = JSON.parse(git(remote, "show", "main:trust.json")) as { agents: object };
  expect(Object.keys(trust.agents).toSorted()).toEqual(["forge", "scribe"]);
  expect(git(remote, "log", "--format=%an <%ae>", "main").trim().split("\n")).toEqual([
    "scribe <scribe@deaddrop.invalid>",
    "forge <forge@deaddrop.invalid>",
    "forge <forge@deaddrop.invalid>",
  ]);
});

test("both may be run again, and change nothing", async () => {
  const remote = bare();
  await one.json<Report>(...INIT, remote);
  await two.json<Report>(...join2(remote));
  const before = git(remote, "rev-parse", "main");
  const again = await one.json<Report>(...INIT, remote);
  const outcomes = new Set(again.steps.map(({ outcome }) => outcome));
  expect(outcomes).toEqual(new Set(["already"]));
  const rest = await two.json<Report>(...join2(remote));
  expect(rest.steps.filter(({ outcome }) => outcome !== "already")).toEqual([]);
  // What each side has learned of the other's card meanwhile is all that is pushed.
  const changed = git(remote, "diff", "--name-only", before.trim(), "main").trim().split("\n");
  expect(changed.filter((path) => !/^trust\/|_state\.json$/u.test(path))).toEqual([]);
});

test("a dry run looks at the remote and changes nothing", async () => {
  const remote = bare();
  const made = await one.json<Report>(...INIT, remote, "--dry-run");
  expect(made.steps.at(-1)).toEqual({
    step: `share the wire through ${remote} (main)`,
    outcome: "would",
  });
  expect(git(remote, "branch", "--list")).toBe("");
  await one.json<Report>(...INIT, remote);
  const joined = await two.json<{ folder: string; steps: { outcome: string }[] }>(
    ...join2(remote, "--dry-run"),
  );
  expect(joined.steps.map(({ outcome }) => outcome)).toEqual(["would", "would", "would"]);
  expect(existsSync(joined.folder)).toBe(false);
});

test("what is no empty repository and not this wire is refused", async () => {
  const remote = bare();
  const project = join(forge.root, "project");
  execFileSync("git", ["clone", "--quiet", remote, project], { stdio: "ignore" });
  writeFileSync(join(project, "main.c"), "int main(void) {}\n");
  git(project, "add", "--all");
  git(project, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "x");
  git(project, "push", "--quiet", "origin", "HEAD:main");
  const refused = await one.run(...INIT, remote);
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain("holds something else than a wire");
  expect(await two.run(...join2(remote))).toMatchObject({ code: 2 });

  // A branch of its own in the same repository.
  await one.json<Report>(...INIT, remote, "--branch", "deaddrop");
  const joined = await two.json<Report>(...join2(remote, "--branch", "deaddrop"));
  expect(existsSync(join(joined.wire_dir, "main.c"))).toBe(false);

  const other = bare("other.git");
  const third = await one.run("init", "--me", "forge", "--peer", "sam", "--remote", remote);
  expect(third.code).toBe(2);
  const moved = await one.run(...INIT, other);
  expect(moved.stderr).toContain("shared through");
});

test.each([
  ["a path that is not there", "gone.git", "gone.git"],
  ["a folder that is no repository", "plain", "plain"],
])("%s is named", async (_what, name, named) => {
  mkdirSync(join(forge.root, "plain"), { recursive: true });
  const answer = await one.run(...INIT, join(forge.root, name));
  expect(answer.code).toBe(6);
  expect(answer.stderr).toContain(named);
  expect(existsSync(join(forge.root, "_coordination"))).toBe(false);
});

test("a handle that the wire does not have leaves nothing in the way of the right one", async () => {
  const remote = bare();
  await one.json<Report>(...INIT, remote);
  const refused = await two.run("join", remote, "--me", "scrbe", "--peer", "forge");
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain('"scrbe" is not in the roster');
  expect(existsSync(join(scribe.root, "_coordination"))).toBe(false);
  await two.json<Report>(...join2(remote));
});

test("a repository with SHA-256 ids, empty or not", async () => {
  const remote = bare("long.git", "--object-format=sha256");
  await one.json<Report>(...INIT, remote);
  expect(git(remote, "rev-parse", "main").trim()).toHaveLength(64);
  await two.json<Report>(...join2(remote));
  expect(git(remote, "ls-tree", "-r", "--name-only", "main")).toContain("trust/scribe.card.json");
});

test("a wire that the Python reference made, below a project's folder", async () => {
  const remote = bare();
  const clone = join(forge.root, "clone");
  execFileSync("git", ["clone", "--quiet", remote, clone], { stdio: "ignore" });
  const wire = join(clone, "_coordination");
  mkdirSync(wire);
  writeFileSync(join(wire, "PROTOCOL.md"), "# Dead drop\n");
  writeFileSync(join(wire, "forge_to_scribe.jsonl"), "");
  writeFileSync(join(clone, "README.md"), "a project\n");
  git(clone, "add", "--all");
  git(clone, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "x");
  git(clone, "push", "--quiet", "origin", "HEAD:main");
  const joined = await two.json<Report>(...join2(remote));
  expect(existsSync(join(joined.wire_dir, "forge_to_scribe.jsonl"))).toBe(true);
  const files = git(remote, "ls-tree", "-r", "--name-only", "main").trim().split("\n");
  expect(files).toContain("_coordination/trust/scribe.card.json");
  expect(files).toContain("README.md");
});

test("transport status and switch", async () => {
  const remote = bare();
  await one.json<Report>(...INIT, remote);
  const as = ["--as", "forge"];
  expect(await one.json("transport", "status", ...as)).toEqual({
    ...{ transport: "git", remote, branch: "main", health: null },
  });
  const other = bare("other.git");
  await one.json("transport", "switch", "git", "--remote", other, ...as, ...BY_FLAGS);
  expect(git(other, "ls-tree", "--name-only", "main")).toContain("config.json");
  await one.json("transport", "switch", "folder", ...as, ...BY_FLAGS);
  expect(await one.json("transport", "status", ...as)).toMatchObject({ transport: "folder" });
  const doctor = await one.run("doctor", ...as);
  expect(doctor.stdout).not.toContain("transport");
});
