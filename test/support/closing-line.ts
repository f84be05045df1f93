import type { Reporter, TestModule } from "vitest/node";

/**
 * Ends a run with what a script can read: why each skipped test was skipped, then one plain line
 * `N passed, N failed, N skipped`. A test file that could not be loaded counts as one failure.
 */
// oxlint-disable-next-line import/no-default-export -- vitest loads a reporter by its default export
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const lines: string[] = [];
    let passed = 0;
    let failed = errors.length;
    let skipped = 0;
    for (const module of modules) {
      if (module.errors().length > 0) failed += 1;
      for (const test of module.children.allTests()) {
        const result = test.result();
        if (result.state === "passed") passed += 1;
        else if (result.state === "failed") failed += 1;
        else {
          skipped += 1;
          const why = result.state === "skipped" ? result.note : undefined;
          lines.push(`skipped: ${test.fullName}: ${why ?? "no reason given"}`);
        }
      }
    }
    lines.push(`${String(passed)} passed, ${String(failed)} failed, ${String(skipped)} skipped`);
    process.stdout.write(`${lines.join("\n")}\n`);
  }
}
