import { describe, expect, test } from "vitest";
import {
  claim,
  nameRefused,
  openCoverage,
  pruneBeats,
  pruneMarks,
  coveringLogs,
  judgeWaiting,
  wantsPruning,
} from "../../../src/protocol/logs/coverage.ts";
import {
  addMark,
  noMarks,
  type ChainMark,
  type ChainMarks,
} from "../../../src/protocol/logs/chain-marks.ts";
import type { Head } from "../../../src/protocol/logs/heads.ts";
import { coverageAt } from "../../../src/protocol/logs/covering-beats.ts";
import type {
  BeatMark,
  Coverage,
  LogState,
  LogsState,
} from "../../../src/protocol/logs/logs-state.ts";
import { eventId } from "../../support/scripts/event-id.ts";
import { makeLayout } from "../../../src/wire/layout.ts";
import { NOON } from "../../support/scripts/wire-script.ts";

const OURS = "a_to_b";
const THEIRS = "b_to_a";

function logOf(change: Partial<LogState> = {}): LogState {
  return {
    lines: 0,
    foreign: 0,
    marks: noMarks(),
    beats: [],
    firstBeat: undefined,
    headsFrom: undefined,
    covers: new Map(),
    mismatches: [],
    ...change,
  };
}

function coverageOf(change: Partial<Coverage> = {}): Coverage {
  return { steps: [], reads: [], fromStart: 0, waiting: [], next: 0, refused: [], ...change };
}

const headOf = (lines: number, change: Partial<Head> = {}): Head => ({
  lines,
  readLines: 0,
  refused: [],
  ...change,
});

const mark = (line: number, seq = line): ChainMark => ({ line, seq, id: eventId(`event ${seq}`) });
const marksOf = (marks: readonly ChainMark[]): ChainMarks => {
  const columns = noMarks();
  for (const each of marks) addMark(columns, each);
  return columns;
};

function beatAt(line: number): BeatMark {
  return {
    line,
    id: `beat ${line}`,
    timestamp: "",
    timestampMs: NOON,
    at: NOON,
    live: true,
    cadenceMs: undefined,
    heads: new Map(),
    state: "idle",
    refusedByUs: false,
  };
}

const beats = (count: number) => Array.from({ length: count }, (_, at) => beatAt(at + 1));

test("coverage of a log is opened once", () => {
  const log = logOf();
  const coverage = openCoverage(log, THEIRS);
  expect(coverage).toEqual(coverageOf());
  expect(openCoverage(log, THEIRS)).toBe(coverage);
});

describe("refusals", () => {
  const named = (coverage: Coverage, line: number, beat: number) =>
    nameRefused(coverage, [{ first: line, last: line }], beat);

  test("count from the beat that named them first", () => {
    const coverage = coverageOf();
    named(coverage, 3, 7);
    named(coverage, 3, 8);
    expect(coverage.refused).toEqual([{ first: 3, last: 3, beat: 7 }]);
  });

  test("a range of 2^53 lines costs as much as one line", () => {
    const coverage = coverageOf();
    named(coverage, 3, 7);
    nameRefused(coverage, [{ first: 1, last: Number.MAX_SAFE_INTEGER }], 8);
    expect(coverage.refused).toEqual([
      { first: 1, last: 2, beat: 8 },
      { first: 3, last: 3, beat: 7 },
      { first: 4, last: Number.MAX_SAFE_INTEGER, beat: 8 },
    ]);
  });

  test("beyond 16,384 ranges no more is named; what was named stays, whenever somebody asks", () => {
    const coverage = coverageOf();
    for (let at = 1; at <= 16_384; at += 1) named(coverage, 2 * at, at);
    expect(coverage.refused).toHaveLength(16_384);
    named(coverage, 40_000, 20_000);
    expect(coverage.refused).toHaveLength(16_384);
    expect(coverage.refused.at(-1)).toEqual({ first: 32_768, last: 32_768, beat: 16_384 });
    // What makes no range more is named still.
    named(coverage, 32_769, 16_384);
    expect(coverage.refused.at(-1)).toEqual({ first: 32_768, last: 32_769, beat: 16_384 });
  });
});

