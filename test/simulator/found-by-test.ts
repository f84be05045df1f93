import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { failedAssertions, hasPassed, type TestReport } from "./test-report.ts";
import type { Plant } from "./plants.js";

/** How much a file tries: as `npm test` does, and what a night tries, since a rare case must come up. */
const AMOUNTS: readonly NodeJS.ProcessEnv[] = [{}, { DEADDROP_LONG: "1", DEADDROP_NIGHTLY: "1" }];

/** Files that pass as they are, by amount, so that they are asked once. */
const passing = AMOUNTS.map(() => new Map<string, boolean>());

/**
 * The test that notices a mistake: an assertion of it fails with the mistake in the code, and its
 * file passes without. A time-out, a crash or a file that cannot be loaded has noticed nothing.
 */
export function foundByTest({ name, test = "", title }: Plant): string | undefined {
  for (const [at, amount] of AMOUNTS.entries()) {
    const passes = passing[at] ?? new Map<string, boolean>();
    if (!passes.has(test)) passes.set(test, hasPassed(reportOf(test, amount)));
    if (passes.get(test) !== true) return undefined;
    const failed = failedAssertions(reportOf(test, { ...amount, DEADDROP_PLANT: name }));
    const noticed = title === undefined ? failed[0] : failed.find((each) => each === title);
    if (noticed !== undefined) return `${test}: ${noticed}`;
  }
  return undefined;
}

function reportOf(test: string, env: NodeJS.ProcessEnv): TestReport {
  const folder = mkdtempSync(join(tmpdir(), "deaddrop-plant-"));
  const report = join(folder, "report.json");
  try {
    const args = ["node_modules/vitest/vitest.mjs", "run", test];
    const said = ["--reporter=json", `--outputFile=${report}`];
    spawnSync(process.execPath, [...args, ...said], {
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
