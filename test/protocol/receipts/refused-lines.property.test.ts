import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  forgetAfter,
  forgetUpTo,
  isFull,
  MAX_NAMED_REFUSALS,
  noRefusedLines,
  noteRefused,
  noteTaken,
  type RefusedLines,
} from "../../../src/protocol/receipts/refused-lines.ts";

type Fate = "taken" | "passed" | "foreign" | "unchained" | "clock_skew" | "tier_refused";

/** What becomes of each line of a log; "passed" are blank lines and duplicates. */
const arbitraryLog: fc.Arbitrary<Fate[]> = fc
  .array(
    fc.record({
      fate: fc.constantFrom<Fate>("taken", "passed", "foreign", "unchained", "clock_skew"),
      count: fc.integer({ min: 1, max: 4 }),
    }),
    { maxLength: 150 },
  )
  .map((runs) => runs.flatMap(({ fate, count }) => Array.from({ length: count }, () => fate)));

const isRefused = (fate: Fate) => fate !== "taken" && fate !== "passed";

/** Reads as far as the list allows, as the daemon does; returns how many lines. */
function read(lines: RefusedLines, log: readonly Fate[], from = 1): number {
  for (let line = from; line <= log.length; line += 1) {
    const fate = log[line - 1] as Fate;
    if (isFull(lines)) return line - 1;
    if (fate === "taken") noteTaken(lines, line);
    else if (isRefused(fate)) noteRefused(lines, { first: line, last: line }, fate);
  }
  return log.length;
}

/** The lines that the ranges hold, one by one. */
function expanded({ ranges }: RefusedLines): Map<number, string> {
  const lines = new Map<number, string>();
  for (const { first, last, reason } of ranges) {
    for (let line = first; line <= last; line += 1) {
      expect(lines.has(line)).toBe(false);
      lines.set(line, reason);
    }
  }
  return lines;
}

describe("lines refused since the beat before", () => {
  test("are named all, and no line that was taken in with them", () => {
    fc.assert(
      fc.property(arbitraryLog, (log) => {
        const lines = noRefusedLines();
        const end = read(lines, log);
        const named = expanded(lines);
        expect(lines.ranges.length).toBeLessThanOrEqual(MAX_NAMED_REFUSALS);
        for (let line = 1; line <= end; line += 1) {
          const fate = log[line - 1] as Fate;
          if (isRefused(fate)) expect([fate, "mixed"]).toContain(named.get(line));
          if (fate === "taken") expect(named.has(line)).toBe(false);
        }
        expect([...named.keys()].every((line) => line <= end)).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  test("are joined to mixed ranges only when there are more than 32 of them", () => {
    fc.assert(
      fc.property(arbitraryLog, (log) => {
        const lines = noRefusedLines();
        read(lines, log);
        if (lines.ranges.length === MAX_NAMED_REFUSALS) return;
        // Neighbours of one reason are one range.
        let runs = 0;
        let open: Fate | undefined;
        for (const fate of log) {
          if (isRefused(fate) && fate !== open) runs += 1;
          if (fate !== "passed") open = fate;
        }
        if (runs > MAX_NAMED_REFUSALS) return;
        expect(lines.ranges).toHaveLength(runs);
        expect(lines.ranges.map(({ reason }) => reason)).not.toContain("mixed");
      }),
      { numRuns: 2_000 },
    );
  });

  test("stop reading only when 32 ranges have lines between them that were taken in", () => {
    fc.assert(
      fc.property(arbitraryLog, (log) => {
        const lines = noRefusedLines();
        const end = read(lines, log);
        const isStopped = end < log.length;
        const apart = log.slice(0, end).filter((fate, at) => {
          if (!isRefused(fate)) return false;
          const before = log.slice(0, at).findLast((each) => each !== "passed");
          return before === undefined || before === "taken";
        });
        if (isStopped) expect(apart).toHaveLength(MAX_NAMED_REFUSALS);
        else expect(apart.length).toBeLessThanOrEqual(MAX_NAMED_REFUSALS);
      }),
      { numRuns: 2_000 },
    );
  });

  test("go on after each beat: all lines are read and each refusal is named exactly once", () => {
    fc.assert(
      fc.property(arbitraryLog, (log) => {
        const lines = noRefusedLines();
        const named = new Set<number>();
        let end = 0;
        for (let beats = 0; end < log.length || lines.ranges.length > 0; beats += 1) {
          expect(beats).toBeLessThan(log.length + 2);
          end = read(lines, log, end + 1);
          for (const line of expanded(lines).keys()) {
            expect(named.has(line)).toBe(false);
            named.add(line);
          }
          forgetUpTo(lines, end);
        }
        for (const [at, fate] of log.entries()) {
          if (isRefused(fate)) expect(named.has(at + 1)).toBe(true);
          if (fate === "taken") expect(named.has(at + 1)).toBe(false);
        }
      }),
      { numRuns: 1_000 },
    );
  });

  test("what is read again from some line on is named as if it were read for the first time", () => {
    fc.assert(
      fc.property(arbitraryLog, fc.nat(), (log, luck) => {
        const few = log.slice(0, 40);
        // Nothing that is authentic is ever taken back.
        const taken = few.findLastIndex((fate) => fate === "taken") + 1;
        const from = Math.max(taken, luck % (few.length + 1));
        const lines = noRefusedLines();
        read(lines, few);
        forgetAfter(lines, from);
        expect([...expanded(lines).keys()].every((line) => line <= from)).toBe(true);
        read(lines, few, from + 1);
        const once = noRefusedLines();
        read(once, few);
        const refused = (each: RefusedLines) =>
          [...expanded(each).keys()].filter((line) => isRefused(few[line - 1] as Fate));
        expect(refused(lines)).toEqual(refused(once));
      }),
      { numRuns: 1_000 },
    );
  });
});
