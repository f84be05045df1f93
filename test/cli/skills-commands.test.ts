import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { makeProject, skillText } from "../skills/on-project.ts";

describe("deaddrop skills", () => {
  it("new makes a skill that is valid, and refuses names that are paths or taken", async () => {
    const project = makeProject();
    project.write("agent/skills/plan/SKILL.md", skillText("plan"));
    await project.fine("skills", "new", "my-skill", "--description", 'Does "x": <y>');
    expect(await project.fine("skills", "validate")).toBe("valid: 2 skills\n");
    for (const name of ["../x", "a/b", "A", "my-skill", "plan"]) {
      const { exitCode } = await project.run("skills", "new", name);
      expect([name, exitCode]).toEqual([name, 1]);
    }
    expect(Object.keys(project.all())).toEqual([
      "agent/skills/my-skill/SKILL.md",
      "agent/skills/plan/SKILL.md",
    ]);
    const long = await project.run("skills", "new", "long", "--description", "x".repeat(1_025));
    expect([long.exitCode, project.has("agent/skills/long")]).toEqual([1, false]);
  });

  it("bump raises the version and notes it", async () => {
    const project = makeProject();
    project.write("agent/skills/plan/SKILL.md", skillText("plan"));
    await project.fine("skills", "bump", "plan", "minor", "--note", "Ask first");
    await project.fine("skills", "bump", "plan", "major");
    expect(project.read("agent/skills/plan/CHANGELOG.md")).toBe(
      "# Changes\n\n- 1.0.0 (2026-11-25): a major change\n- 0.1.0 (2026-11-25): Ask first\n",
    );
    const shown = JSON.parse(await project.fine("skills", "show", "plan", "--json")) as object;
    expect(shown).toMatchObject({ version: "1.0.0", files: ["CHANGELOG.md", "SKILL.md"] });
    expect((await project.run("skills", "bump", "plan", "huge")).exitCode).toBe(1);
  });

  it("validate tells every fault with its line, and exits 1", async () => {
    const project = makeProject();
    project.write("agent/skills/a/SKILL.md", "---\nname: b\ndescription: 1.0\n---\nx\n");
    project.write("agent/skills/ok/SKILL.md", skillText("ok"));
    const { exitCode, stdout } = await project.run("skills", "validate");
    expect(exitCode).toBe(1);
    expect(stdout).toBe(
      [
        'a/SKILL.md:3:1: error: "description" is a number, not a text; write "1.0"',
        'a/SKILL.md:2:1: error: the name "b" is not that of its folder, "a"',
        "not valid: 1 of 2 skills",
        "",
      ].join("\n"),
    );
    expect(await project.fine("skills", "validate", "agent/skills/ok")).toBe("valid: 1 skill\n");
  });

  it("validate measures the descriptions of all skills together", async () => {
    const project = makeProject();
    for (let at = 0; at < 9; at += 1) {
      const text = `---\nname: s${at}\ndescription: ${"x".repeat(1_000)}\n---\nx\n`;
      project.write(`agent/skills/s${at}/SKILL.md`, text);
    }
    expect(await project.fine("skills", "validate")).toContain("warning: the list of 9 skills has");
  });

  it("list and prompt show what a skill says, escaped, and where it is", async () => {
    const project = makeProject();
    project.write(
      "agent/skills/odd/SKILL.md",
      "---\nname: odd\ndescription: '</description><x>&'\n---\nRun `scripts/a.sh`.\n",
    );
    project.write("agent/skills/odd/scripts/a.sh", "");
    const xml = await project.fine("skills", "list", "--format", "xml");
    expect(xml).toContain("&lt;/description&gt;&lt;x&gt;&amp;");
    expect(xml).toContain(join(project.folder, "agent/skills/odd/SKILL.md"));
    expect(await project.fine("skills", "list", "--format", "xml", "--no-location")).not.toContain(
      "location",
    );
    expect(JSON.parse(await project.fine("skills", "list", "--format", "json"))).toEqual([
      expect.objectContaining({ name: "odd", description: "</description><x>&" }),
    ]);
    const prompt = await project.fine("skills", "prompt", "odd");
    expect(prompt).toContain("Follow this skill, odd: </description><x>&\n");
    expect(prompt).toContain("agent/skills/odd: scripts/a.sh\n\nRun `scripts/a.sh`.\n");
  });

  it("list says of a skill with a hostile name why it is not there, in safe signs", async () => {
    const project = makeProject();
    const name = "<b>&\u001b[2J\u202ex";
    project.write(`agent/skills/${name}/SKILL.md`, skillText("x"));
    project.write("agent/skills/ok/SKILL.md", skillText("ok"));
    const { exitCode, stdout, stderr } = await project.run("skills", "list", "--format", "xml");
    expect(exitCode).toBe(0);
    expect(stdout).not.toContain("<b>");
    expect(stderr).toContain("has something else than a-z");
    expect(`${stdout}${stderr}`).toMatch(/^[ -~\n]*$/u);
  });
});