describe("a head", () => {
  const waits = (coverage: Coverage, head: Head) => {
    const before = coverage.waiting.length;
    claim(coverage, 9, head);
    return coverage.waiting.length > before;
  };

  test("waits as what it says, without what only its author needs", () => {
    const coverage = coverageOf();
    claim(coverage, 9, headOf(5));
    claim(
      coverage,
      10,
      headOf(6, {
        seq: 4,
        eventId: "x",
        readLines: 2,
        refused: [{ first: 1, last: 1, reason: "schema" }],
      }),
    );
    expect(coverage.waiting).toStrictEqual([
      { beat: 9, head: { lines: 5, readLines: 0 } },
      { beat: 10, head: { lines: 6, readLines: 2, seq: 4, eventId: "x" } },
    ]);
  });

  test("that falls back, or says what is covered already, is not waited for", () => {
    const steps = [{ beat: 1, lines: 5 }];
    expect(waits(coverageOf({ steps }), headOf(4))).toBe(false);
    expect(waits(coverageOf({ steps }), headOf(5))).toBe(false);
    expect(waits(coverageOf({ steps }), headOf(6))).toBe(true);
    expect(waits(coverageOf(), headOf(0))).toBe(false);
    const reads = [{ beat: 1, lines: 3 }];
    expect(waits(coverageOf({ steps, reads }), headOf(5, { readLines: 3 }))).toBe(false);
    expect(waits(coverageOf({ steps, reads }), headOf(5, { readLines: 4 }))).toBe(true);
  });

  test.each<[string, Head, boolean]>([
    ["the same", headOf(5, { seq: 4, eventId: "x" }), false],
    ["other lines", headOf(6, { seq: 4, eventId: "x" }), true],
    ["another seq", headOf(5, { seq: 5, eventId: "x" }), true],
    ["another event", headOf(5, { seq: 4, eventId: "y" }), true],
    ["fewer lines, after one that still waits", headOf(1), true],
  ])("after one that waits, is waited for unless it says the same: %s", (_name, head, expected) => {
    const waiting = [{ beat: 8, head: { lines: 5, readLines: 0, seq: 4, eventId: "x" } }];
    expect(waits(coverageOf({ waiting }), head)).toBe(expected);
  });

  test("beyond 65,536 that wait makes what comes after it unknowable", () => {
    const coverage = coverageOf({ steps: [{ beat: 0, lines: 1 }], next: 3 });
    const total = 65_536 + 3;
    for (let beat = 1; beat < total; beat += 1) claim(coverage, beat, headOf(beat + 1));
    expect(coverage.overflow).toBeUndefined();
    claim(coverage, total, headOf(total + 1));
    expect([coverage.waiting.length, coverage.overflow]).toEqual([total, undefined]);
    claim(coverage, total + 1, headOf(total + 2));
    expect([coverage.waiting.length, coverage.overflow]).toEqual([total, total + 1]);
    coverage.waiting = [];
    coverage.next = 0;
    claim(coverage, total + 2, headOf(total + 3));
    expect([coverage.waiting.length, coverage.overflow]).toEqual([0, total + 1]);
    const state: LogsState = new Map([[OURS, logOf({ covers: new Map([[THEIRS, coverage]]) })]]);
    const at = (beat: number) => coverageAt(state, OURS, beat, THEIRS);
    expect([at(total), at(total + 1), at(total + 2)]).toEqual([1, undefined, undefined]);
  });
});

