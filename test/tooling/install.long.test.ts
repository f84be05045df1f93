import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";

const checkout = resolve(import.meta.dirname, "../..");
const script = join(checkout, "install.sh");

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "deaddrop-install-"));
  onTestFinished(() => {
    rmSync(home, { recursive: true, force: true });
  });
});

interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function install(args: readonly string[], env: NodeJS.ProcessEnv = {}, piped = false): Ended {
  const run = spawnSync("sh", piped ? ["-s", "--", ...args] : [script, ...args], {
    cwd: home,
    encoding: "utf8",
    input: piped ? readFileSync(script) : "",
    env: { PATH: process.env["PATH"], HOME: home, ...env },
  });
  return { status: run.status, stdout: run.stdout, stderr: run.stderr };
}

/** A PATH on which one program is missing, or is another one. */
function pathWith(name: string, text: string | undefined): string {
  const folder = join(home, "programs");
  mkdirSync(folder);
  const wanted = ["sh", "git", "node", "npm", "flock", "dirname", "cat", "grep", "find", "head"];
  const found = (program: string): string | undefined =>
    (process.env["PATH"] ?? "")
      .split(delimiter)
      .map((place) => join(place, program))
      .find((path) => existsSync(path));
  for (const program of wanted.filter((each) => each !== name)) {
    const path = found(program);
    if (path !== undefined) symlinkSync(path, join(folder, program));
  }
  if (text !== undefined) {
    writeFileSync(join(folder, name), text);
    chmodSync(join(folder, name), 0o755);
  }
  return folder;
}

function tree(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" }).toSorted();
}

test.for([
  ["demo"],
  ["init", "--my-handle", "forge", "--peer-handle", "scribe", "--wire", "/srv/wire"],
  ["test"],
  ["uninstall", "--purge"],
])("a dry run of %j prints its steps and changes nothing", (args) => {
  const before = tree(home);
  const ended = install([...args, "--dry-run"]);
  expect(ended).toMatchObject({ status: 0, stderr: "" });
  expect(ended.stdout).toMatch(/^\+ /m);
  expect(tree(home)).toEqual(before);
});

test("init passes its flags on, then installs the service of that agent on that wire", () => {
  const { stdout } = install(["--dry-run", "init", "--me", "a", "--peer=b", "--wire", "/srv/w"]);
  const program = `${home}/.local/share/deaddrop/app/bin/deaddrop.js`;
  expect(stdout).toContain(`+ node ${program} init --me a --peer=b --wire /srv/w\n`);
  expect(stdout).toContain(`+ node ${program} service install --wire /srv/w --as a\n`);
  expect(stdout).toContain(`+ ln -sfn ${program} ${home}/.local/bin/deaddrop\n`);
});

test("what is needed and missing is said, with what to do", () => {
  const noGit = install(["demo"], { PATH: pathWith("git", undefined) });
  expect(noGit).toMatchObject({ status: 2, stdout: "" });
  expect(noGit.stderr).toMatch(/git is not installed\n {2}install it/);
});

test("an old Node.js is refused by its version", () => {
  const old = pathWith("node", '#!/bin/sh\n[ "$1" = --version ] && echo v18.19.0\nexit 1\n');
  const ended = install(["demo"], { PATH: old });
  expect(ended.status).toBe(2);
  expect(ended.stderr).toMatch(/Node.js v18.19.0 is too old\n {2}20.19 or newer is needed/);
});

test("nobody's file is replaced by the link", () => {
  mkdirSync(join(home, ".local/bin"), { recursive: true });
  writeFileSync(join(home, ".local/bin/deaddrop"), "mine");
  const ended = install(["init", "--me", "forge", "--peer", "scribe"]);
  expect(ended.status).toBe(2);
  expect(ended.stderr).toContain("is not a link of ours");
  expect(install(["uninstall"]).status).toBe(0);
  expect(readFileSync(join(home, ".local/bin/deaddrop"), "utf8")).toBe("mine");
});

