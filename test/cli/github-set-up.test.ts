import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { newMachine, type Machine } from "../setup/machine.ts";
import { commandsOn } from "./on-machine.ts";

// `gh` is a stand-in on PATH that notes how it was called and answers as gh 2 does. The repository that
// it "makes" is a folder: the user's git is told to find GitHub's host there by ssh.

let machine: Machine;
let bin: string;
const { run, json } = commandsOn(() => machine, { viaDaemon: false });
beforeEach(() => {
  machine = newMachine();
  bin = join(machine.root, "bin");
  mkdirSync(bin);
  const env = machine.env as Record<string, string | undefined>;
  env["PATH"] = `${bin}${delimiter}${process.env["PATH"] ?? ""}`;
  env["REPOSITORIES"] = join(machine.root, "github");
  mkdirSync(join(machine.root, "github"));
  standIn(
    "ssh",
    // The last word is the command; the path in it is below the folder.
    `for what; do :; done\ncd ${join(machine.root, "github")} && eval "exec $what"`,
  );
});
afterEach(() => machine.remove());

function standIn(name: string, script: string): void {
  writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}

/** As gh answers a user who is signed in as `octo`. */
function signedIn(): void {
  standIn(
    "gh",
    [
      `echo "$*" >> ${join(machine.root, "called")}`,
      'case "$1 $2" in',
      '"api user") echo octo ;;',
      `"repo list") cd "$REPOSITORIES" && ls -d */*.git 2>/dev/null | sed 's/.git$//' ;;`,
      '"repo create") git init --quiet --bare --initial-branch=main "$REPOSITORIES/$3.git" ;;',
      '"api --method") : ;;',
      '"config get") echo ssh ;;',
      "*) echo unknown command >&2; exit 1 ;;",
      "esac",
    ].join("\n"),
  );
}

function called(): string[] {
  const at = join(machine.root, "called");
  return existsSync(at) ? readFileSync(at, "utf8").trim().split("\n") : [];
}

const INIT = ["init", "--me", "forge", "--peer", "scribe"];

interface Report {
  steps: { step: string; outcome: string }[];
}

test("--peer-github makes a private repository, invites the peer, and fills it", async () => {
  signedIn();
  const made = await json<Report>(...INIT, "--peer-github", "scribbler", "--repo-name", "wire");
  expect(called()).toEqual([
    "api user --jq .login",
    "repo list --limit 1000 --json nameWithOwner --jq .[].nameWithOwner",
    "repo create octo/wire --private",
    "api --method PUT repos/octo/wire/collaborators/scribbler -f permission=push --silent",
    "config get git_protocol --host github.com",
  ]);
  expect(made.steps.at(-1)).toEqual({
    step: "share the wire through git@github.com:octo/wire.git (main)",
    outcome: "done",
  });
  const repository = join(machine.root, "github", "octo", "wire.git");
  const files = execFileSync("git", ["-C", repository, "ls-tree", "--name-only", "main"]);
  expect(files.toString()).toContain("config.json");
});

test("run again it makes no second repository and asks nobody", async () => {
  signedIn();
  await json<Report>(...INIT, "--github");
  const before = called().length;
  const again = await json<Report>(...INIT, "--github");
  expect(called()).toHaveLength(before);
  expect(new Set(again.steps.map(({ outcome }) => outcome))).toEqual(new Set(["already"]));
  expect(called().find((each) => each.startsWith("repo create"))).toMatch(
    /^repo create octo\/deaddrop-[0-9a-f]{8} --private$/,
  );
});

test("a dry run calls nothing and says what it would make", async () => {
  signedIn();
  const made = await json<Report>(...INIT, "--github", "--repo-name", "wire", "--dry-run");
  expect(called()).toEqual([]);
  expect(made.steps.at(-1)).toEqual({
    step: "make the private repository wire on GitHub, with gh",
    outcome: "would",
  });
});

test.each([
  ["gh that is not signed in", "echo 'please run:  gh auth login' >&2\nexit 4", "gh auth login"],
  ["gh that fails", "printf 'HTTP 500\\033[31m' >&2\nexit 1", "HTTP 500"],
])("%s is named, and no wire is made", async (_what, script, named) => {
  standIn("gh", script);
  const answer = await run(...INIT, "--github");
  expect(answer.code).not.toBe(0);
  expect(answer.stderr).toContain(named);
  expect(answer.stderr).not.toContain("\u001b");
  expect(existsSync(machine.wireDir)).toBe(false);
});

test("without gh the way without it is named", async () => {
  (machine.env as Record<string, string | undefined>)["PATH"] = bin;
  const answer = await run(...INIT, "--github");
  expect(answer.code).toBe(2);
  expect(answer.stderr).toContain("--remote URL");
  expect(existsSync(machine.wireDir)).toBe(false);
});

test.each([
  [["--github", "--remote", "/srv/x.git"]],
  [["--repo-name", "wire"]],
  [["--github", "--repo-name", "../x"]],
  [["--github", "--repo-name", "-x"]],
  [["--peer-github", "a/b"]],
  [["--local-pair", "--github"]],
])("%j is refused, and gh is not called", async (flags) => {
  signedIn();
  expect(await run(...INIT, ...flags)).toMatchObject({ code: 1 });
  expect(called()).toEqual([]);
});
