/** What we read of the report that `vitest run --reporter=json` writes. */
export interface TestReport {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message?: string;
    readonly assertionResults: readonly {
      readonly title: string;
      readonly status: string;
      readonly failureMessages?: readonly string[] | null;
    }[];
  }[];
}

/** An assertion that failed, also inside a property. A time-out or a crash is no assertion. */
const ASSERTION = /^(?:AssertionError\b|Error: Property failed after\b|Error: Snapshot `)/;

/** Whether tests ran, and all of them passed. */
export function hasPassed({ testResults }: TestReport): boolean {
  const tests = testResults.flatMap(({ assertionResults }) => assertionResults);
  return (
    tests.some(({ status }) => status === "passed") &&
    tests.every(({ status }) => status !== "failed") &&
    testResults.every(({ status }) => status === "passed")
  );
}

/** The titles of the tests that ran and in which an assertion failed. */
export function failedAssertions({ testResults }: TestReport): readonly string[] {
  return testResults
    .flatMap(({ assertionResults }) => assertionResults)
    .filter(
      ({ status, failureMessages }) =>
        status === "failed" && (failureMessages ?? []).some((text) => ASSERTION.test(text)),
    )
    .map(({ title }) => title);
}
