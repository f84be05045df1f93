import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { addExclude, gitExcludeFor, isExcluded } from "../../../src/setup/wire/git-exclude.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "deaddrop-exclude-"));
});
afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

function git(folder: string, ...args: string[]): string {
  const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };
  return execFileSync("git", ["-C", folder, ...args], { encoding: "utf8", env });
}

function untracked(folder: string): string[] {
  return git(folder, "status", "--porcelain", "--untracked-files=all").split("\n").filter(Boolean);
}

describe("keeping a wire out of a project's commits", () => {
  it.each(["_coordination", "deep/er/_coordination", "odd [name]*?", "back\\slash"])(
    "hides %j from git, and only it",
    (name) => {
      git(root, "init", "-q");
      const wire = join(root, name);
      mkdirSync(wire, { recursive: true });
      writeFileSync(join(wire, "a.jsonl"), "");
      writeFileSync(join(root, "kept.txt"), "");
      const exclude = gitExcludeFor(wire);
      if (exclude === undefined) throw new Error("expected a place for the pattern");
      expect(isExcluded(exclude)).toBe(false);
      addExclude(exclude);
      expect(untracked(root)).toEqual(["?? kept.txt"]);
    },
  );

  it("adds the pattern once, after a last line without a newline", () => {
    git(root, "init", "-q");
    const exclude = gitExcludeFor(join(root, "_coordination"));
    if (exclude === undefined) throw new Error("expected a place for the pattern");
    writeFileSync(exclude.file, "*.swp");
    addExclude(exclude);
    addExclude(exclude);
    expect(readFileSync(exclude.file, "utf8")).toBe("*.swp\n/_coordination/\n");
  });

  it("finds the shared exclude file from a worktree", () => {
    const main = join(root, "main");
    mkdirSync(main);
    git(main, "init", "-q");
    git(
      main,
      "-c",
      "user.name=x",
      "-c",
      "user.email=x@example.org",
      "commit",
      "-q",
      "--allow-empty",
      "-m",
      "x",
    );
    git(main, "worktree", "add", "-q", join(root, "side"));
    const wire = join(root, "side", "_coordination");
    mkdirSync(wire);
    writeFileSync(join(wire, "a.jsonl"), "");
    const exclude = gitExcludeFor(wire);
    if (exclude === undefined) throw new Error("expected a place for the pattern");
    expect(exclude.file).toBe(join(main, ".git", "info", "exclude"));
    addExclude(exclude);
    expect(untracked(join(root, "side"))).toEqual([]);
  });

  it("has nothing to do outside a repository, and in a folder that is a repository itself", () => {
    expect(gitExcludeFor(join(root, "_coordination"))).toBeUndefined();
    git(root, "init", "-q");
    expect(gitExcludeFor(root)).toBeUndefined();
  });
});
