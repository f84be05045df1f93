import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, test } from "vitest";
import { makeProject, skillText, type Project } from "../on-project.ts";

const CLAUDE = ".claude/skills";
const AGENTS = ".agents/skills";

/** Two skills, one with a script. */
function library(project: Project): void {
  project.write("agent/skills/plan/SKILL.md", skillText("plan"));
  project.write("agent/skills/verify/SKILL.md", skillText("verify", "`scripts/run.sh`\n"));
  project.write("agent/skills/verify/scripts/run.sh", "#!/bin/sh\n", 0o755);
}

async function synced(...args: string[]): Promise<Project> {
  const project = makeProject();
  library(project);
  await project.fine("skills", "sync", ...args);
  return project;
}

/** Each difference that a check finds, as `mirror path kind`. */
async function drift(project: Project, ...args: string[]): Promise<string[]> {
  const before = project.all();
  const { exitCode, stdout } = await project.run("skills", "sync", "--check", "--json", ...args);
  expect(project.all()).toEqual(before);
  const { mirrors } = JSON.parse(stdout) as {
    mirrors: {
      mirror: string;
      drift: { skill: string; path: string | null; kind: string }[];
    }[];
  };
  const found = mirrors.flatMap(({ mirror, drift: each }) =>
    each.map(({ skill, path, kind }) => `${mirror} ${skill}/${path ?? ""} ${kind}`),
  );
  expect(exitCode).toBe(found.length === 0 ? 0 : 1);
  return found;
}

describe.each(["copy", "symlink"])("mirrors in mode %s", (mode) => {
  it("are made, are equal, and a second sync changes nothing", async () => {
    const project = await synced("--mode", mode);
    const all = project.all();
    expect(all[`${CLAUDE}/verify/scripts/run.sh`] ?? all[`${CLAUDE}/verify`]).toBe(
      mode === "copy" ? "755 #!/bin/sh\n" : "-> ../../agent/skills/verify",
    );
    expect(project.read(`${AGENTS}/verify/SKILL.md`)).toBe(
      project.read("agent/skills/verify/SKILL.md"),
    );
    expect(await drift(project)).toEqual([]);
    expect(await project.fine("skills", "sync")).toBe(
      `${AGENTS}: equal, 2 skills\n${CLAUDE}: equal, 2 skills\n`,
    );
    expect(project.all()).toEqual(all);
  });

  it("leave skills and files of others alone", async () => {
    const project = makeProject();
    library(project);
    project.write(`${CLAUDE}/own/SKILL.md`, "mine, and no skill");
    project.write(`${CLAUDE}/README.md`, "mine");
    await project.fine("skills", "sync", "--mode", mode);
    await project.fine("skills", "sync", "--force");
    expect(project.read(`${CLAUDE}/own/SKILL.md`)).toBe("mine, and no skill");
    expect(project.read(`${CLAUDE}/README.md`)).toBe("mine");
  });

  it("become the other mode when that is asked for, and stay so", async () => {
    const project = await synced("--mode", mode);
    const other = mode === "copy" ? "symlink" : "copy";
    expect(await drift(project, "--mode", other)).toContain(`${CLAUDE} plan/ form`);
    await project.fine("skills", "sync", "--mode", other);
    expect(await drift(project)).toEqual([]);
    expect(project.all()[`${CLAUDE}/plan`]?.startsWith("->") ?? false).toBe(other === "symlink");
  });

  it("lose a skill that the library has no more", async () => {
    const project = await synced("--mode", mode);
    rmSync(join(project.folder, "agent/skills/verify"), { recursive: true });
    expect((await drift(project)).some((each) => each.startsWith(`${CLAUDE} verify/`))).toBe(true);
    await project.fine("skills", "sync");
    expect(Object.keys(project.all()).filter((path) => path.includes("verify"))).toEqual([]);
  });
});

