import { describe, expect, test } from "vitest";
import { PLANTS } from "./plants.js";
import { failedAssertions, passedTests, type TestReport } from "./test-report.ts";

type Result = readonly [title: string, status: string, ...failures: string[]];

function report(status: string, ...results: readonly Result[]): TestReport {
  const assertionResults = results.map(([title, ended, ...failureMessages]) => {
    return { title, status: ended, failureMessages };
  });
  return { testResults: [{ name: "a.test.ts", status, assertionResults }] };
}

const passedIn = (run: TestReport): string[] =>
  [...passedTests(run)].flatMap(([, all]) => [...all]);

const FAILED = "AssertionError: expected 1 to be 2\n    at a.test.ts:1:1";
const LATE = "Error: Test timed out in 2700000ms.\n    at a.test.ts:1:1";

describe("a run of a test with a mistake in the code", () => {
  test("has noticed it where an assertion failed, alone or in a property", () => {
    const run = report(
      "failed",
      ["one", "failed", FAILED],
      ["two", "passed"],
      ["three", "failed", "Error: Property failed after 3 tests\n{ seed: 1 }"],
    );
    expect(failedAssertions(run)).toEqual(["one", "three"]);
    expect(passedIn(run)).toEqual([]);
  });

  test.each<[string, TestReport]>([
    ["a test that ran out of time", report("failed", ["one", "failed", LATE])],
    ["a hook that did", report("failed", ["one", "failed", "Error: Hook timed out in 9ms."])],
    ["a condition that was waited for", report("failed", ["one", "failed", "Error: not within"])],
    ["an error of the code", report("failed", ["one", "failed", "TypeError: x is undefined"])],
    ["a file that cannot be loaded", report("failed")],
    ["a run without a report", { testResults: [] }],
    ["a run of nothing but skipped tests", report("passed", ["one", "skipped"])],
  ])("%s: nothing is noticed, and it has not passed either", (_what, run) => {
    expect(failedAssertions(run)).toEqual([]);
    expect(passedIn(run)).toEqual([]);
  });

  test("names the tests that passed, of a file that passed", () => {
    expect(passedIn(report("passed", ["one", "passed"], ["two", "skipped"]))).toEqual(["one"]);
    expect(passedIn(report("failed", ["one", "passed"]))).toEqual([]);
  });
});

test("every planted mistake has a name of its own", () => {
  const names = PLANTS.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
});