test("a skill that is a link, or is not there, is no skill", async () => {
  const project = makeProject();
  project.write("agent/skills/ok/SKILL.md", skillText("ok"));
  symlinkSync("ok", join(project.folder, "agent/skills/alias"));
  for (const name of ["alias", "none", "../ok"]) {
    for (const command of ["show", "prompt"]) {
      const { exitCode, stdout } = await project.run("skills", command, name);
      expect([name, exitCode === 0, stdout]).toEqual([name, false, ""]);
    }
  }
});

test.each(["copy", "symlink"])(
  "links between mirrors, as npx skills add makes them, are in sync (%s)",
  async (mode) => {
    const project = makeProject();
    for (const folder of ["agent", ".agents"]) {
      project.write(`${folder}/skills/ok/SKILL.md`, skillText("ok"));
    }
    mkdirSync(join(project.folder, ".claude/skills"), { recursive: true });
    symlinkSync("../../.agents/skills/ok", join(project.folder, ".claude/skills/ok"));
    if (mode === "copy") await project.fine("skills", "sync", "--check");
    const sync = () => project.fine("skills", "sync", "--mode", mode);
    const equal = ".agents/skills: equal, 1 skill";
    expect((await sync()).split("\n")[0]).toBe(equal);
    project.write("agent/skills/ok/SKILL.md", skillText("ok", "New.\n"));
    expect((await project.run("skills", "sync", "--check")).exitCode).toBe(mode === "copy" ? 1 : 0);
    expect((await sync()).split("\n")[0]).toBe(equal);
    await project.fine("skills", "sync", "--check");
    expect(project.all()[".claude/skills/ok"]).toBe("-> ../../.agents/skills/ok");
    expect(project.read(".claude/skills/ok/SKILL.md")).toContain("New.");
  },
);

test("a link to a folder out of the project is not in sync, although it is equal", async () => {
  const project = makeProject();
  for (const folder of ["agent/skills", "../elsewhere"]) {
    project.write(`${folder}/ok/SKILL.md`, skillText("ok"));
  }
  mkdirSync(join(project.folder, ".claude/skills"), { recursive: true });
  symlinkSync("../../../elsewhere/ok", join(project.folder, ".claude/skills/ok"));
  const { exitCode, stdout } = await project.run("skills", "sync");
  expect([exitCode, stdout]).toEqual([
    1,
    expect.stringContaining("a link to something else; kept"),
  ]);
});

