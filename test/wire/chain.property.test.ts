import fc from "fast-check";
import { expect, test } from "vitest";
import { advance, judgeLine } from "../../src/wire/chain-rules.ts";
import {
  emptyChain,
  type ChainGap,
  type ChainLine,
  type ChainState,
  type ChainVerdict,
} from "../../src/wire/chain.ts";

const LENGTH = 9;

/** Two histories that part at some line, so that either contradicts the other from there on. */
function historyLine(branch: "a" | "b", seq: number, parting: number): ChainLine {
  const idOf = (at: number): string => (at < parting ? `id${at}` : `${branch}${at}`);
  const prev = seq === 1 ? undefined : idOf(seq - 1);
  return { version: "v3.1", id: idOf(seq), log: "a_to_b", seq, prev };
}

const anyLine = (parting: number): fc.Arbitrary<ChainLine> =>
  fc
    .record({
      branch: fc.constantFrom("a" as const, "a" as const, "a" as const, "b" as const),
      seq: fc.integer({ min: 1, max: LENGTH }),
      change: fc.constantFrom<Partial<ChainLine>>(
        ...Array.from({ length: 12 }, () => ({})),
        { id: "elsewhere" },
        { prev: "elsewhere" },
        { prev: undefined },
        { seq: undefined, prev: undefined, id: "loose" },
        { version: "v3.0" },
        { version: "v2.0", id: "unsigned" },
        { log: undefined, id: "stray" },
      ),
    })
    .map(({ branch, seq, change }) => ({ ...historyLine(branch, seq, parting), ...change }));

const anySequence = fc
  .integer({ min: 1, max: LENGTH + 1 })
  .chain((parting) => fc.array(anyLine(parting), { minLength: 1, maxLength: 24 }));

/** Spec 1.6 over the set of lines that were taken in: no head, no gaps, only neighbours. */
class SlowChain {
  private readonly taken: ChainLine[] = [];

  private get chained(): (ChainLine & { seq: number })[] {
    return this.taken.flatMap((line) =>
      line.version !== "v2.0" && line.seq !== undefined && line.log !== undefined
        ? [{ ...line, seq: line.seq }]
        : [],
    );
  }

  private at(seq: number): ChainLine | undefined {
    return this.chained.find((line) => line.seq === seq);
  }

  get highest(): number {
    return Math.max(0, ...this.chained.map(({ seq }) => seq));
  }

  knows(id: string): boolean {
    return this.taken.some((line) => line.id === id);
  }

  take(line: ChainLine): string {
    const outcome = this.judge(line);
    if (outcome !== "fork" && outcome !== "duplicate") this.taken.push(line);
    return outcome;
  }

  private judge(line: ChainLine): string {
    const { version, id, log, seq, prev } = line;
    if (this.knows(id)) return "duplicate";
    if (version === "v2.0" || seq === undefined || log === undefined) {
      return this.chained.length > 0 ? "unchained after" : "unchained";
    }
    const after = this.at(seq + 1);
    const before = this.at(seq - 1);
    const contradicts =
      (seq === 1) !== (prev === undefined) ||
      this.at(seq) !== undefined ||
      (before !== undefined && before.id !== prev) ||
      (after !== undefined && after.prev !== id);
    if (contradicts) return "fork";
    if (this.chained.length === 0) return `first ${seq}`;
    if (seq === this.highest + 1) return "next";
    return seq > this.highest ? `gap ${this.highest + 1} to ${seq - 1}` : "filler";
  }

  /** Every run of lines that are missing below the highest, and what its neighbours say. */
  get gaps(): ChainGap[] {
    const gaps: ChainGap[] = [];
    for (let seq = 1; seq <= this.highest; seq++) {
      if (this.at(seq) !== undefined) continue;
      const from = seq;
      while (this.at(seq + 1) === undefined) seq++;
      const before = this.at(seq + 1)?.prev ?? "";
      gaps.push({ from, to: seq, after: this.at(from - 1)?.id, before });
    }
    return gaps;
  }

  get head(): ChainState["head"] {
    const last = this.at(this.highest);
    return last === undefined ? undefined : { seq: this.highest, id: last.id };
  }
}

function wordsOf(verdict: ChainVerdict): string {
  switch (verdict.outcome) {
    case "first":
      return `first ${verdict.startsAt}`;
    case "gap":
      return `gap ${verdict.from} to ${verdict.to}`;
    case "unchained":
      return verdict.afterChained ? "unchained after" : "unchained";
    default:
      return verdict.outcome;
  }
}

test("any sequence of lines is judged as the set of lines before it says", () => {
  const seen = new Map<string, number>();
  fc.assert(
    fc.property(anySequence, (lines) => {
      const chain = emptyChain();
      const slow = new SlowChain();
      for (const line of lines) {
        const verdict = judgeLine(chain, line, slow.knows(line.id));
        const expected = slow.take(line);
        expect(wordsOf(verdict)).toBe(expected);
        advance(chain, line, verdict);
        expect(chain).toEqual({ head: slow.head, gaps: slow.gaps });
        seen.set(verdict.outcome, (seen.get(verdict.outcome) ?? 0) + 1);
      }
    }),
    { numRuns: 3_000 },
  );
  const outcomes = ["first", "next", "gap", "filler", "fork", "duplicate", "unchained"];
  expect(outcomes.filter((outcome) => (seen.get(outcome) ?? 0) < 100)).toEqual([]);
});

test("a judgement changes nothing", () => {
  fc.assert(
    fc.property(anySequence, fc.nat(), (lines, which) => {
      const chain = emptyChain();
      const known = new Set<string>();
      for (const line of lines) {
        const verdict = judgeLine(chain, line, known.has(line.id));
        if (verdict.outcome === "fork") continue;
        advance(chain, line, verdict);
        known.add(line.id);
      }
      const copy = structuredClone(chain);
      const probe = lines[which % lines.length] as ChainLine;
      const twice = [1, 2].map(() => judgeLine(chain, probe, false));
      expect(twice[1]).toEqual(twice[0]);
      expect(chain).toEqual(copy);
    }),
    { numRuns: 1_000 },
  );
});
