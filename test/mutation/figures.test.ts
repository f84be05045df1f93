import { expect, test } from "vitest";
import { figuresOf, textOf } from "./figures.js";

const mutants = (...ends: readonly (readonly [status: string, statusReason?: string])[]) => ({
  mutants: ends.map(([status, statusReason]) => ({
    status,
    ...(statusReason === undefined ? {} : { statusReason }),
  })),
});

test("only failed tests and counted loops find a mutant; time finds none", () => {
  const rows = figuresOf({
    "src/wire/a.ts": mutants(["Killed", "expected 1"], ["Killed"], ["Timeout"]),
    "src/wire/b.ts": mutants(["Timeout", "Hit limit reached (101/100)"], ["Ignored"]),
    "src/trust/c.ts": mutants(["Survived"], ["NoCoverage"], ["RuntimeError"], ["Killed"]),
  });
  expect(rows.map(textOf)).toEqual([
    "wire: 4 mutants: 2 killed, 1 stopped by count, 1 stopped by time, 0 alive: 75.0 %",
    "trust: 4 mutants: 1 killed, 0 stopped by count, 0 stopped by time, 2 alive, 1 broken: 25.0 %",
    "all: 8 mutants: 3 killed, 1 stopped by count, 1 stopped by time, 2 alive, 1 broken: 50.0 %",
  ]);
});