test.each([
  ["disable-model-invocation: true", '"disable-model-invocation" is no field of the open format'],
  ["user-invocable: no", '"user-invocable" is no field of the open format'],
  ["paths: [src, test]", '"paths" is no field of the open format'],
  ["hooks:\n  Stop:\n    - hooks: [{command: x}]", '"hooks" is no field of the open format'],
  ["metadata:\n  version: 1.0", '"metadata.version" is a number, not a text; write "1.0"'],
  ["metadata:\n  version: '1.0'", 'metadata.version "1.0" is no semantic version such as 1.0.0'],
])("a skill with %j is usable, with a warning", async (fields, warning) => {
  const project = makeProject();
  project.write("agent/skills/ok/SKILL.md", skillText("ok"));
  const text = skillText("odd", "Do it.\n", `${fields}\n`);
  project.write("../foreign/odd/SKILL.md", text);
  const { exitCode, stderr } = await project.run("skills", "import", "../foreign/odd", "--yes");
  expect([exitCode, stderr]).toEqual([0, expect.stringContaining(`warning: ${warning}`)]);
  expect(project.read("agent/skills/odd/SKILL.md")).toBe(text);
  expect(await project.fine("skills", "validate")).toContain(`warning: ${warning}`);
});

test("a version that is not semantic is not bumped", async () => {
  const project = makeProject();
  const text = skillText("odd", "Do it.\n", "metadata:\n  version: 1.0\n");
  project.write("agent/skills/odd/SKILL.md", text);
  const { exitCode, stderr } = await project.run("skills", "bump", "odd", "minor");
  expect([exitCode, stderr]).toEqual([1, expect.stringContaining('"1.0", is not a semantic')]);
  expect(project.read("agent/skills/odd/SKILL.md")).toBe(text);
});

test.each([
  ["the first", 1, (text: string) => text.replace("---", "--- ")],
  ["the last", 4, (text: string) => text.replace(/---\n(?!name)/u, "---\t\n")],
])("blanks after %s fence are refused, as other readers find no skill", async (_, line, spoil) => {
  const project = makeProject();
  project.write("agent/skills/odd/SKILL.md", spoil(skillText("odd")));
  const { exitCode, stdout } = await project.run("skills", "validate");
  expect(exitCode).toBe(1);
  expect(stdout).toContain(`odd/SKILL.md:${line}:1: error: remove the blanks after ---`);
});

describe("skills import", () => {
  const text = skillText("odd", "x\n", "allowed-tools: Bash(rm:*) Read\n");
  const foreign = (typed?: string) => {
    const project = makeProject(typed === undefined ? {} : { typed });
    project.write("agent/skills/ok/SKILL.md", skillText("ok"));
    project.write("../foreign/odd/SKILL.md", text);
    project.write("../foreign/odd/scripts/a.sh", "#!/bin/sh\n", 0o755);
    return project;
  };
  it("shows what the skill grants, and takes nothing in before a person has said yes", async () => {
    for (const project of [foreign(), foreign("n\n")]) {
      const { exitCode, stderr } = await project.run("skills", "import", "../foreign/odd");
      expect([exitCode, project.has("agent/skills/odd")]).toEqual([1, false]);
      expect(stderr).toContain("grants, without asking: Bash(rm:*) Read");
      expect(stderr).toContain("has scripts: scripts/a.sh");
    }
  });
  it("copies it once, with the modes of its files", async () => {
    const project = foreign("y\n");
    expect((await project.run("skills", "import", "../foreign/odd")).exitCode).toBe(0);
    expect(project.all()["agent/skills/odd/scripts/a.sh"]).toBe("755 #!/bin/sh\n");
    const again = await project.run("skills", "import", "../foreign/odd", "--yes");
    expect([again.exitCode, project.read("agent/skills/odd/SKILL.md")]).toEqual([1, text]);
  });
  it("takes in nothing that is not valid, or leads out of its folder", async () => {
    const project = foreign();
    project.write("../secret", "key");
    symlinkSync("../../secret", join(project.folder, "../foreign/odd/notes.md"));
    const { exitCode } = await project.run("skills", "import", "../foreign/odd", "--yes");
    expect([exitCode, project.has("agent/skills/odd")]).toEqual([2, false]);
  });
});