/** What somebody does to a mirror, what a check calls it, and whether a sync mends it unasked. */
const TROUBLES: [string, (project: Project) => void, string[], "mended" | "kept"][] = [
  ["edited", (p) => p.write(`${CLAUDE}/plan/SKILL.md`, "x"), ["plan/SKILL.md edited"], "kept"],
  ["missing", (p) => unlinkSync(join(p.folder, CLAUDE, "plan/SKILL.md")), ["plan/SKILL.md missing"], "mended"],
  ["gone as a whole", (p) => rmSync(join(p.folder, CLAUDE, "plan"), { recursive: true }), ["plan/ missing"], "mended"],
  ["extra", (p) => p.write(`${CLAUDE}/plan/more.md`, "x"), ["plan/more.md extra"], "kept"],
  ["not executable", (p) => p.write(`${CLAUDE}/verify/scripts/run.sh`, "#!/bin/sh\n", 0o644), ["verify/scripts/run.sh mode"], "mended"],
  ["executable", (p) => p.write(`${CLAUDE}/plan/SKILL.md`, skillText("plan"), 0o755), ["plan/SKILL.md mode"], "mended"],
  ["a broken link to a skill", (p) => toLink(p, "plan", "nowhere"), ["plan/ broken_link"], "mended"],
  ["a broken link to a file", (p) => toLink(p, "plan/SKILL.md", "nowhere"), ["plan/SKILL.md broken_link"], "mended"],
  ["a link to other files", (p) => toLink(p, "verify/scripts", "/etc"), ["verify/scripts link"], "kept"],
  ["a link to another skill", (p) => toLink(p, "plan", "verify"), ["plan/ link"], "kept"],
  ["outdated", (p) => p.write("agent/skills/plan/SKILL.md", skillText("plan", "New.\n")), ["plan/SKILL.md outdated"], "mended"],
]; // prettier-ignore

function toLink(project: Project, path: string, target: string): void {
  const full = join(project.folder, CLAUDE, path);
  rmSync(full, { recursive: true });
  symlinkSync(target, full);
}

test.each(TROUBLES)(
  "a mirror that is %s is told, and mended unless something would be lost",
  async (_name, act, found, what) => {
    const project = await synced("--tool", "claude");
    act(project);
    const named = found.map((each) => `${CLAUDE} ${each}`);
    expect(await drift(project, "--tool", "claude")).toEqual(named);
    const { exitCode } = await project.run("skills", "sync", "--tool", "claude");
    expect(exitCode).toBe(what === "mended" ? 0 : 1);
    expect(await drift(project, "--tool", "claude")).toEqual(what === "mended" ? [] : named);
    await project.fine("skills", "sync", "--tool", "claude", "--force");
    expect(await drift(project, "--tool", "claude")).toEqual([]);
    expect(project.read(`${CLAUDE}/verify/scripts/run.sh`)).toBe("#!/bin/sh\n");
  },
);

describe("--adopt", () => {
  it("brings edits and new files home, and the other mirror gets them", async () => {
    const project = await synced();
    project.write(`${CLAUDE}/plan/SKILL.md`, skillText("plan", "Better.\n"));
    project.write(`${AGENTS}/plan/scripts/new.sh`, "x", 0o755);
    await project.fine("skills", "sync", "--adopt");
    expect(project.read("agent/skills/plan/SKILL.md")).toContain("Better.");
    expect(project.read(`${AGENTS}/plan/SKILL.md`)).toContain("Better.");
    expect(project.all()[`${CLAUDE}/plan/scripts/new.sh`]).toBe("755 x");
    expect(await drift(project)).toEqual([]);
  });

  it("does not decide between two changes, and takes nothing that is not valid", async () => {
    const project = await synced();
    project.write(`${AGENTS}/plan/SKILL.md`, skillText("plan", "One.\n"));
    project.write(`${CLAUDE}/plan/SKILL.md`, skillText("plan", "Two.\n"));
    project.write(`${CLAUDE}/verify/SKILL.md`, "no skill");
    const { exitCode, stdout } = await project.run("skills", "sync", "--adopt");
    expect(exitCode).toBe(1);
    expect(stdout).toContain("plan/SKILL.md: brought home");
    expect(stdout).toContain("not brought home: the library has changed it, too");
    expect(stdout).toContain("not brought home: it would not be valid");
    expect(project.read("agent/skills/plan/SKILL.md")).toContain("One.");
    expect(project.read(`${CLAUDE}/plan/SKILL.md`)).toContain("Two.");
    expect(project.read("agent/skills/verify/SKILL.md")).toBe(
      skillText("verify", "`scripts/run.sh`\n"),
    );
  });
});

