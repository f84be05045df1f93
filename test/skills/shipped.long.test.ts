import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it, test } from "vitest";
import { listingProblem } from "../../src/skills/format/listing.ts";
import { readLibrary } from "../../src/skills/library/read-library.ts";
import { makeProject } from "./on-project.ts";

const CHECKOUT = resolve(import.meta.dirname, "../..");
const SKILLS = join(CHECKOUT, "skills");
const NAMES = [
  ...["collab", "deaddrop", "execute", "intake", "plan", "report", "review", "security", "verify"],
];

describe("the skills that come with deaddrop", () => {
  const skills = readLibrary(SKILLS);
  it("are nine, valid without a warning, and grant nothing", () => {
    expect(skills.map(({ folder }) => folder.name)).toEqual(NAMES);
    expect(skills.flatMap(({ problems }) => problems)).toEqual([]);
    expect(skills.flatMap(({ skill }) => skill?.allowedTools ?? ["?"])).toEqual([]);
  });
  it("fit together into the list of the tool that shows least", () => {
    const listed = skills.flatMap(({ skill }) => (skill ? [{ ...skill, location: "x" }] : []));
    expect(listingProblem(listed)).toBeUndefined();
  });
  it.each(NAMES)("%s says when, how, with an example and edge cases", (name) => {
    const text = readFileSync(join(SKILLS, name, "SKILL.md"), "utf8");
    for (const title of ["When", "How", "Example", "Edge cases"]) {
      expect(text).toContain(`\n## ${title}\n`);
    }
  });
});

describe("skills init", () => {
  it("makes the layout in an empty folder, and changes nothing the second time", async () => {
    const project = makeProject();
    await project.fine("skills", "init");
    for (const path of [
      "agent/skills/verify/scripts/run_tests.sh",
      "agent/policies/WORKFLOW.md",
      "agent/schemas/plan-schema.json",
      ".claude/skills/deaddrop/SKILL.md",
      ".agents/skills/security/scripts/audit.py",
      ".gemini/settings.json",
    ]) {
      expect([path, project.has(path)]).toEqual([path, true]);
    }
    expect(project.read("CLAUDE.md")).toContain("\n@AGENTS.md\n");
    const all = project.all();
    await project.fine("skills", "init");
    await project.fine("skills", "sync", "--check");
    expect(project.all()).toEqual(all);
    await project.fine("plan", "validate", "agent/examples/csv-upload.yaml");
    await project.fine("report", "validate", "agent/examples/report-blocked.json");
  });

  it("keeps everything that a user had", async () => {
    const project = makeProject();
    const own: Record<string, string> = {
      ".claude/settings.json": '{ // mine\n  "permissions": {} }\n',
      ".gemini/settings.json": '{"theme": "x"}',
      ".cursor/rules/mine.mdc": "mine",
      ".claude/skills/review/SKILL.md": "my own review",
      ".claude/skills/other/SKILL.md": "mine",
      "agent/skills/plan/SKILL.md": "my own plan",
      "agent/policies/OWN.md": "mine",
    };
    for (const [path, text] of Object.entries(own)) project.write(path, text);
    project.write("CLAUDE.md", "# Mine\r\nrule\r\n");
    project.write("AGENTS.md", "# Agents\n");
    const { exitCode } = await project.run("skills", "init");
    // A mirror is not equal: a skill of the user has the name of one of ours.
    expect(exitCode).toBe(1);
    for (const [path, text] of Object.entries(own)) expect(project.read(path)).toBe(text);
    expect(project.read("CLAUDE.md").startsWith("# Mine\r\nrule\r\n")).toBe(true);
    expect(project.read("AGENTS.md").startsWith("# Agents\n")).toBe(true);
    const all = project.all();
    await project.run("skills", "init");
    expect(project.all()).toEqual(all);
  });

  it("turns skills on for an old Gemini CLI, and adds a hook of Cursor, when that is asked for alone", async () => {
    const project = makeProject();
    project.write(".gemini/settings.json", '{\n  // mine\n  "theme": "x"\n}\n');
    const own = { version: 1, hooks: { stop: [{ command: "mine" }] } };
    project.write(".cursor/hooks.json", JSON.stringify(own));
    await project.fine("skills", "init");
    expect(project.read(".gemini/settings.json")).not.toContain("experimental");
    expect(JSON.parse(project.read(".cursor/hooks.json"))).toEqual(own);

    const asked = ["skills", "init", "--old-gemini", "--cursor-hooks"];
    await project.fine(...asked);
    const gemini = project.read(".gemini/settings.json");
    expect(gemini).toContain("// mine");
    expect(JSON.parse(gemini.replace("// mine", ""))).toEqual({
      ...{ theme: "x", experimental: { skills: true } },
    });
    expect(JSON.parse(project.read(".cursor/hooks.json"))).toEqual({
      version: 1,
      hooks: { stop: [{ command: "mine" }, { command: "deaddrop skills sync --check" }] },
    });
    const all = project.all();
    await project.fine(...asked);
    expect(project.all()).toEqual(all);
  });

  it("brings up to date what nobody changed, and keeps what somebody did", async () => {
    const project = makeProject();
    await project.fine("skills", "init");
    const edited = `${project.read("agent/skills/plan/SKILL.md")}\nOur own line.\n`;
    project.write("agent/skills/plan/SKILL.md", edited);
    await project.fine("skills", "init");
    expect(project.read("agent/skills/plan/SKILL.md")).toBe(edited);
    expect(project.read(".claude/skills/plan/SKILL.md")).toBe(edited);
  });
});

