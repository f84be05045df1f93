import { describe, expect, it } from "vitest";
import { checksOf, type PlanCheck, type Expectations } from "../../../src/plans/report/checks.ts";
import { finalReport, markdownReport } from "../../../src/plans/report/final-report.ts";
import {
  parseReport,
  readReport,
  reportIn,
  type Artifact,
  type Report,
} from "../../../src/plans/report/report.ts";
import { planOf, stepsText } from "../plan-text.ts";

const AT = "2026-11-24T09:30:00Z";

function report(fields: Partial<Report> = {}): Report {
  return { step_id: "a", outcome: "success", details: "done", timestamp: AT, ...fields };
}

const parsed = (value: unknown) => parseReport(Buffer.from(JSON.stringify(value)));

describe("a report", () => {
  it("is read, and a bare number as id is a text", () => {
    const given = { ...report(), step_id: 1, note: "kept" };
    expect(parsed(given)).toEqual({ ok: true, report: { ...given, step_id: "1" } });
  });

  it.each([
    ["no outcome", { ...report(), outcome: undefined }, "outcome is missing"],
    [
      "another outcome",
      { ...report(), outcome: "fine" },
      'outcome is "fine"; expected success, failure, blocked, partial',
    ],
    ["a failure without an error", report({ outcome: "failure" }), "error is missing"],
    ["partial without an error", report({ outcome: "partial" }), "error is missing"],
    ["no time", { ...report(), timestamp: undefined }, "timestamp is missing"],
    [
      "a time that is none",
      report({ timestamp: "yesterday" }),
      /^timestamp is "yesterday"; expected/u,
    ],
    [
      "a day that there is not",
      report({ timestamp: "2026-13-40T00:00:00Z" }),
      /no such day or time$/u,
    ],
    [
      "an artifact that names nothing",
      { ...report(), artifacts: [{ status: "changed" }] },
      /^artifacts\[0\]\.file or test or log or screenshot is missing$/u,
    ],
    ["a file without a status", { ...report(), artifacts: [{ file: "x" }] }, /^artifacts\[0\]/u],
    ["no object", [1], /expected an object|object/u],
  ])("with %s is refused", (_what, value, detail) => {
    const read = parsed(value);
    expect(read.ok).toBe(false);
    if (read.ok) return;
    if (typeof detail === "string") expect(read.detail).toBe(detail);
    else expect(read.detail).toMatch(detail);
  });

  it("is bounded, and no JSON is no report", () => {
    const long = report({
      artifacts: Array.from({ length: 20 }, () => ({ log: "x".repeat(8_000) })),
    });
    expect(parsed(long)).toMatchObject({ ok: false, detail: expect.stringContaining("at most") });
    expect(readReport(long).ok).toBe(false);
    expect(parseReport(Buffer.from('{"a": 1, "a": 2}')).ok).toBe(false);
  });

  it.each([
    ["all that is printed", '{"outcome": "success"}'],
    [
      "the last fenced block",
      'I did it.\n```json\n{"outcome": "failure"}\n```\nor so\n```\n{"outcome": "success"}\n```\nBye.',
    ],
    ["the last object that begins a line", 'words {"outcome": "x"}\n{"outcome": "success"}\n'],
  ])("is found as %s", (_what, printed) => {
    expect(reportIn(printed)).toEqual({ outcome: "success" });
  });

  it("is not found where there is none", () => {
    expect(reportIn("I did it, {really}")).toBeUndefined();
    expect(reportIn("")).toBeUndefined();
  });
});

const PLAN = planOf(
  stepsText("a self - src/").replace("owner: self", "owner: self\n    status: complete"),
).plan;

function failing(
  artifacts: readonly Artifact[],
  expected: Expectations = {},
  plan = PLAN,
): PlanCheck[] {
  const reports = [{ attempt: 1, by: "bob", report: report({ artifacts }) }];
  return checksOf(plan, reports, expected).filter(({ ok }) => ok === false);
}

