import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { advance, judgeLine, missingBefore } from "../../src/wire/chain-rules.ts";
import {
  emptyChain,
  isChained,
  isOfAnotherWire,
  type ChainLine,
  type ChainState,
  type ChainVerdict,
} from "../../src/wire/chain.ts";
import { MAX_OPEN_GAPS } from "../../src/wire/limits.ts";

/** Line `seq` of the true log; each names the one before it. */
function line(seq: number, changes: Partial<ChainLine> = {}): ChainLine {
  const prev = seq === 1 ? undefined : `id${seq - 1}`;
  return { version: "v3.1", id: `id${seq}`, log: "a_to_b", seq, prev, ...changes };
}

/** Reads lines as an admission does: what was taken in before is known. */
class Reading {
  readonly chain: ChainState = emptyChain();
  readonly known = new Set<string>();

  take(next: ChainLine): ChainVerdict {
    const verdict = judgeLine(this.chain, next, this.known.has(next.id));
    if (verdict.outcome !== "fork") {
      advance(this.chain, next, verdict);
      this.known.add(next.id);
    }
    return verdict;
  }

  all(...lines: ChainLine[]): string[] {
    return lines.map((next) => this.take(next).outcome);
  }
}

describe("Spec 1.6: a log in order", () => {
  it("is first, next, next", () => {
    const reading = new Reading();
    expect(reading.all(line(1), line(2), line(3))).toEqual(["first", "next", "next"]);
    expect(reading.chain).toEqual({ head: { seq: 3, id: "id3" }, gaps: [] });
  });

  it("knows its lines again, wherever they reappear", () => {
    const reading = new Reading();
    reading.all(line(1), line(2), line(3));
    expect(reading.all(line(2), line(3), line(1))).toEqual(["duplicate", "duplicate", "duplicate"]);
    expect(reading.chain.head).toEqual({ seq: 3, id: "id3" });
  });

  it("knows its head again even when the set of known lines was lost", () => {
    const reading = new Reading();
    reading.all(line(1), line(2));
    reading.known.clear();
    expect(reading.take(line(2)).outcome).toBe("duplicate");
  });

  it("that begins above 1 says so, and its archive can follow", () => {
    const reading = new Reading();
    expect(reading.take(line(4))).toEqual({ outcome: "first", startsAt: 4 });
    expect(reading.chain.gaps).toEqual([{ from: 1, to: 3, after: undefined, before: "id3" }]);
    expect(reading.all(line(1), line(2), line(3), line(5))).toEqual([
      "filler",
      "filler",
      "filler",
      "next",
    ]);
    expect(reading.chain).toEqual({ head: { seq: 5, id: "id5" }, gaps: [] });
  });
});

describe("Spec 1.6: forks", () => {
  const forks: readonly [string, ChainLine, string][] = [
    [
      "the next line with another prev",
      line(4, { prev: "other" }),
      "line 4 does not follow line 3",
    ],
    ["the next line without prev", line(4, { prev: undefined }), "line 4 names no line before it"],
    ["an earlier line with an unknown id", line(2, { id: "other" }), "another line 2 is known"],
    ["the head's place with an unknown id", line(3, { id: "other" }), "another line 3 is known"],
    ["another first line", line(1, { id: "other" }), "another line 1 is known"],
    ["a first line with a prev", line(1, { id: "o", prev: "x" }), "line 1 names a line before it"],
    ["a later line without prev", line(9, { prev: undefined }), "line 9 names no line before it"],
  ];
  for (const [what, forked, detail] of forks) {
    it(what, () => {
      const reading = new Reading();
      reading.all(line(1), line(2), line(3));
      expect(reading.take(forked)).toEqual({ outcome: "fork", detail });
      expect(reading.chain).toEqual({ head: { seq: 3, id: "id3" }, gaps: [] });
      expect(reading.take(line(4)).outcome).toBe("next");
    });
  }

  it("also as the first line of all", () => {
    expect(new Reading().take(line(1, { prev: "x" })).outcome).toBe("fork");
    expect(new Reading().take(line(2, { prev: undefined })).outcome).toBe("fork");
  });
});

