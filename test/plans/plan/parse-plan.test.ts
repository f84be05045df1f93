import { describe, expect, it } from "vitest";
import { Ajv } from "ajv";
import { readFileSync } from "node:fs";
import { parsePlan } from "../../../src/plans/plan/parse-plan.ts";
import { CSV_UPLOAD, planOf, problemsOf, stepsText } from "../plan-text.ts";

describe("a plan", () => {
  it("of four steps is read with owners, criteria, commands and files", () => {
    const { plan, warnings } = planOf(CSV_UPLOAD);
    expect(warnings).toEqual([]);
    expect(plan.steps.map(({ id, owner, deps }) => [id, owner, deps])).toEqual([
      ["1", "Architect", []],
      ["2", "Backend", ["1"]],
      ["3", "Frontend", ["1"]],
      ["4", "Coordinator", ["2", "3"]],
    ]);
    expect(plan.steps[1]?.commands).toEqual([
      "Run: node --test server",
      "Read: schemas/upload.json",
    ]);
    expect(plan.steps[3]?.criteria).toHaveLength(2);
  });

  it("has ids as they are spelled, in YAML and in JSON", () => {
    const yaml =
      "steps:\n  - {id: 1.0, description: a, owner: 7}\n  - {id: 1, description: b, owner: yes, deps: [1.0]}\n";
    expect(planOf(yaml).plan.steps.map(({ id, owner, deps }) => [id, owner, deps])).toEqual([
      ["1.0", "7", []],
      ["1", "yes", ["1.0"]],
    ]);
    const json =
      '{"steps": [{"id": 1.0, "description": "a", "owner": "x"}, {"id": true, "description": "b", "owner": "x", "deps": [1.0]}]}';
    expect(planOf(json, "plan.json").plan.steps.map(({ id, deps }) => [id, deps])).toEqual([
      ["1.0", []],
      ["true", ["1.0"]],
    ]);
  });

  it("has no alias, no second document and no tag that makes anything", () => {
    const steps = stepsText("a self");
    expect(problemsOf(`x: &x 1\ny: *x\n${steps}`)[0]).toMatch(/^plan\.yaml:2:4: error: aliases/u);
    expect(problemsOf(`${steps}---\n${steps}`)[0]).toMatch(
      /^plan\.yaml:6:1: error: .*multiple documents/u,
    );
    const tagged = planOf(`${steps}task: !!js/function "process.exit(1)"\n`);
    expect(tagged.warnings.map(({ level, line }) => [level, line])).toContainEqual(["warning", 6]);
    expect(tagged.source.data).toMatchObject({ task: "process.exit(1)" });
  });
});

