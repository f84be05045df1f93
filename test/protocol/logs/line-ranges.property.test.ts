import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  beatNaming,
  nameRanges,
  type LineRange,
  type NamedRange,
} from "../../../src/protocol/logs/line-ranges.ts";

const LINES = 40;

const arbitraryRange: fc.Arbitrary<LineRange> = fc
  .tuple(fc.integer({ min: 1, max: LINES }), fc.integer({ min: 1, max: LINES }))
  .map(([a, b]) => ({ first: Math.min(a, b), last: Math.max(a, b) }));
const arbitraryBeats = fc.array(fc.array(arbitraryRange, { maxLength: 6 }), { maxLength: 12 });

/** Line by line: which beat was the first to name it. */
function slowly(beats: readonly (readonly LineRange[])[]): Map<number, number> {
  const named = new Map<number, number>();
  for (const [beat, ranges] of beats.entries()) {
    for (const { first, last } of ranges) {
      for (let line = first; line <= last; line += 1) {
        if (!named.has(line)) named.set(line, beat);
      }
    }
  }
  return named;
}

function folded(beats: readonly (readonly LineRange[])[]): readonly NamedRange[] {
  const named: NamedRange[] = [];
  for (const [beat, ranges] of beats.entries()) nameRanges(named, ranges, beat, Infinity);
  return named;
}

describe("lines that beats have named", () => {
  test("are those of a set of lines, each with the first beat that named it", () => {
    fc.assert(
      fc.property(arbitraryBeats, (beats) => {
        const named = folded(beats);
        const slow = slowly(beats);
        for (let line = 0; line <= LINES + 1; line += 1) {
          expect(beatNaming(named, line)).toBe(slow.get(line));
        }
      }),
      { numRuns: 2_000 },
    );
  });

  test("rise, do not overlap, and neighbours of one beat are one", () => {
    fc.assert(
      fc.property(arbitraryBeats, (beats) => {
        const named = folded(beats);
        for (const [at, range] of named.entries()) {
          expect(range.first).toBeLessThanOrEqual(range.last);
          const before = named[at - 1];
          if (before === undefined) continue;
          expect(before.last).toBeLessThan(range.first);
          expect(before.last + 1 === range.first && before.beat === range.beat).toBe(false);
        }
        // Each range that a beat names has two ends, and so adds two ranges at most.
        expect(named.length).toBeLessThanOrEqual(2 * beats.flat().length);
      }),
      { numRuns: 2_000 },
    );
  });

  test("nothing is added where more ranges than may be would come of it", () => {
    fc.assert(
      fc.property(arbitraryBeats, fc.integer({ min: 0, max: 12 }), (beats, max) => {
        const named: NamedRange[] = [];
        for (const [beat, ranges] of beats.entries()) {
          const all = [...named];
          nameRanges(all, ranges, beat, Infinity);
          const expected = all.length > max ? [...named] : all;
          nameRanges(named, ranges, beat, max);
          expect(named).toEqual(expected);
        }
      }),
    );
  });
});
