import { expect, test } from "vitest";
import type { Plan } from "../../bench/plan.ts";
import { machineFacts, resultsText } from "../../bench/results.ts";
import { isSkipped, verdictOf } from "../../bench/row.ts";
import { ROWS, USUAL } from "../../bench/rows.ts";
import { tableText } from "../../bench/table.ts";

/** What is measured is not judged here: this machine may be busy. */
const plan: Plan = { scale: 0.001, turns: 1, idleSeconds: 1 };

test.each(USUAL)("%s comes out, whole, at a small scale", async (name) => {
  const rows = await ROWS.get(name)!(plan);

  expect(rows.length).toBeGreaterThan(0);
  expect(tableText(rows).split("\n")).toHaveLength(rows.length + 1);
  for (const row of rows) {
    expect(row.id).toBe(name);
    if (isSkipped(row)) {
      expect(verdictOf(row)).toBe("skipped");
      process.stdout.write(`${name} is skipped: ${row.skipped}\n`);
      continue;
    }
    expect(row.ours, row.what).toEqual(expect.any(Number));
    expect(Number.isFinite(row.value), row.what).toBe(true);
    if (row.compared !== "alone") expect(row.baseline, row.what).toBeGreaterThan(0);
  }
  expect(resultsText(machineFacts(), plan, rows)).toContain(rows[0]?.what);
});