describe("settling", () => {
  const settled = (target: Partial<LogState>, heads: readonly Partial<Head>[], change = {}) => {
    const reader = logOf();
    const state: LogsState = new Map([
      [OURS, reader],
      [THEIRS, logOf(target)],
    ]);
    const waiting = heads.map((head, at) => ({ beat: at + 1, head: headOf(1, head) }));
    const coverage = coverageOf({ waiting, ...change });
    const changed = judgeWaiting(state, reader, THEIRS, coverage);
    return { changed, coverage, mismatches: reader.mismatches.map(({ beat }) => beat) };
  };
  const marks = marksOf([mark(3, 10), mark(5, 11), mark(7, 12)]);
  const held = { lines: 8, marks };

  test.each<[string, Partial<Head>, "covers" | "says nothing untrue" | "contradicts"]>([
    ["names the last event", { lines: 5, seq: 11, eventId: eventId("event 11") }, "covers"],
    ["names it between two", { lines: 6, seq: 11, eventId: eventId("event 11") }, "covers"],
    ["names it without its seq", { lines: 5, eventId: eventId("event 11") }, "covers"],
    ["ends before all chained ones", { lines: 2 }, "covers"],
    ["names an event where none is", { lines: 2, eventId: "x" }, "contradicts"],
    ["names a seq where none is", { lines: 2, seq: 1 }, "says nothing untrue"],
    ["names nothing", { lines: 5 }, "says nothing untrue"],
    ["names another seq", { lines: 5, seq: 12, eventId: eventId("event 11") }, "contradicts"],
    [
      "names an older event",
      { lines: 5, seq: 10, eventId: eventId("event 10") },
      "says nothing untrue",
    ],
    [
      "names an older event without its seq",
      { lines: 5, eventId: eventId("event 10") },
      "says nothing untrue",
    ],
    ["names a later event", { lines: 5, seq: 12, eventId: eventId("event 12") }, "contradicts"],
    [
      "names an older one with a wrong seq",
      { lines: 5, seq: 9, eventId: eventId("event 10") },
      "contradicts",
    ],
    ["names what we do not hold", { lines: 5, eventId: "x" }, "contradicts"],
    ["names what we do not hold, by seq", { lines: 5, seq: 10, eventId: "x" }, "contradicts"],
    ["names what was pruned", { lines: 5, seq: 9, eventId: "x" }, "says nothing untrue"],
  ])("a head that %s", (_name, head, expected) => {
    const { coverage, changed, mismatches } = settled(held, [head]);
    expect(changed).toBe(true);
    const steps = [{ beat: 1, lines: head.lines }];
    expect(coverage.steps).toEqual(expected === "covers" ? steps : []);
    expect(mismatches).toEqual(expected === "contradicts" ? [1] : []);
  });

  test("a head over lines that are not held waits, with all after it", () => {
    const { coverage, changed } = settled({ lines: 4 }, [{ lines: 5 }, { lines: 2 }]);
    expect(changed).toBe(false);
    expect(coverage.waiting).toHaveLength(2);
    const none = judgeWaiting(new Map(), logOf(), THEIRS, coverageOf());
    expect(none).toBe(false);
  });

  test("what is covered already is no step and no mismatch", () => {
    const { coverage, mismatches } = settled({ lines: 8 }, [
      { lines: 5 },
      { lines: 5 },
      { lines: 5, eventId: "x" },
      { lines: 3 },
      { lines: 6 },
    ]);
    expect(coverage.steps).toEqual([
      { beat: 1, lines: 5 },
      { beat: 5, lines: 6 },
    ]);
    expect(mismatches).toEqual([]);
    expect([coverage.waiting, coverage.next]).toEqual([[], 0]);
  });

  test.each([
    [1_023, 1_500, 1_023],
    [1_024, 476, 0],
    [1_025, 475, 0],
    [1_500, 0, 0],
  ])("%i of 1,500 settled: %i are kept, from %i on", (lines, kept, next) => {
    const heads = Array.from({ length: 1_500 }, (_, at) => ({ lines: at + 1 }));
    const { coverage } = settled({ lines }, heads);
    expect([coverage.waiting.length, coverage.next]).toEqual([kept, next]);
    expect(coverage.steps).toHaveLength(lines);
  });

  test("only the newest 64 mismatches are kept", () => {
    const heads = Array.from({ length: 66 }, () => ({ lines: 1, eventId: "x" }));
    const { mismatches } = settled({ lines: 1 }, heads);
    expect(mismatches).toHaveLength(64);
    expect([mismatches[0], mismatches.at(-1)]).toEqual([3, 66]);
  });
});