/** A repository with one commit, and a script of a skill that runs there. */
function repository() {
  const { folder } = makeProject();
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@t", ...args], { cwd: folder });
  git("init", "-q", "-b", "main");
  git("commit", "-q", "--allow-empty", "-m", "one");
  const run = (script: string, ...args: string[]) => {
    const program = script.endsWith(".py") ? "python3" : "sh";
    const { status, stdout, stderr } = spawnSync(program, [join(SKILLS, script), ...args], {
      cwd: folder,
      encoding: "utf8",
    });
    return { status, stdout, stderr };
  };
  return { folder, git, run };
}

test("run_tests.sh finds the command of a project, and says what came out", () => {
  const { folder, run } = repository();
  const script = "verify/scripts/run_tests.sh";
  expect(run(script)).toMatchObject({ status: 2 });
  writeFileSync(join(folder, "package.json"), '{"scripts":{"test":"node --test"}}');
  expect(run(script, "--print").stdout).toBe("npm test\n");
  expect(run(script, "--", "true").stdout).toContain("result: passed (exit code 0) command: true");
  const failed = run(script, "--log", "t.log", "--", "sh", "-c", "echo no; exit 3");
  expect([failed.status, readFileSync(join(folder, "t.log"), "utf8")]).toEqual([3, "no\n"]);
  expect(failed.stdout).toContain("result: failed (exit code 3)");
});

test("format.sh formats the changed files alone, with what the project has", () => {
  const { folder, git, run } = repository();
  const script = "execute/scripts/format.sh";
  writeFileSync(join(folder, "old.ts"), "a  =  1");
  git("add", ".");
  git("commit", "-q", "-m", "two");
  writeFileSync(join(folder, "new.ts"), "a  =  1");
  expect(run(script).stdout).toContain("no formatter of the project for: new.ts");
  mkdirSync(join(folder, "node_modules/.bin"), { recursive: true });
  const fake =
    '#!/bin/sh\nfor f; do :; done\ncase "$*" in *--check*) exit 1 ;; esac\necho ok > "$f"\n';
  writeFileSync(join(folder, "node_modules/.bin/prettier"), fake, { mode: 0o755 });
  writeFileSync(join(folder, ".gitignore"), "node_modules\n");
  expect(run(script, "--check").status).toBe(1);
  expect(run(script)).toMatchObject({ status: 0, stdout: "formatted with prettier: new.ts\n" });
  expect(readFileSync(join(folder, "old.ts"), "utf8")).toBe("a  =  1");
});

test("audit.py names secrets and dangerous calls in what was added", () => {
  const { folder, git, run } = repository();
  const script = "security/scripts/audit.py";
  expect(run(script)).toMatchObject({ status: 0, stdout: "0 findings in 0 files\n" });
  const key = `AKIA${"A".repeat(16)}`;
  writeFileSync(join(folder, "a.js"), `const k = "${key}";\nexec("unzip " + name);\n`);
  writeFileSync(join(folder, "b.js"), `const k = "${key}"; // audit: ok, an example\n`);
  writeFileSync(join(folder, ".env"), "X=1\n");
  const found = [
    ".env: secret: a file with secrets",
    "a.js:1: secret: an AWS access key id",
    "a.js:2: dangerous: a shell runs words that were put together",
    "3 findings in 3 files",
    "",
  ];
  expect(run(script)).toMatchObject({ status: 1, stdout: found.join("\n") });
  git("add", ".");
  git("commit", "-q", "-m", "two");
  expect(run(script).status).toBe(0);
  expect(run(script, "--range", "HEAD~1..HEAD").status).toBe(1);
  expect(run(script, "--all").status).toBe(1);
  expect(run(script, "--range", "--output=x").status).toBe(2);
});

test("the published validator of the format agrees, where it is installed", (context) => {
  const cli = join(CHECKOUT, "node_modules/skills-ref/dist/cli.js");
  if (!existsSync(cli))
    return context.skip("skills-ref is not installed: npm install --no-save skills-ref@0.1.5");
  for (const name of readdirSync(SKILLS)) {
    execFileSync(process.execPath, [cli, "validate", join(SKILLS, name)]);
  }
});
