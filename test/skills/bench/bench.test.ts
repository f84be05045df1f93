import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it, test } from "vitest";
import type { ToolScore } from "../../../src/skills/bench/run-bench.ts";
import { judgeAnswer } from "../../../src/skills/bench/shape.ts";
import { parseTask, type BenchTask } from "../../../src/skills/bench/task.ts";
import { makeProject, skillText, type Project } from "../on-project.ts";

const SHIPPED = new URL("../../../agent/benchmarks/", import.meta.url);

function shipped(name: string): BenchTask {
  const read = parseTask(readFileSync(new URL(`${name}.json`, SHIPPED)));
  if (!read.ok) throw new Error(read.detail);
  return read.task;
}

const answer = (name: string) => readFileSync(new URL(`answers/${name}.txt`, SHIPPED), "utf8");

async function scores(project: Project, ...args: string[]): Promise<ToolScore[]> {
  const printed = await project.fine("bench", "skills", "--json", ...args);
  return (JSON.parse(printed) as { tools: ToolScore[] }).tools;
}

describe("the shape of an answer", () => {
  const judge = (name: string, change: (text: string) => string) =>
    judgeAnswer(shipped(name), change(answer(name)), 0);

  it.each<[string, string, (text: string) => string, string[]]>([
    ["no step of an owner", "csv-upload", (text) => text.replace("owner: Frontend", "owner: Backend"), [
      "a step of Frontend",
      "Architect before Frontend",
      "Frontend before Coordinator",
      "Backend beside Frontend",
    ]],
    ["a step that waits for too little", "csv-upload", (text) => text.replace("deps: [2, 3]", "deps: [2]"), ["Frontend before Coordinator"]],
    ["steps one after the other", "csv-upload", (text) => text.replaceAll(/deps: \[1\]\n/gu, "deps: [1]\n").replace("deps: [1]\n    parallel: true\n    criteria: The form", "deps: [1, 2]\n    criteria: The form"), ["Backend beside Frontend"]],
    ["no criteria", "csv-upload", (text) => text.replace(/ {4}criteria: The form.*\n/u, ""), ["criteria in every step"]],
    ["a file that no step names", "rename-column", (text) => text.replace("src/users.ts, ", ""), ["a step that names src/users.ts"]],
    ["too many steps", "rename-column", (text) => text.replace(/```\n$/u, [4, 5, 6].map((id) => `  - {id: ${id}, description: d, owner: Backend, criteria: c, files: [f]}\n`).join("") + "```\n"), ["2 to 5 steps"]],
    ["another outcome", "failed-test", (text) => text.replace('"failure"', '"success"'), ["the outcome failure or partial"]],
    ["a test that is said to have passed", "failed-test", (text) => text.replace("1 of 12 failed", "passed"), ["a test that did not pass"]],
    ["another step", "failed-test", (text) => text.replace('"2"', '"3"'), ["about step 2"]],
    ["no file", "failed-test", (text) => text.replace(/\{ "file.*\n/u, ""), ["a file among the artifacts"]],
  ])("%s is named", (_what, name, change, missing) => {
    expect(judge(name, (text) => text)).toMatchObject({ score: 1, missing: [] });
    const judged = judge(name, change);
    expect(judged.missing).toEqual(missing);
    expect(judged.score).toBeGreaterThan(0);
    expect(judged.score).toBeLessThan(1);
  }); // prettier-ignore

  it.each([
    ["csv-upload", "I cannot do that.", /^no answer: plan/u],
    [
      "csv-upload",
      "```yaml\nsteps: [{id: a, description: d, owner: o, deps: [b]}]\n```\n",
      /no step/u,
    ],
    ["failed-test", "It failed.", /^no answer: no report$/u],
    ["failed-test", '{"outcome": "failure"}', /error is missing/u],
  ])("%s: what is none has no score and no shape", (name, printed, why) => {
    const judged = judgeAnswer(shipped(name), printed, 0);
    expect(judged).toMatchObject({ score: 0, shape: undefined });
    expect(judged.missing.join()).toMatch(why);
  });

  it("is the same whatever the words are", () => {
    const same = judge("csv-upload", (text) => text.replaceAll(/criteria: .*/gu, "criteria: ok"));
    expect(same.shape).toBe(judge("csv-upload", (text) => text).shape);
    const other = judge("csv-upload", (text) => text.replace("deps: [2, 3]", "deps: [2]"));
    expect(other.shape).not.toBe(same.shape);
  });
});

test("the tasks that come with deaddrop have recorded answers with all that is expected", async () => {
  const project = makeProject();
  const names = readdirSync(SHIPPED).filter((name) => name.endsWith(".json"));
  expect(names).toHaveLength(3);
  const printed = await project.fine("bench", "skills");
  expect(printed).toContain("No model was asked");
  const tools = await scores(project);
  expect(tools).toMatchObject([
    { tool: "scripted", has_model: false, shape: 1, consistency: null },
  ]);
  expect(tools[0]?.tasks.map(({ task }) => `${task}.json`)).toEqual(names.toSorted());
  // Also in a project that has got them by init.
  await project.fine("skills", "init");
  expect(project.has("agent/benchmarks/csv-upload.json")).toBe(true);
  project.write("agent/benchmarks/scripted-adapter.js", "throw new Error('not to be run')");
  expect(await scores(project)).toEqual(tools);
});

test("each tool has its scores: of shape, and of how alike its answers are", async () => {
  const project = makeProject();
  const task = { ...shipped("failed-test"), name: "one", skill: "own" };
  const { expect: expected, ...rest } = task;
  const text = { ...rest, expect: { report: expected.kind === "report" && expected.report } };
  project.write("tasks/one.json", JSON.stringify(text));
  project.write("agent/skills/own/SKILL.md", skillText("own", "Be honest.\n"));
  // Answers well twice, and says success the third time; the skill has to be there each time.
  project.write(
    "honest.mjs",
    `import { appendFileSync, readFileSync } from "node:fs";
    const { skill_text: skill, facts } = JSON.parse(readFileSync(0, "utf8"));
    if (!skill.includes("Be honest.") || !facts.includes("1 failed")) process.exit(3);
    appendFileSync("asked.log", "x");
    const isThird = readFileSync("asked.log", "utf8").length === 3;
    const report = { details: "d", artifacts: [{ file: "f", status: "created" }, { test: "t", result: "failed" }] };
    console.log(JSON.stringify(isThird ? { outcome: "success", ...report } : { outcome: "failure", error: "e", ...report }));`,
  );
  const node = process.execPath;
  const [honest, broken] = await scores(
    project,
    ...["--tasks", "tasks", "--exec", `honest=${node} honest.mjs`, "--exec", `${node} none.mjs`],
  );
  expect(honest).toMatchObject({ tool: "honest", has_model: true });
  expect(honest?.shape).toBeCloseTo((1 + 1 + 4 / 5) / 3);
  expect(honest?.consistency).toBeCloseTo(2 / 3);
  expect(honest?.tasks[0]?.missing).toEqual([{ what: "the outcome failure or partial", runs: 1 }]);
  expect(broken).toMatchObject({ tool: "node", shape: 0, consistency: 0 });
  expect(broken?.tasks[0]?.missing).toEqual([{ what: "no answer: failed: exit code 1", runs: 3 }]);
});

test.each([
  ["no JSON", "{", /not valid|expected|ends/u],
  ["another name", JSON.stringify({ name: "b", skill: "plan", task: "t", expect: { report: { step_id: "1", outcome: ["success"] } } }), /it is named b/u],
  ["nothing expected", JSON.stringify({ name: "a", skill: "plan", task: "t", expect: {} }), /expect/u],
  ["a name that is a path", JSON.stringify({ name: "../a", skill: "plan", task: "t", expect: {} }), /name is/u],
])("a task with %s is refused by its file", async (_what, text, why) => {
  const project = makeProject();
  project.write("tasks/a.json", text);
  const { exitCode, stderr } = await project.run("bench", "skills", "--tasks", "tasks");
  expect(exitCode).toBe(2);
  expect(stderr).toContain("tasks/a.json: no task: ");
  expect(stderr).toMatch(why);
}); // prettier-ignore

test("a folder without tasks says where some come from", async () => {
  const { exitCode, stderr } = await makeProject().run("bench", "skills", "--tasks", "none");
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining("deaddrop skills init")]);
});