describe("pruning", () => {
  const layout = makeLayout("outbox", ["a", "b", "c"]);
  const readers = (kind: "pairwise" | "outbox", name: string) =>
    coveringLogs(makeLayout(kind, ["a", "b", "c"]), name).map((log) => log.name);

  test("asks the logs whose beats may cover", () => {
    expect(readers("outbox", "a")).toEqual(["b", "c"]);
    expect(readers("pairwise", "a_to_b")).toEqual(["b_to_a"]);
    expect(readers("pairwise", "nowhere")).toEqual([]);
  });

  test("keeps the marks from the last that every reader has covered", () => {
    const covering = (lines: number) =>
      logOf({ covers: new Map([["a", coverageOf({ steps: [{ beat: 1, lines }] })]]) });
    const left = (b: LogState | undefined, c: LogState | undefined) => {
      const log = logOf({ lines: 8, marks: marksOf([mark(2), mark(4), mark(6)]) });
      const state: LogsState = new Map([["a", log]]);
      if (b !== undefined) state.set("b", b);
      if (c !== undefined) state.set("c", c);
      pruneMarks(state, layout, "a");
      return log.marks.lines;
    };
    expect(left(covering(8), covering(5))).toEqual([4, 6]);
    expect(left(covering(4), covering(8))).toEqual([4, 6]);
    expect(left(covering(3), covering(8))).toEqual([2, 4, 6]);
    expect(left(covering(8), covering(8))).toEqual([6]);
    expect(left(covering(8), logOf())).toEqual([2, 4, 6]);
    expect(left(undefined, covering(8))).toEqual([2, 4, 6]);
    const empty: LogsState = new Map();
    pruneMarks(empty, layout, "a");
    expect(empty.size).toBe(0);
  });

  test("keeps no more than 16,384 marks for a reader that never reads", () => {
    const marks = Array.from({ length: 16_386 }, (_, at) => mark(at + 1));
    const log = logOf({ lines: 16_386, marks: marksOf(marks) });
    pruneMarks(new Map([["a", log]]), layout, "a");
    expect([log.marks.lines.length, log.marks.lines[0]]).toEqual([16_384, 3]);
  });

  test.each([
    [0, false],
    [512, false],
    [1_023, false],
    [1_024, false],
    [1_025, false],
    [1_536, true],
    [1_537, false],
    [2_048, true],
  ])("of %i beats is wanted: %s", (count, expected) => {
    expect(wantsPruning(new Map([[OURS, logOf({ beats: beats(count) })]]), OURS)).toBe(expected);
    expect(wantsPruning(new Map(), OURS)).toBe(false);
  });

  const pruned = (count: number, keepFrom: number, coverage?: Coverage) => {
    const covers = new Map(coverage === undefined ? [] : [[THEIRS, coverage]]);
    const log = logOf({ beats: beats(count), covers });
    const lowest = pruneBeats(new Map([[OURS, log]]), OURS, keepFrom);
    return { lowest, first: log.beats[0]?.line, count: log.beats.length };
  };

  test("keeps the newest 512 beats, and those that are asked about", () => {
    expect(pruned(600, Infinity)).toEqual({ lowest: 89, first: 89, count: 512 });
    expect(pruned(600, 90)).toEqual({ lowest: 89, first: 89, count: 512 });
    expect(pruned(600, 40)).toEqual({ lowest: 40, first: 40, count: 561 });
    expect(pruned(513, Infinity)).toEqual({ lowest: 2, first: 2, count: 512 });
    expect(pruned(500, Infinity)).toEqual({ lowest: 0, first: 1, count: 500 });
    expect(pruneBeats(new Map(), OURS, 7)).toBe(0);
  });

  test("keeps the beats whose heads wait, and the step that is there", () => {
    const steps = [10, 20, 30, 40].map((beat) => ({ beat, lines: beat }));
    const waiting = [5, 35].map((beat) => ({ beat, head: { lines: 99, readLines: 0 } }));
    const coverage = coverageOf({ steps: [...steps], waiting, next: 1 });
    expect(pruned(600, Infinity, coverage)).toEqual({ lowest: 35, first: 35, count: 566 });
    expect(coverage.steps.map(({ beat }) => beat)).toEqual([30, 40]);
    const earlier = coverageOf({ steps: [...steps] });
    pruned(600, 9, earlier);
    expect(earlier.steps.map(({ beat }) => beat)).toEqual([10, 20, 30, 40]);
  });
});