describe("a plan that cannot be used is refused with line and column", () => {
  const head = "plan_id: p\nsteps:\n";
  it.each([
    ["malformed YAML", `${head}  - id: "a\n`, /^plan\.yaml:4:1: error: /u],
    ["a tab as indentation", `${head}\t- id: a\n`, /^plan\.yaml:3:1: error: /u],
    [
      "a key that is there twice",
      `${head}  - id: a\n    id: b\n`,
      /^plan\.yaml:4:5: error: the key "id" is there twice$/u,
    ],
    [
      "a field of the wrong type",
      stepsText("a self").replace("do a", "[1]"),
      /^plan\.yaml:4:18: error: steps\[0\]\.description is a list of 1; expected a string$/u,
    ],
    [
      "a status that there is not",
      `${stepsText("a self")}    status: done\n`,
      /^plan\.yaml:6:13: error: steps\[0\]\.status is "done"; expected pending, in_progress, complete, blocked$/u,
    ],
    [
      "no owner",
      `${head}  - id: a\n    description: x\n`,
      /^plan\.yaml:3:5: error: steps\[0\]\.owner is missing$/u,
    ],
    [
      "an id that is there twice",
      stepsText("a self", "a self"),
      /^plan\.yaml:6:9: error: the id "a" has another step already, number 1$/u,
    ],
    [
      "an unknown dependency",
      stepsText("a self b"),
      /^plan\.yaml:6:12: error: step "a" waits for "b", which is no step$/u,
    ],
    [
      "a step that waits for itself",
      stepsText("a self a"),
      /^plan\.yaml:6:12: error: step "a" waits for itself$/u,
    ],
    [
      "a cycle",
      stepsText("a self c", "b self a", "c self b"),
      /^plan\.yaml:6:11: error: these steps wait for each other: a → c → b → a$/u,
    ],
    [
      "half a letter",
      stepsText("a self").replace("do a", '"\\ud800"'),
      /^plan\.yaml:4:18: error: the text has half a letter/u,
    ],
    ["no steps", "plan_id: p\nsteps: []\n", /^plan\.yaml:2:8: error: /u],
    [
      "a list instead of a plan",
      "- a\n",
      /^plan\.yaml:1:1: error: the document is a list of 1; expected an object$/u,
    ],
    ["nothing", "", /error: the document is null; expected an object$/u],
  ])("%s", (_what, text, expected) => {
    expect(problemsOf(text)[0]).toMatch(expected);
    expect(parsePlan(Buffer.from(text), "plan.yaml").ok).toBe(false);
  });

  it("JSON too", () => {
    expect(problemsOf('{\n  "steps": [,]\n}', "plan.json")[0]).toMatch(
      /^plan\.json:2:13: error: /u,
    );
    expect(problemsOf('{"steps": [], "steps": []}', "plan.json")[0]).toMatch(
      /error: .*duplicate/iu,
    );
    expect(problemsOf('{\n "steps": [{"id": "a"}]\n}', "plan.json")[0]).toMatch(
      /^plan\.json:2:12: error: /u,
    );
  });

  it("10 MB, bytes that are no text, and a cycle of 500 steps", () => {
    expect(problemsOf(Buffer.alloc(10_000_000, "a"))).toEqual([
      "plan.yaml: error: 10000000 bytes; a plan has at most 1048576",
    ]);
    expect(problemsOf(Buffer.from([0x61, 0xff]))).toEqual(["plan.yaml: error: not valid UTF-8"]);
    const circle = Array.from({ length: 500 }, (_, at) => `s${at} self s${(at + 1) % 500}`);
    expect(problemsOf(stepsText(...circle))[0]).toContain(
      "these steps wait for each other: s0 → s1",
    );
  });

  // Each of them ends a process or takes minutes when it reaches the parser as it is.
  it.each([
    [
      "an alias bomb",
      `a: &a [x,x,x,x,x,x,x,x]\n${"bcdefgh"
        .split("")
        .map((key, at) => `${key}: &${key} [${Array(9).fill(`*${"abcdefgh"[at]}`).join(",")}]`)
        .join("\n")}\n`,
    ],
    ["lists within lists", "[".repeat(500_000)],
    ["dashes", "- ".repeat(500_000)],
    [
      "mappings within mappings",
      Array.from({ length: 1_300 }, (_, at) => `${" ".repeat(at)}a:`).join("\n"),
    ],
    ["60,000 keys", Array.from({ length: 60_000 }, (_, at) => `k${at}: 1`).join("\n")],
    ["a million quotes", '"'.repeat(1_000_000)],
    ["explicit keys", "? ".repeat(400_000)],
    ["100,000 anchors", Array.from({ length: 50_000 }, (_, at) => `- &a${at} x`).join("\n")],
  ])("hostile text: %s", (_what, text) => {
    const problems = problemsOf(text);
    expect(problems[0]).toContain("error: ");
    expect(problems.length).toBeLessThan(30);
  });
});

describe("the published schemas", () => {
  it.each(["AgentPlan", "AgentReport", "AgentBenchmark"])(
    "%s is draft-07, and a strict compiler takes it",
    (title) => {
      const name = title.replace("Agent", "agent-").toLowerCase();
      const url = new URL(`../../../schemas/${name}.json`, import.meta.url);
      const schema = JSON.parse(readFileSync(url, "utf8")) as Record<string, unknown>;
      expect(schema).toMatchObject({ $schema: "http://json-schema.org/draft-07/schema#", title });
      const compiler = new Ajv({ allowUnionTypes: true });
      expect([compiler.validateSchema(schema), compiler.errors]).toEqual([true, null]);
      compiler.compile(schema);
    },
  );
});

describe("a document that would take long to read", () => {
  it.each([
    ["quotes", '"'.repeat(1_000_000)],
    ["brackets", "}".repeat(1_000_000)],
    ["commas", `[${",".repeat(1_000_000)}]`],
    ["escapes", `"${"\\x".repeat(400_000)}"`],
  ])("of %s is refused at the door", (_what, text) => {
    const read = parsePlan(new TextEncoder().encode(text), "plan.yaml");
    expect(read.ok ? [] : read.problems.map((each) => each.text)).toEqual([
      "more than 100000 signs and words",
    ]);
  });
});
