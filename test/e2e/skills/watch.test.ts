import { afterEach, expect, it } from "vitest";
import { makeProject, skillText } from "../../skills/on-project.ts";
import { BIN, killChildren, start, until } from "../../support/processes/real-processes.ts";

afterEach(killChildren);

const MIRRORS = [".claude/skills", ".agents/skills"];

it("sync --watch goes on with each change of the library, tells what it cannot mirror, and ends when it is asked to", async () => {
  const project = makeProject();
  project.write("agent/skills/a/SKILL.md", skillText("a", "One.\n"));
  const { PATH } = process.env;
  const env = { PATH, HOME: project.folder };
  const args = [BIN, "skills", "sync", "--watch"];
  const watching = start(process.execPath, args, { env, cwd: project.folder, input: "" });
  const mirrored = (path: string, text: string) =>
    until(`${path} is mirrored: ${watching.stderr()}`, () => {
      if (watching.child.exitCode !== null) throw new Error(watching.stderr());
      const all = MIRRORS.map((mirror) => `${mirror}/${path}`);
      return all.every((each) => project.has(each) && project.read(each) === text);
    });
  await mirrored("a/SKILL.md", skillText("a", "One.\n"));
  // Changed, added below, and a new skill.
  project.write("agent/skills/a/SKILL.md", skillText("a", "Two.\n"));
  await mirrored("a/SKILL.md", skillText("a", "Two.\n"));
  project.write("agent/skills/a/references/more.md", "more");
  await mirrored("a/references/more.md", "more");
  project.write("agent/skills/b/SKILL.md", skillText("b"));
  await mirrored("b/SKILL.md", skillText("b"));
  // One that is not valid is told, keeps its copies, and stops nothing.
  project.write("agent/skills/a/SKILL.md", "broken");
  await until("it is told", () => watching.stdout().includes("a/SKILL.md:1:"));
  project.write("agent/skills/b/SKILL.md", skillText("b", "Better.\n"));
  await mirrored("b/SKILL.md", skillText("b", "Better.\n"));
  expect(project.read(".claude/skills/a/SKILL.md")).toBe(skillText("a", "Two.\n"));

  watching.child.kill("SIGTERM");
  const ended = await watching.ended;
  expect([ended.code, ended.stderr]).toEqual([0, ""]);
});