describe("the checks", () => {
  const diff = {
    range: "main..HEAD",
    files: [
      { path: "src/a.ts", lines: 30 },
      { path: "src/b.ts", lines: 12 },
    ],
  };
  const artifacts = [
    { file: "src/a.ts", status: "changed" },
    { test: "npm test", result: "passed" },
    { log: "all is well" },
  ];

  it("hold when all is as expected", () => {
    expect(failing(artifacts, { diff, maxDiff: 42 })).toEqual([]);
    const all = checksOf(PLAN, [], { diff, maxDiff: 42 }).map(({ name }) => name);
    expect(all).toEqual([
      "steps_complete",
      "tests_passed",
      "planned_files",
      "diff_files",
      "diff_size",
    ]);
  });

  it.each<[PlanCheck["name"], PlanCheck[], string]>([
    [
      "steps_complete",
      failing(artifacts, {}, planOf(stepsText("a self - src/")).plan),
      "step a is pending",
    ],
    [
      "tests_passed",
      failing([{ test: "npm test", result: "3 failed" }]),
      "step a: npm test: 3 failed",
    ],
    [
      "tests_passed",
      failing([{ test: "npm test", result: "skipped" }]),
      "step a: npm test: skipped",
    ],
    [
      "planned_files",
      failing([{ file: "package.json", status: "changed" }]),
      "step a: package.json is not one of its files",
    ],
    [
      "planned_files",
      failing([{ file: "src/../package.json", status: "changed" }]),
      "step a: src/../package.json is not one of its files",
    ],
    [
      "diff_files",
      failing([], { diff: { range: "x", files: [{ path: "package.json", lines: 1 }] } }),
      "package.json has changed and is in no step",
    ],
    [
      "diff_size",
      failing([], { diff, maxDiff: 41 }),
      "main..HEAD changes 42 lines; at most 41 are expected",
    ],
  ])("%s does not hold", (name, checks, detail) => {
    expect(checks).toEqual([{ name, ok: false, details: [detail] }]);
  });
});

describe("the final report", () => {
  it("says what became of each step", () => {
    const reports = [{ attempt: 1, by: "bob", report: report({ details: "Rows are stored." }) }];
    const final = finalReport(PLAN, reports, checksOf(PLAN, reports), Date.parse(AT));
    expect(final).toMatchObject({
      ok: true,
      plan_id: "p",
      steps: [{ id: "a", outcome: "success", reported_by: "bob" }],
    });
    expect(markdownReport(final)).toMatchSnapshot();
  });

  it("has one row for each step, whichever line ends its words have", () => {
    const [step] = PLAN.steps;
    if (step === undefined) throw new Error("no step");
    const words = "one\r\ntwo\rthree";
    const plan = { ...PLAN, task: words, steps: [{ ...step, description: words }] };
    const reports = [{ attempt: 1, by: "bob", report: report({ details: words }) }];
    const text = markdownReport(finalReport(plan, reports, checksOf(plan, reports), 0));
    expect(text).toContain("| a | self | complete | success | one |\n");
    expect(text).toContain("\n\none two three\n\n");
    expect(text).toContain("\n\none\n\ntwo\n\nthree\n");
    expect(text).not.toMatch(/\r|\\r/u);
  });

  it("has no mark, tag or control of others in its Markdown", () => {
    const evil =
      "# x\n| a | <script>alert(1)</script> [y](javascript:z) `c` \u001b[31m\u202e **b** ![i](http://x)";
    const reports = [
      {
        attempt: 1,
        by: evil,
        report: report({
          outcome: "failure",
          details: evil,
          error: evil,
          artifacts: [{ file: evil, status: evil }, { log: evil }],
        }),
      },
    ];
    const text = markdownReport(finalReport(PLAN, reports, checksOf(PLAN, reports), 0));
    expect(text).not.toMatch(/<script|\u001b|\u202e|(?<!\\)\]\(|(?<!\\)`|^# x/mu);
    expect(text.split("\n").filter((row) => /(?<!\\)\*\*b/u.test(row))).toEqual([]);
  });
});