describe("a user's own skill of the same name", () => {
  it("is not touched, nor are files put beside it, before --force", async () => {
    const project = makeProject();
    library(project);
    project.write(`${CLAUDE}/verify/SKILL.md`, "my own");
    const { exitCode } = await project.run("skills", "sync");
    expect(exitCode).toBe(1);
    expect(await drift(project)).toEqual([`${CLAUDE} verify/ foreign`]);
    expect(
      Object.keys(project.all()).filter((path) => path.startsWith(`${CLAUDE}/verify`)),
    ).toEqual([`${CLAUDE}/verify/SKILL.md`]);
    await project.fine("skills", "sync", "--force");
    expect(project.has(`${CLAUDE}/verify/scripts/run.sh`)).toBe(true);
  });

  it("that says the same is taken over", async () => {
    const project = makeProject();
    library(project);
    project.write(`${CLAUDE}/verify/SKILL.md`, project.read("agent/skills/verify/SKILL.md"));
    await project.fine("skills", "sync");
    expect(await drift(project)).toEqual([]);
  });
});

describe("what is hostile in a repository", () => {
  it("a mirror that is a link out of the project is not written", async () => {
    const project = makeProject();
    library(project);
    mkdirSync(join(project.folder, "../outside"));
    symlinkSync("../outside", join(project.folder, ".claude"));
    const { exitCode, stdout } = await project.run("skills", "sync");
    expect(exitCode).toBe(6);
    expect(stdout).toContain(`${CLAUDE}: not written`);
    expect(stdout).toContain(`${AGENTS}: equal`);
    expect(project.has("../outside/skills")).toBe(false);
  });

  it("a mirror that is the library itself is equal, and is not written", async () => {
    const project = makeProject();
    library(project);
    mkdirSync(join(project.folder, ".claude"));
    symlinkSync("../agent/skills", join(project.folder, CLAUDE));
    const before = Object.keys(project.all()).filter((path) => path.startsWith("agent"));
    await project.fine("skills", "sync", "--tool", "claude", "--force");
    expect(Object.keys(project.all()).filter((path) => path.startsWith("agent"))).toEqual(before);
  });

  it("skills that lead out of the library, by a link or a name, are refused and not mirrored", async () => {
    const project = makeProject();
    library(project);
    project.write("../secret", "key");
    symlinkSync("../../../../secret", join(project.folder, "agent/skills/plan/notes.md"));
    symlinkSync("../../..", join(project.folder, "agent/skills/up"));
    project.write("agent/skills/..x/SKILL.md", skillText("..x"));
    const { exitCode, stdout } = await project.run("skills", "sync");
    expect(exitCode).toBe(1);
    expect(stdout).toContain('plan/SKILL.md: error: "notes.md" is no file of the library');
    expect(stdout).toContain("up/SKILL.md: error: it is a link");
    expect(Object.keys(project.all()).filter((path) => path.startsWith(CLAUDE))).toEqual([
      `${CLAUDE}/.deaddrop-skills.json`,
      `${CLAUDE}/verify/SKILL.md`,
      `${CLAUDE}/verify/scripts/run.sh`,
    ]);
  });

  it("a manifest that names what is not in the mirror removes nothing", async () => {
    const project = await synced();
    project.write("../victim", "x");
    const sha = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881";
    for (const skills of [{ "../..": { victim: sha } }, { gone: { "../../../../victim": sha } }]) {
      const text = JSON.stringify({ version: 1, mode: "copy", skills });
      project.write(`${CLAUDE}/.deaddrop-skills.json`, text);
      await project.fine("skills", "sync");
      expect(project.read("../victim")).toBe("x");
    }
  });

  it("a skill that became invalid keeps its copies", async () => {
    const project = await synced();
    project.write("agent/skills/plan/SKILL.md", "broken");
    const { exitCode } = await project.run("skills", "sync");
    expect(exitCode).toBe(1);
    expect(project.read(`${CLAUDE}/plan/SKILL.md`)).toBe(skillText("plan"));
  });
});

