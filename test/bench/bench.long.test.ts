import { expect, test } from "vitest";
import { FIGURES, runBench } from "../../bench/bench.ts";
import { comparison, isMet, percentile, spread, tableText, type Row } from "../../bench/figures.ts";

// What is measured is not judged here: this machine may be busy.
test("every figure comes out beside its baseline", async () => {
  const rows = await runBench({ lines: 50, sends: 20, deliveries: 3, runs: 2 }, FIGURES);

  expect([...new Set(rows.map(({ id }) => id))]).toEqual(["P1", "P3", "P4", "P5", "P6"]);
  for (const row of rows) {
    expect(row.ours, row.what).toBeGreaterThan(0);
    expect(row.baseline, row.what).toBeGreaterThan(0);
  }
  const lines = tableText(rows).split("\n");
  expect(lines).toHaveLength(rows.length + 1);
});

test("a percentile is the sample of the nearest rank", () => {
  const samples = [5, 1, 4, 2, 3];
  expect(percentile(samples, 0)).toBe(1);
  expect(percentile(samples, 0.5)).toBe(3);
  expect(percentile(samples, 0.95)).toBe(5);
  expect(spread(samples)).toBe(5);
  expect(() => percentile([], 0.5)).toThrow("no samples");
});

test("a row says how far it is from its baseline, and whether that is enough", () => {
  const rate: Row = {
    id: "P1",
    what: "a rate",
    unit: "lines/s",
    ours: 80,
    baseline: 100,
    compared: "ratio",
    target: { atLeast: 0.8 },
  };
  const delay: Row = { ...rate, unit: "ms", compared: "difference", target: { atMost: -30 } };
  expect([comparison(rate), isMet(rate)]).toEqual([0.8, true]);
  expect([comparison(delay), isMet(delay)]).toEqual([-20, false]);
  expect(tableText([rate, delay])).toMatchInlineSnapshot(`
    "    figure  ours          baseline     compared       target
    P1  a rate  80.0 lines/s  100 lines/s  0.80 ×         ≥ 0.80 ×         met
    P1  a rate  80.0 ms       100 ms       -20.0 ms over  ≤ -30.0 ms over  not met"
  `);
});
