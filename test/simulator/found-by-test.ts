import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { failedAssertions, passedTests, type TestReport } from "./test-report.ts";
import type { Plant } from "./plants.js";

/** How much a file tries: the usual sample, then what a nightly run tries, since a rare case must come up. */
const AMOUNTS: readonly NodeJS.ProcessEnv[] = [{}, { DEADDROP_NIGHTLY: "1" }];

/** A test, by its file and its title, and how much it tried. */
export interface NamedTest {
  readonly file: string;
  readonly title: string;
  readonly amount: NodeJS.ProcessEnv;
}

/**
 * The test in which an assertion fails with the mistake in the code. A time-out, a crash or a file
 * that cannot be loaded has noticed nothing. That the test passes without the mistake is for
 * `failsAnyway` to judge.
 */
export function foundByTest({ name, test: file = "", title }: Plant): NamedTest | undefined {
  const only = title === undefined ? [] : ["--testNamePattern", literal(title)];
  for (const amount of AMOUNTS) {
    const env = { ...amount, DEADDROP_PLANT: name };
    // The first test that fails is enough, unless it failed of something else.
    for (const bail of [["--bail=1"], []]) {
      const failed = failedAssertions(reportOf([file, ...only, ...bail], env));
      const noticed = title === undefined ? failed[0] : failed.find((each) => each === title);
      if (noticed !== undefined) return { file, title: noticed, amount };
    }
  }
  return undefined;
}

/** Which of these tests do not pass with the code as it is. All of one amount are asked in one run. */
export function failsAnyway(tests: readonly NamedTest[]): readonly NamedTest[] {
  return AMOUNTS.flatMap((amount) => {
    const asked = tests.filter((each) => each.amount === amount);
    if (asked.length === 0) return [];
    const files = [...new Set(asked.map(({ file }) => file))];
    const titles = [...new Set(asked.map(({ title }) => literal(title)))];
    const report = reportOf([...files, "--testNamePattern", titles.join("|")], amount);
    const passed = passedTests(report);
    return asked.filter(({ file, title }) => passed.get(resolve(file))?.has(title) !== true);
  });
}

/** A pattern that fits this text alone. */
function literal(text: string): string {
  return text.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);
}

function reportOf(asked: readonly string[], env: NodeJS.ProcessEnv): TestReport {
  const folder = mkdtempSync(join(tmpdir(), "deaddrop-plant-"));
  const report = join(folder, "report.json");
  try {
    const args = ["node_modules/vitest/vitest.mjs", "run", ...asked];
    spawnSync(process.execPath, [...args, "--reporter=json", `--outputFile=${report}`], {
      env: { ...process.env, ...env },
      stdio: ["ignore", "ignore", "inherit"],
    });
    return JSON.parse(readFileSync(report, "utf8")) as TestReport;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    // It did not get as far as a report.
    return { testResults: [] };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