test("a tool that would find each skill twice is named", async () => {
  const project = makeProject();
  library(project);
  expect(await project.fine("skills", "sync", "--tool", "codex")).not.toContain("warning");
  expect(await project.fine("skills", "sync", "--tool", "cursor")).toContain(
    "warning: cursor finds each skill in .codex/skills and .cursor/skills",
  );
});

test("compatibility that is not met is warned about, and --strict leaves the skill out", async () => {
  const project = makeProject();
  library(project);
  const needs = "compatibility: Requires no-such-program-here\n";
  project.write("agent/skills/odd/SKILL.md", skillText("odd", "x\n", needs));
  expect(await project.fine("skills", "sync", "--strict")).toContain(
    "warning: odd: there is no no-such-program-here in PATH",
  );
  expect(project.has(`${CLAUDE}/odd`)).toBe(false);
  await project.fine("skills", "sync");
  expect(project.has(`${CLAUDE}/odd/SKILL.md`)).toBe(true);
});

test("there is no library: it is said how to make one", async () => {
  const { exitCode, stderr } = await makeProject().run("skills", "sync");
  expect(exitCode).toBe(2);
  expect(stderr).toContain("deaddrop skills init");
});

test("what an ended sync left behind is completed", async () => {
  const project = await synced();
  unlinkSync(join(project.folder, CLAUDE, ".deaddrop-skills.json"));
  unlinkSync(join(project.folder, CLAUDE, "verify/SKILL.md"));
  renameSync(
    join(project.folder, AGENTS, "plan/SKILL.md"),
    join(project.folder, AGENTS, ".deaddrop-tmp-1"),
  );
  await project.fine("skills", "sync");
  expect(await drift(project)).toEqual([]);
  expect(Object.keys(project.all()).filter((path) => path.includes("tmp"))).toEqual([]);
});

test("a mirror on a read-only disk is told, and never called equal; the other one is written", async (context) => {
  const project = makeProject();
  library(project);
  const mirror = join(project.folder, CLAUDE);
  mkdirSync(mirror, { recursive: true });
  const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "ro", "tmpfs", mirror]);
  if (mounted.status !== 0) return context.skip("nothing may be mounted here");
  onTestFinished(() => void spawnSync("umount", [mirror]));
  const { exitCode, stdout } = await project.run("skills", "sync");
  expect(exitCode).toBe(6);
  expect(stdout).toContain(`${CLAUDE}: not written: ${mirror}: the filesystem is read-only`);
  expect(stdout).toContain(`${AGENTS}: equal, 2 skills`);
});

test("two processes at once make the same as one", async () => {
  const project = makeProject();
  const program = join(import.meta.dirname, "../../../bin/deaddrop.js");
  const runs = Array.from({ length: 4 }, async () => {
    const child = spawn(process.execPath, [program, "skills", "init"], { cwd: project.folder });
    const [code] = (await once(child, "exit")) as [number];
    return code;
  });
  expect(await Promise.all(runs)).toEqual([0, 0, 0, 0]);
  const all = project.all();
  expect(await drift(project)).toEqual([]);
  await project.fine("skills", "init");
  expect(project.all()).toEqual(all);
});
