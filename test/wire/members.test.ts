import { describe, expect, test } from "vitest";
import { logsTo, makeLayout } from "../../src/wire/layout.ts";
import {
  absenceBefore,
  firstLineNow,
  hasEverLeft,
  isAfterLast,
  isAway,
  memberSinceMs,
  wasMember,
  type Absence,
  type LogPlace,
} from "../../src/wire/roster/members.ts";

const place = (lines: number, seq: number | undefined = lines): LogPlace => ({
  lines,
  seq,
  eventId: `e${lines}`,
});
const LEFT: Absence = { atMs: 1_000, logs: new Map([["c", place(5)]]), back: undefined };
const BACK: Absence = { ...LEFT, back: { atMs: 2_000, logs: new Map([["c", place(8)]]) } };
const NEW: Absence = { atMs: undefined, logs: new Map(), back: { atMs: 3_000, logs: new Map() } };
const of = (...absences: Absence[]) => new Map([["c", absences]]);

test("members are the roster without those that are away", () => {
  const members = (...absences: Absence[]) =>
    makeLayout("outbox", ["a", "b", "c"], of(...absences)).members;
  expect(makeLayout("outbox", ["a", "b", "c"]).members).toEqual(["a", "b", "c"]);
  expect(members(LEFT)).toEqual(["a", "b"]);
  expect(members(BACK)).toEqual(["a", "b", "c"]);
  expect(members(BACK, LEFT)).toEqual(["a", "b"]);
  expect([isAway(of(LEFT), "c"), isAway(of(NEW), "c"), isAway(of(LEFT), "a")]).toEqual([
    true,
    false,
    false,
  ]);
});

test("who left stays in the roster, and its logs are known", () => {
  const layout = makeLayout("pairwise", ["a", "b", "c"], of(LEFT));
  expect(layout.roster).toEqual(["a", "b", "c"]);
  expect(layout.logs.has("c_to_a")).toBe(true);
  const names = (to: string[]) => logsTo(layout, "a", to).map(({ name }) => name);
  expect(names(["*"])).toEqual(["a_to_b"]);
  // Our own revert of what it was asked still goes into its log.
  expect(names(["c"])).toEqual(["a_to_c"]);
});

test("a handle was a member outside of its absences", () => {
  const was = (ms: number, ...absences: Absence[]) => wasMember(of(...absences), "c", ms);
  expect([was(0, LEFT), was(999, LEFT), was(1_000, LEFT), was(9_000, LEFT)]).toEqual([
    true,
    true,
    false,
    false,
  ]);
  expect([was(1_999, BACK), was(2_000, BACK)]).toEqual([false, true]);
  expect([was(0, NEW), was(2_999, NEW), was(3_000, NEW)]).toEqual([false, false, true]);
  expect(wasMember(of(LEFT), "a", 5_000)).toBe(true);
  expect(memberSinceMs(of(BACK), "c")).toBe(2_000);
  expect(memberSinceMs(of(BACK), "a")).toBe(-Infinity);
});

test("a newcomer has not left before", () => {
  expect([hasEverLeft(of(NEW), "c"), hasEverLeft(of(BACK), "c")]).toEqual([false, true]);
});

describe("a line after the last one", () => {
  const is = (line: number, seq: number | undefined, ...absences: Absence[]) =>
    isAfterLast(of(...absences), "c", "c", { line, seq });

  test("goes by the chain where the line is chained, else by its place", () => {
    expect([is(9, 5, LEFT), is(2, 6, LEFT)]).toEqual([false, true]);
    expect([is(5, undefined, LEFT), is(6, undefined, LEFT)]).toEqual([false, true]);
  });

  test("is none after its author's return, and what was between stays refused", () => {
    const seqs = [4, 5, 6, 7, 8, 9];
    expect(seqs.map((seq) => is(seq, seq, BACK))).toEqual([false, false, true, true, false, false]);
    expect(seqs.map((line) => is(line, undefined, BACK))).toEqual([
      false,
      false,
      true,
      true,
      false,
      false,
    ]);
    const again: Absence = { atMs: 4_000, logs: new Map([["c", place(9)]]), back: undefined };
    expect([6, 8, 9, 10].map((seq) => is(seq, seq, BACK, again))).toEqual([
      true,
      false,
      false,
      true,
    ]);
  });

  test("is every line of a log that had none, and none of a newcomer", () => {
    const other = { line: 1, seq: 1 };
    expect(isAfterLast(of(LEFT), "c", "another", other)).toBe(true);
    expect(is(1, 1, NEW)).toBe(false);
    expect(isAfterLast(of(LEFT), "a", "a", other)).toBe(false);
    // Of a newcomer nothing is refused, also where its first lines are known.
    const known: Absence = { ...NEW, back: { atMs: 3_000, logs: new Map([["c", place(3)]]) } };
    expect(is(2, 2, known)).toBe(false);
  });

  test("is none of a log of which the return says nothing", () => {
    const elsewhere: Absence = { ...LEFT, back: { atMs: 2_000, logs: new Map() } };
    expect([5, 6].map((seq) => is(seq, seq, elsewhere))).toEqual([false, false]);
  });
});

test("the first line after a return is known by its place in the chain", () => {
  const away = of(LEFT, BACK);
  expect([7, 8, 9].map((seq) => absenceBefore(away, "c", "c", seq))).toEqual([
    undefined,
    BACK,
    undefined,
  ]);
  expect(absenceBefore(away, "c", "another", 8)).toBeUndefined();
  expect(absenceBefore(away, "a", "c", 8)).toBeUndefined();
});

test("a membership begins with the first line after the last return, or with line 1", () => {
  expect(firstLineNow(of(BACK), "c", "c")).toBe(8);
  expect(firstLineNow(of(BACK), "c", "another")).toBe(1);
  expect(firstLineNow(of(BACK, LEFT), "c", "c")).toBe(1);
  expect(firstLineNow(of(BACK), "a", "c")).toBe(1);
});
