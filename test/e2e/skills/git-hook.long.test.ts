import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { installHooks, uninstallHooks } from "../../../src/setup/guard/hooks.ts";
import { makeProject, skillText, type Project } from "../../skills/on-project.ts";

// Real repositories and worktrees, the real git, the built program in the hook.

const IDENTITY = {
  ...{ GIT_AUTHOR_NAME: "Ada", GIT_AUTHOR_EMAIL: "ada@a.example", GIT_CONFIG_NOSYSTEM: "1" },
  ...{ GIT_COMMITTER_NAME: "Ada", GIT_COMMITTER_EMAIL: "ada@a.example" },
};
/** A guard of which the program is gone: it lets everything through, and says so. */
const GUARD = { node: "/none/node", bin: "/none/bin", flags: [], settings: "/none/s.json" };

class Repository {
  readonly project: Project;
  readonly top: string;
  readonly hooks: string;

  /** `top`: of the work tree, from the project. */
  constructor(hooks = ".git/hooks", top = ".") {
    this.project = makeProject();
    this.top = join(this.project.folder, top);
    this.hooks = join(this.top, hooks);
    this.git("init", "-q", "-b", "main");
  }

  get #env(): NodeJS.ProcessEnv {
    return { PATH: process.env["PATH"], HOME: this.project.folder, ...IDENTITY };
  }

  git(...args: string[]): string {
    const options = { cwd: this.top, env: this.#env, encoding: "utf8" } as const;
    return execFileSync("git", args, options);
  }

  /** Commits all that there is. */
  commit(cwd = this.top) {
    const options = { cwd, env: this.#env, encoding: "utf8" } as const;
    execFileSync("git", ["add", "--all"], options);
    const { status, stderr } = spawnSync("git", ["commit", "-qm", "a change"], options);
    return { status, stderr };
  }

  /** A library of one skill with its mirrors. */
  async library(): Promise<void> {
    this.project.write("agent/skills/a/SKILL.md", skillText("a"));
    await this.project.fine("skills", "sync");
  }

  own(name: string, text: string): void {
    mkdirSync(dirname(join(this.hooks, name)), { recursive: true });
    writeFileSync(join(this.hooks, name), text);
    chmodSync(join(this.hooks, name), 0o755);
  }

  hook(name: string): string | undefined {
    const path = join(this.hooks, name);
    return existsSync(path) ? readFileSync(path, "utf8") : undefined;
  }
}

const INSTALL = ["skills", "hooks", "install"];
const OWN = "#!/bin/sh\necho mine >> mine.txt\n";

describe("skills hooks install", () => {
  test("a commit with a mirror that differs or a skill that is not valid is stopped, and others are not", async () => {
    const repository = new Repository();
    const { project } = repository;
    await repository.library();
    expect(await project.fine(...INSTALL)).toContain("installed");
    expect(repository.commit()).toEqual({ status: 0, stderr: "" });

    project.write("agent/skills/a/SKILL.md", skillText("a", "Do it well.\n"));
    const stopped = repository.commit();
    expect(stopped.status).toBe(1);
    expect(stopped.stderr).toContain("a/SKILL.md: outdated");
    expect(stopped.stderr).toContain("run deaddrop skills sync, and commit what it writes");
    expect(repository.git("log", "--oneline").trim().split("\n")).toHaveLength(1);
    await project.fine("skills", "sync");
    expect(repository.commit().status).toBe(0);

    project.write("agent/skills/a/SKILL.md", "---\nname: b\n---\n");
    const invalid = repository.commit();
    expect(invalid.status).toBe(1);
    expect(invalid.stderr).toContain("a/SKILL.md:2:");
    // A branch without a library has nothing to check.
    repository.git("rm", "-rqf", "--cached", "agent");
    execFileSync("rm", ["-rf", join(project.folder, "agent")]);
    expect(repository.commit()).toEqual({ status: 0, stderr: "" });
  });

  test("is idempotent; a user's own hook runs first, may stop the commit, and is back after --remove", async () => {
    const repository = new Repository();
    const { project } = repository;
    await repository.library();
    repository.own("pre-commit", OWN);
    const before = repository.hook("pre-commit");
    expect(await project.fine(...INSTALL)).toContain("runs first: ");
    const installed = repository.hook("pre-commit");
    expect(await project.fine(...INSTALL)).toContain("is there already");
    expect(repository.hook("pre-commit")).toBe(installed);
    expect(repository.commit().status).toBe(0);
    expect(project.read("mine.txt")).toBe("mine\n");

    repository.own("pre-commit.before-skills", "#!/bin/sh\necho no >&2\nexit 7\n");
    expect(repository.commit()).toMatchObject({ status: 1, stderr: "no\n" });
    repository.own("pre-commit.before-skills", OWN);
    expect(await project.fine(...INSTALL, "--remove")).toContain("there before");
    expect(repository.hook("pre-commit")).toBe(before);
    expect(repository.hook("pre-commit.before-skills")).toBeUndefined();
    expect(await project.fine(...INSTALL, "--remove")).toContain("there is no hook of ours");
    expect(repository.hook("pre-commit")).toBe(before);
  });

  test("one that somebody has changed is neither replaced nor removed", async () => {
    const repository = new Repository();
    const { project } = repository;
    await repository.library();
    await project.fine(...INSTALL);
    const changed = `${repository.hook("pre-commit") ?? ""}echo more\n`;
    repository.own("pre-commit", changed);
    for (const more of [[], ["--remove"]]) {
      const { exitCode, stderr } = await project.run(...INSTALL, ...more);
      expect([exitCode, stderr]).toEqual([1, expect.stringContaining("was changed after")]);
      expect(repository.hook("pre-commit")).toBe(changed);
    }
  });

  test("core.hooksPath is kept: a folder of the repository is used, one outside only when that is meant", async () => {
    const repository = new Repository("my hooks");
    const { project } = repository;
    await repository.library();
    repository.git("config", "core.hooksPath", "my hooks");
    await project.fine(...INSTALL);
    expect(repository.hook("pre-commit")).toContain("deaddrop skills hooks install");
    project.write(".claude/skills/a/SKILL.md", skillText("a", "Edited.\n"));
    expect(repository.commit().stderr).toContain("a/SKILL.md: edited in the mirror");
    await project.fine(...INSTALL, "--remove");
    // The folder was made for the hook.
    expect(existsSync(repository.hooks)).toBe(false);

    const outside = join(dirname(project.folder), "shared hooks");
    repository.git("config", "core.hooksPath", outside);
    const { exitCode, stderr } = await project.run(...INSTALL);
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining("--shared")]);
    expect(existsSync(outside)).toBe(false);
    await project.fine(...INSTALL, "--shared");
    expect(existsSync(join(outside, "pre-commit"))).toBe(true);
    expect(repository.git("config", "core.hooksPath").trim()).toBe(outside);
  });

  test("a worktree is checked by its own files", async () => {
    const repository = new Repository();
    const { project } = repository;
    await repository.library();
    await project.fine(...INSTALL);
    expect(repository.commit().status).toBe(0);
    const other = join(dirname(project.folder), "other tree");
    repository.git("worktree", "add", "-q", "-b", "other", other);
    writeFileSync(join(other, ".agents/skills/a/SKILL.md"), skillText("a", "Edited there.\n"));
    expect(repository.commit(other).stderr).toContain(".agents/skills: differs");
    project.write("x.txt", "x");
    expect(repository.commit()).toEqual({ status: 0, stderr: "" });
  });

  test("beside the guard, whichever came first, each is removed without the other", async () => {
    for (const isGuardFirst of [true, false]) {
      const repository = new Repository();
      const { project } = repository;
      await repository.library();
      repository.own("pre-commit", OWN);
      if (isGuardFirst) installHooks(repository.hooks, GUARD);
      await project.fine(...INSTALL);
      if (!isGuardFirst) installHooks(repository.hooks, GUARD);
      expect(await project.fine(...INSTALL)).toContain("is there already");
      expect(installHooks(repository.hooks, GUARD)).toEqual([]);

      project.write(".claude/skills/a/SKILL.md", skillText("a", "Edited.\n"));
      expect(repository.commit().stderr).toContain("edited in the mirror");
      await project.fine("skills", "sync", "--force");
      const through = repository.commit();
      expect(through.stderr).toContain("deaddrop guard: nothing was checked");
      expect(through.status).toBe(0);
      expect(project.read("mine.txt")).toBe("mine\nmine\n");

      if (isGuardFirst) uninstallHooks(repository.hooks);
      await project.fine(...INSTALL, "--remove");
      if (!isGuardFirst) uninstallHooks(repository.hooks);
      expect(repository.hook("pre-commit")).toBe(OWN);
      const left = ["pre-commit.before-skills", "pre-commit.before-deaddrop"];
      expect(left.map((name) => repository.hook(name))).toEqual([undefined, undefined]);
    }
  });

  test("a project below the top of its repository is checked there; there has to be one", async () => {
    const repository = new Repository();
    const { project } = repository;
    const none = await project.run(...INSTALL);
    expect([none.exitCode, none.stderr]).toEqual([2, expect.stringContaining("skills init")]);
    expect(repository.hook("pre-commit")).toBeUndefined();

    const larger = new Repository(".git/hooks", "..");
    await larger.library();
    await larger.project.fine(...INSTALL);
    expect(larger.commit().status).toBe(0);
    larger.project.write(".claude/skills/a/SKILL.md", skillText("a", "Edited.\n"));
    expect(larger.commit().stderr).toContain(".claude/skills: differs");
  });

  test("what cannot be checked is told, and stops nothing", async () => {
    const repository = new Repository();
    const { project } = repository;
    await repository.library();
    await project.fine(...INSTALL);
    const { installSkillsHook } = await import("../../../src/skills/setup/install-hook.ts");
    const gone = { node: "/none/node", bin: "/none/bin", project: "." };
    installSkillsHook(repository.hooks, gone);
    project.write(".claude/skills/a/SKILL.md", skillText("a", "Edited.\n"));
    const { status, stderr } = repository.commit();
    expect([status, stderr]).toEqual([0, expect.stringContaining("nothing was checked")]);
  });
});
