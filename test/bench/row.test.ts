import { expect, test } from "vitest";
import {
  percentile,
  rowAlone,
  rowOf,
  spread,
  verdictOf,
  type Question,
  type Turn,
} from "../../bench/row.ts";
import { tableMarkdown, tableText } from "../../bench/table.ts";
import { inTurns } from "../../bench/turns.ts";

const question: Question = {
  id: "P1",
  what: "a rate",
  unit: "lines/s",
  compared: "ratio",
  target: { atLeast: 0.8 },
};

function turns(...pairs: readonly (readonly [ours: number, baseline: number])[]): Turn[] {
  return pairs.map(([ours, baseline]) => ({
    ours: { value: ours, cpuMs: 3 },
    baseline: { value: baseline, cpuMs: 2 },
  }));
}

test("a percentile is the sample of the nearest rank", () => {
  const samples = [5, 1, 4, 2, 3];
  expect(percentile(samples, 0)).toBe(1);
  expect(percentile(samples, 0.5)).toBe(3);
  expect(percentile(samples, 0.95)).toBe(5);
  expect(spread(samples)).toBe(5);
  expect(() => percentile([], 0.5)).toThrow("no samples");
});

test("ours and the baseline take turns", async () => {
  const order: string[] = [];
  const made = await inTurns(
    3,
    (turn) => order.push(`ours ${turn}`),
    (turn) => order.push(`baseline ${turn}`),
  );
  expect(order.map((each) => each.split(" ")[0])).toEqual(
    Array.from({ length: 3 }, () => ["ours", "baseline"]).flat(),
  );
  expect(made).toEqual([
    { ours: 1, baseline: 2 },
    { ours: 3, baseline: 4 },
    { ours: 5, baseline: 6 },
  ]);
});

test("the ratio is the median of the turns' ratios, not the ratio of the medians", () => {
  const row = rowOf(question, turns([90, 100], [50, 110], [99, 120]));
  expect(row.value).toBe(99 / 120);
  expect([row.ours, row.baseline, row.turns]).toEqual([90, 110, 3]);
  expect(row.cpu).toEqual({ ours: 3, baseline: 2, ratio: 1.5 });
  expect(row.spread).toBe(1.2);
  expect(verdictOf(row)).toBe("met");
});

test("a baseline that differs by more than half between its turns gives no verdict", () => {
  expect(verdictOf(rowOf(question, turns([90, 100], [135, 150])))).toBe("met");
  expect(verdictOf(rowOf(question, turns([90, 100], [135, 151])))).toBe("too noisy to judge");
});

test("a row is met, not met, published or skipped", () => {
  const delay: Question = { ...question, compared: "difference", target: { atMost: 4 } };
  expect(verdictOf(rowOf(delay, turns([14, 10])))).toBe("met");
  expect(verdictOf(rowOf(delay, turns([15, 10])))).toBe("not met");
  expect(verdictOf(rowAlone({ id: "P15", what: "lines", unit: "" }, [{ value: 1 }]))).toBe(
    "published",
  );
  expect(verdictOf({ id: "P2", what: "a rate", skipped: "no python3" })).toBe("skipped");
});

test("the table names ours, baseline, comparison, CPU, turns, spread, target and verdict", () => {
  const rows = [
    rowOf(question, turns([80, 100])),
    rowOf(
      { ...question, unit: "ms", compared: "difference", target: { atMost: 4 } },
      turns([9, 1]),
    ),
    rowAlone({ id: "P18", what: "longest step", unit: "ms", target: { atMost: 50 } }, [
      { value: 12 },
    ]),
    { id: "P2", what: "a rate", skipped: "no python3" },
  ];
  expect(tableText(rows)).toMatchInlineSnapshot(`
    "     figure        ours          baseline     compared      CPU ours  CPU baseline  CPU     turns  spread  target          verdict
    P1   a rate        80.0 lines/s  100 lines/s  0.80 ×        3.00 ms   2.00 ms       1.50 ×  1      1.0 ×   ≥ 0.80 ×        met
    P1   a rate        9.00 ms       1.00 ms      8.00 ms over  3.00 ms   2.00 ms       1.50 ×  1      1.0 ×   ≤ 4.00 ms over  not met
    P18  longest step  12.0 ms                                                                  1              ≤ 50.0 ms       met
    P2   a rate                                                                                                                skipped: no python3"
  `);
  expect(tableMarkdown(rows).split("\n")).toHaveLength(rows.length + 2);
});