describe("Spec 1.6: gaps", () => {
  function gapped(): Reading {
    const reading = new Reading();
    expect(reading.all(line(1), line(2))).toEqual(["first", "next"]);
    expect(reading.take(line(6))).toEqual({ outcome: "gap", from: 3, to: 5 });
    return reading;
  }

  it("move the head and are remembered with their neighbours", () => {
    const { chain } = gapped();
    expect(chain.head).toEqual({ seq: 6, id: "id6" });
    expect(chain.gaps).toEqual([{ from: 3, to: 5, after: "id2", before: "id5" }]);
  });

  for (const order of [
    [3, 4, 5],
    [5, 4, 3],
    [4, 3, 5],
    [4, 5, 3],
    [3, 5, 4],
    [5, 3, 4],
  ]) {
    it(`are filled in the order ${order.join(", ")}`, () => {
      const reading = gapped();
      expect(reading.all(...order.map((seq) => line(seq)))).toEqual(["filler", "filler", "filler"]);
      expect(reading.chain).toEqual({ head: { seq: 6, id: "id6" }, gaps: [] });
      expect(reading.all(line(7))).toEqual(["next"]);
    });
  }

  it("take no filler that does not link to the line before", () => {
    const reading = gapped();
    expect(reading.take(line(3, { prev: "other" }))).toEqual({
      outcome: "fork",
      detail: "line 3 does not follow line 2",
    });
  });

  it("take no filler that the line after does not name", () => {
    const reading = gapped();
    expect(reading.take(line(5, { id: "other" }))).toEqual({
      outcome: "fork",
      detail: "line 6 does not follow line 5",
    });
  });

  it("take no filler that contradicts another filler", () => {
    const reading = gapped();
    expect(reading.take(line(4)).outcome).toBe("filler");
    expect(reading.take(line(3, { id: "other" })).outcome).toBe("fork");
    expect(reading.take(line(5, { prev: "other" })).outcome).toBe("fork");
    expect(reading.take(line(4, { id: "other" })).outcome).toBe("fork");
    expect(reading.all(line(3), line(5))).toEqual(["filler", "filler"]);
  });

  it("stand side by side", () => {
    const reading = new Reading();
    expect(reading.all(line(1), line(3), line(6), line(5), line(2), line(4))).toEqual([
      "first",
      "gap",
      "gap",
      "filler",
      "filler",
      "filler",
    ]);
    expect(reading.chain.gaps).toEqual([]);
  });

  it("are bounded: the author is held before there are too many", () => {
    const reading = new Reading();
    reading.take(line(1));
    for (let i = 1; i <= MAX_OPEN_GAPS; i++) {
      expect(reading.take(line(1 + 4 * i)).outcome).toBe("gap");
    }
    // Neither one more at the end nor two where there was one; at its edges a gap only shrinks.
    const tooMany = { outcome: "fork", detail: "more than 1024 gaps are open" };
    expect(reading.take(line(5 + 4 * MAX_OPEN_GAPS))).toEqual(tooMany);
    expect(reading.take(line(3))).toEqual(tooMany);
    expect(reading.chain.gaps).toHaveLength(MAX_OPEN_GAPS);
    expect(reading.all(line(8), line(6), line(7))).toEqual(["filler", "filler", "filler"]);
    expect(reading.all(line(2), line(3), line(4))).toEqual(["filler", "filler", "filler"]);
    expect(reading.take(line(5 + 4 * MAX_OPEN_GAPS)).outcome).toBe("gap");
  });
});