test("the link that README's quick start makes does not stop the installer, and is not uninstalled", () => {
  const link = join(home, ".local/bin/deaddrop");
  mkdirSync(dirname(link), { recursive: true });
  const checkout = resolve(import.meta.dirname, "../..");
  symlinkSync(join(checkout, "bin/deaddrop.js"), link);
  const ended = install(["--dry-run", "init", "--me", "forge", "--peer", "scribe"]);
  expect(ended).toMatchObject({ status: 0, stderr: "" });
  const program = `${home}/.local/share/deaddrop/app/bin/deaddrop.js`;
  expect(ended.stdout).toContain(`+ ln -sfn ${program} ${link}\n`);
  expect(install(["uninstall"]).status).toBe(0);
  expect(readlinkSync(link)).toBe(join(checkout, "bin/deaddrop.js"));
  // A link to anything else is somebody's.
  rmSync(link);
  symlinkSync("/bin/true", link);
  expect(install(["init", "--me", "forge", "--peer", "scribe"]).status).toBe(2);
});

test("uninstalling keeps keys; purging them wants a terminal or --yes, and never takes a wire", () => {
  const key = join(home, ".config/inter-agent-deaddrop/forge.key");
  const inbox = join(home, ".local/state/inter-agent-deaddrop/w/forge/inbox.jsonl");
  const log = join(home, "project/_coordination/forge_to_scribe.jsonl");
  const program = join(home, ".local/share/deaddrop/app/bin/deaddrop.js");
  for (const path of [key, inbox, log, program]) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, "x");
  }
  const asked = install(["uninstall", "--purge"]);
  expect(asked.status).toBe(1);
  expect(asked.stderr).toContain("wants a terminal");
  expect(existsSync(program)).toBe(true);

  expect(install(["uninstall"]).status).toBe(0);
  expect([program, key, inbox].map((path) => existsSync(path))).toEqual([false, true, true]);
  expect(install(["uninstall", "--purge", "--yes"]).status).toBe(0);
  expect([key, inbox, log].map((path) => existsSync(path))).toEqual([false, false, true]);
  expect(install(["uninstall", "--purge", "--yes"]).status).toBe(0);
});

test("piped, it runs nothing of the folder that one is in", () => {
  const files = ["install.sh", "package.json", "src/cli/main.ts"] as const;
  for (const file of files) {
    mkdirSync(dirname(join(home, file)), { recursive: true });
    writeFileSync(join(home, file), '"name": "deaddrop"\n');
  }
  const env = { DEADDROP_REPOSITORY: "https://example.org/deaddrop.git" };
  const { stdout } = install(["--dry-run", "demo"], env, true);
  expect(stdout).toContain("git -c advice.detachedHead=false clone");
  expect(stdout).not.toContain(`${home}/bin`);
  expect(stdout).not.toContain(`(in ${home})`);
});

test("piped, it asks for a repository, and takes the pinned release of the one that is named", () => {
  const refused = install(["demo"], {}, true);
  expect(refused.status).toBe(2);
  expect(refused.stderr).toContain("DEADDROP_REPOSITORY");

  const repository = join(home, "elsewhere");
  const files = {
    "package.json": '{\n  "name": "deaddrop",\n  "scripts": { "build": "true" }\n}\n',
    "package-lock.json": '{ "packages": { "": {} } }',
    "node_modules/.package-lock.json": '{ "packages": {} }',
    "src/cli/main.ts": "",
    "tsconfig.json": "{}",
    "tsconfig.build.json": "{}",
    "bin/deaddrop.js": "console.log('pinned:', process.argv.slice(2).join(' '))",
  };
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(repository, path)), { recursive: true });
    writeFileSync(join(repository, path), text);
  };
  const git = (...args: readonly string[]): void => {
    const who = ["-c", "user.name=t", "-c", "user.email=t@localhost"];
    const run = spawnSync("git", [...who, ...args], { cwd: repository, encoding: "utf8" });
    expect(run.stderr + run.stdout, args.join(" ")).toSatisfy(() => run.status === 0);
  };
  for (const [path, text] of Object.entries(files)) write(path, text);
  git("init", "--quiet");
  git("add", "--force", ".");
  git("commit", "--quiet", "--message=release");
  git("tag", /^RELEASE=(.*)$/m.exec(readFileSync(script, "utf8"))?.[1] ?? "");
  write("bin/deaddrop.js", "console.log('newer than the release')");
  git("commit", "--quiet", "--all", "--message=later");

  const ended = install(["demo"], { DEADDROP_REPOSITORY: `file://${repository}` }, true);
  expect(ended).toMatchObject({ status: 0, stderr: "" });
  expect(ended.stdout).toContain("pinned: demo");
});
