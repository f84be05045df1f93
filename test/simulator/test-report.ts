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

/** The titles of the tests that ran and passed, by file; of a file that failed besides, none. */
export function passedTests({ testResults }: TestReport): ReadonlyMap<string, ReadonlySet<string>> {
  return new Map(
    testResults.map(({ name, status, assertionResults }) => {
      const passed = assertionResults.filter((each) => each.status === "passed");
      return [name, new Set(status === "passed" ? passed.map(({ title }) => title) : [])];
    }),
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