describe("Spec 1.6: unchained lines", () => {
  const loose: readonly ChainLine[] = [
    line(2, { seq: undefined, prev: undefined }),
    line(2, { log: undefined }),
    line(2, { version: "v2.0" }),
  ];

  it("are those without seq or log, and those that are not signed", () => {
    expect([line(1), line(1, { version: "v3.0" })].map(isChained)).toEqual([true, true]);
    expect(loose.map(isChained)).toEqual([false, false, false]);
  });

  it("stand outside the chain, before and after it begins", () => {
    const reading = new Reading();
    expect(judgeLine(reading.chain, loose[0]!, false)).toEqual({
      outcome: "unchained",
      afterChained: false,
    });
    reading.take(line(1));
    for (const each of loose) {
      const verdict = judgeLine(reading.chain, each, false);
      expect(verdict).toEqual({ outcome: "unchained", afterChained: true });
      advance(reading.chain, each, verdict);
    }
    expect(reading.take(line(2)).outcome).toBe("next");
  });

  it("stay outside even when they say what the head says", () => {
    const reading = new Reading();
    reading.all(line(1), line(2));
    const copy = line(2, { version: "v2.0" });
    expect(judgeLine(reading.chain, copy, false)).toEqual({
      outcome: "unchained",
      afterChained: true,
    });
  });

  it("are known again too", () => {
    expect(judgeLine(emptyChain(), loose[0]!, true).outcome).toBe("duplicate");
  });
});

describe("properties of chains", () => {
  const shuffled = fc.integer({ min: 1, max: 12 }).chain((length) =>
    fc.shuffledSubarray(
      Array.from({ length }, (_, i) => i + 1),
      { minLength: length, maxLength: length },
    ),
  );

  it("every order of the true lines ends in the same chain, without a fork", () => {
    fc.assert(
      fc.property(shuffled, (order) => {
        const reading = new Reading();
        const outcomes = reading.all(...order.map((seq) => line(seq)));
        expect(outcomes).not.toContain("fork");
        expect(outcomes).not.toContain("duplicate");
        const head = { seq: order.length, id: `id${order.length}` };
        expect(reading.chain).toEqual({ head, gaps: [] });
      }),
    );
  });

  it("a false line never becomes part of it unseen", () => {
    fc.assert(
      fc.property(shuffled, fc.nat(), fc.nat(), (order, place, which) => {
        const seq = order[which % order.length]!;
        const lines = order.map((each) => line(each));
        // Another line at a place that the true log has too.
        lines.splice(place % (order.length + 1), 0, line(seq, { id: "false" }));
        expect(new Reading().all(...lines)).toContain("fork");
      }),
    );
  });

  it("is plain data: a copy through JSON judges alike", () => {
    const reading = new Reading();
    reading.all(line(1), line(5));
    const copy = JSON.parse(JSON.stringify(reading.chain)) as ChainState;
    for (const next of [line(6), line(2), line(4, { id: "x" }), line(9)]) {
      expect(judgeLine(copy, next, false)).toEqual(judgeLine(reading.chain, next, false));
    }
  });
});

test("what is missing right before a line", () => {
  expect(missingBefore({ outcome: "gap", from: 3, to: 5 })).toMatchObject({ from: 3, to: 5 });
  expect(missingBefore({ outcome: "first", startsAt: 4 })).toEqual({ from: 1, to: 3 });
  for (const verdict of [
    { outcome: "first", startsAt: 1 },
    { outcome: "next" },
    { outcome: "duplicate" },
    { outcome: "unchained", afterChained: false },
  ] as const) {
    expect(missingBefore(verdict)).toBeUndefined();
  }
});

test("a line is of another wire when it names another one, or chains without naming any", () => {
  const chained = { version: "v3.1", id: "0", log: "a_to_b", seq: 1, prev: undefined } as const;
  const plain = { ...chained, seq: undefined };
  expect(isOfAnotherWire({ ...chained, wire: "one" }, "one")).toBe(false);
  expect(isOfAnotherWire({ ...chained, wire: "two" }, "one")).toBe(true);
  expect(isOfAnotherWire({ ...plain, wire: "two" }, "one")).toBe(true);
  expect(isOfAnotherWire(chained, "one")).toBe(true);
  expect(isOfAnotherWire(plain, "one")).toBe(false);
  expect(isOfAnotherWire({ ...chained, wire: "two" }, undefined)).toBe(false);
});
