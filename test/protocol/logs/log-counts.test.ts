import { describe, expect, test } from "vitest";
import type { CoreEvent } from "../../../src/protocol/events.ts";
import { beatsFrom, coverageAt } from "../../../src/protocol/logs/covering-beats.ts";
import { noMarks } from "../../../src/protocol/logs/chain-marks.ts";
import { applyLogs, headsOf } from "../../../src/protocol/logs/logs.ts";
import { emptyLogs, type LogState } from "../../../src/protocol/logs/logs-state.ts";
import { fromPlain } from "../../../src/wire/json/json.ts";
import { makeLayout, type Layout } from "../../../src/wire/layout.ts";
import { lineEvent, NOON, scriptEnv, WireScript } from "../../support/scripts/wire-script.ts";

const LAYOUT = makeLayout("pairwise", ["a", "b"]);
const LOG = "b_to_a";

function reading(layout: Layout = LAYOUT, log = LOG) {
  const state = emptyLogs();
  const env = scriptEnv(layout, "a");
  const fold = (...events: CoreEvent[]): string[] =>
    events.flatMap((event) => [...applyLogs(state, event, env)]);
  const at = NOON;
  const blank = (line: number) => fold({ kind: "skipped", log, line, at });
  const refuse = (line: number, run: { first?: number; count?: number } = {}) =>
    fold({ kind: "refused", log, line, at, reason: "malformed", ...run });
  const rewind = (line: number) => fold({ kind: "rewound", log, line, at });
  const counts = () => [state.get(log)?.lines, state.get(log)?.foreign];
  return { state, fold, blank, refuse, rewind, counts };
}

describe("lines of a log", () => {
  test("are counted once, those that are not its author's apart", () => {
    const { blank, refuse, counts } = reading();
    blank(1);
    refuse(2);
    expect(counts()).toEqual([2, 1]);
    refuse(2);
    blank(1);
    expect(counts()).toEqual([2, 1]);
    blank(4);
    refuse(3);
    expect(counts()).toEqual([4, 1]);
  });

  test("that are refused as one run are as many as the run, blank ones left out", () => {
    const { refuse, counts } = reading();
    refuse(3, { first: 1, count: 3 });
    expect(counts()).toEqual([3, 3]);
    refuse(9, { first: 5, count: 2 });
    expect(counts()).toEqual([9, 5]);
    refuse(10, { first: 6, count: 4 });
    expect(counts()).toEqual([10, 6]);
    refuse(14);
    expect(counts()).toEqual([14, 7]);
  });

  test("that are read again from a line on are counted no longer", () => {
    const { refuse, rewind, counts } = reading();
    for (const line of [1, 2, 3, 4]) refuse(line);
    rewind(4);
    expect(counts()).toEqual([4, 4]);
    rewind(3);
    expect(counts()).toEqual([3, 3]);
    rewind(1);
    expect(counts()).toEqual([1, 1]);
    refuse(2);
    expect(counts()).toEqual([2, 2]);
  });

  test("that are read again may have been blank", () => {
    const { blank, refuse, rewind, counts } = reading();
    refuse(1);
    for (const line of [2, 3, 4]) blank(line);
    rewind(1);
    expect(counts()).toEqual([1, 0]);
  });

  test("are held with what their author has said, beats apart", () => {
    const script = new WireScript("pairwise", ["a", "b"]);
    const { state, fold } = reading();
    fold(lineEvent(script.say(LOG, NOON, { type: "feedback" }), "a"));
    fold(lineEvent(script.beat(LOG, NOON), "a"));
    const said = state.get(LOG);
    expect([said?.said, said?.firstBeat, said?.beats.map(({ line }) => line)]).toEqual([1, 2, [2]]);
    expect(said?.marks.lines).toEqual([1, 2]);
  });

  test("have their chain in mind up to the next 1,024th", () => {
    const script = new WireScript("pairwise", ["a", "b"]);
    const { state, fold } = reading();
    const say = () => fold(lineEvent(script.say(LOG, NOON, { type: "feedback" }), "a"));
    say();
    say();
    fold(lineEvent(script.beat("a_to_b", NOON, { [LOG]: { lines: 2 } }), "a"));
    say();
    expect(state.get(LOG)?.marks.lines).toEqual([1, 2, 3]);
  });

  test("whose seq is no higher than that of the newest chained one are no part of the chain", () => {
    const script = new WireScript("pairwise", ["a", "b"]);
    const { state, fold } = reading();
    const lines = [1, 2, 3, 4].map(() => script.say(LOG, NOON, { type: "feedback" }));
    const [first, second, third, fourth] = lines.map((line) => lineEvent(line, "a"));
    if (!first || !second || !third || !fourth) throw new Error("four lines");
    fold(first, second, { ...fourth, line: 3 }, { ...third, line: 4 });
    expect(state.get(LOG)?.marks.seqs).toEqual([1, 2, 4]);
  });
});

describe("a log that is new to us", () => {
  const EMPTY: LogState = {
    lines: 1,
    foreign: 0,
    marks: noMarks(),
    beats: [],
    firstBeat: undefined,
    headsFrom: undefined,
    covers: new Map(),
    mismatches: [],
  };

  test("is empty, and a closed one knows the outbox that goes on with it", () => {
    const pairs = reading();
    pairs.blank(1);
    expect(pairs.state.get(LOG)).toStrictEqual(EMPTY);
    const moved = reading(new WireScript("moving", ["a", "b"]).layout);
    moved.blank(1);
    expect(moved.state.get(LOG)).toStrictEqual({ ...EMPTY, into: "b" });
    const outbox = reading(new WireScript("moving", ["a", "b"]).layout, "b");
    outbox.blank(1);
    expect(outbox.state.get("b")).toStrictEqual(EMPTY);
  });

  test("is counted also where the layout does not have it", () => {
    const stranger = reading(LAYOUT, "c_to_a");
    stranger.blank(1);
    expect(stranger.state.get("c_to_a")).toStrictEqual(EMPTY);
    const line = new WireScript("pairwise", ["a", "b"]).say(LOG, NOON, { type: "correction" });
    stranger.fold({ ...lineEvent(line, "a"), log: "c_to_a", line: 2 });
    expect(stranger.state.get("c_to_a")?.lines).toBe(2);
  });

  test("that is open has no closing line", () => {
    const script = new WireScript("pairwise", ["a", "b"]);
    const { state, fold } = reading();
    fold(lineEvent(script.say(LOG, NOON, { type: "feedback" }), "a"));
    expect(Object.keys(state.get(LOG) ?? {})).not.toContain("closing");
  });
});

test("the first closing line of its author closes a log", () => {
  const script = new WireScript("moving", ["a", "b"]);
  const { state, fold } = reading(script.layout);
  const [first] = script.move("b", NOON);
  const body = { closes: LOG, into: "b" };
  const again = script.say(LOG, NOON, { type: "correction", body });
  if (first === undefined) throw new Error("one line");
  fold(lineEvent(first, "a"));
  expect(state.get(LOG)?.closing).toEqual({ line: 1, seq: 1, id: first.message.id });
  fold(lineEvent(again, "a"));
  expect(state.get(LOG)?.closing?.line).toBe(1);
});

test("a beat of an outbox is one of the closed log before it, too", () => {
  const script = new WireScript("moving", ["a", "b"]);
  const { state, fold } = reading(script.layout);
  for (const line of script.move("b", NOON)) fold(lineEvent(line, "a"));
  expect(fold(lineEvent(script.beat("b", NOON), "a"))).toEqual(["b", LOG]);
  expect([beatsFrom(state, "b", 0), beatsFrom(state, LOG, 0)].map(({ length }) => length)).toEqual([
    1, 1,
  ]);
});

test("an author's beat is no receipt for its own lines", () => {
  const script = new WireScript("outbox", ["a", "b"]);
  const { state, fold } = reading(script.layout);
  fold(lineEvent(script.say("b", NOON, { type: "feedback" }), "a"));
  fold(lineEvent(script.say("a", NOON, { type: "feedback" }), "a"));
  fold(lineEvent(script.beat("b", NOON, { a: { lines: 1 }, b: { lines: 1 } }), "a"));
  expect([coverageAt(state, "b", 2, "a"), coverageAt(state, "b", 2, "b")]).toEqual([1, 0]);
  expect([...(state.get("b")?.beats[0]?.heads.keys() ?? [])]).toEqual(["a"]);
});

test("the last of the beats that were forgotten while something asked is known", () => {
  const script = new WireScript("pairwise", ["a", "b"]);
  const { state, fold } = reading();
  const event = lineEvent(script.beat(LOG, NOON), "a");
  fold(event);
  const log = state.get(LOG);
  const [beat] = log?.beats ?? [];
  if (log === undefined || beat === undefined) throw new Error("one beat");
  log.beats = Array.from({ length: 16_383 }, (_, at) => ({ ...beat, line: at + 1 }));
  fold({ ...event, line: 16_384 });
  expect(log).not.toHaveProperty("lostBeats");
  fold({ ...event, line: 16_385 });
  expect(log.lostBeats).toBe(256);
});

describe("an agent that was none for a time and is back", () => {
  const back = { atMs: NOON, logs: new Map([[LOG, { lines: 3, seq: 3, eventId: "x" }]]) };
  const away = { atMs: NOON - 1, logs: new Map<string, never>() };
  const returned = new Map([["b", [{ ...away, back }]]]);

  test.each([
    ["in its place", returned, 3],
    ["of no agent that ever left", new Map(), undefined],
    ["of another agent that left", new Map([["a", [{ ...away, back }]]]), undefined],
  ])("has a first beat since then: %s", (_where, left, expected) => {
    const script = new WireScript("pairwise", ["a", "b"]);
    const { state, fold } = reading(makeLayout("pairwise", ["a", "b"], left));
    for (const n of [1, 2]) fold(lineEvent(script.beat(LOG, NOON + n), "a"));
    expect(state.get(LOG)).not.toHaveProperty("backBeat");
    for (const n of [3, 4]) fold(lineEvent(script.beat(LOG, NOON + n), "a"));
    expect(state.get(LOG)).toMatchObject({ firstBeat: 1 });
    expect(state.get(LOG)?.backBeat).toBe(expected);
  });
});

describe("heads over a log whose lines were not always counted like that", () => {
  /** Lines 1, 2 and 5 of the log are of its author. */
  function held() {
    const script = new WireScript("pairwise", ["a", "b"]);
    const read = reading();
    const lines = [1, 2, 3].map(() => script.say(LOG, NOON, { type: "feedback" }));
    const ids = lines.map(({ message }) => message.id);
    lines.forEach((line, at) => read.fold({ ...lineEvent(line, "a"), line: [1, 2, 5][at] ?? 0 }));
    const counted = (count: number, id?: string): number | undefined => {
      const named = id === undefined ? {} : { event_id: id, seq: 1 };
      const body = fromPlain({ heads: { [LOG]: { lines: count, ...named } } });
      return headsOf(body, read.state, LAYOUT).get(LOG)?.lines;
    };
    return { ...read, ids, counted };
  }
  const reset = (lines?: number): CoreEvent => ({
    kind: "reset",
    at: NOON,
    peer: "b",
    logs: [{ log: LOG, ...(lines === undefined ? {} : { lines }) }],
  });

  test("are as they are said where nothing was lost or rewritten", () => {
    const { counted, ids, fold, state } = held();
    expect([counted(2, ids[1]), counted(5, ids[2]), counted(1, ids[2])]).toEqual([2, 5, 1]);
    fold(reset());
    expect(state.get(LOG)).toStrictEqual(held().state.get(LOG));
  });

  test("are counted behind the lines that a rewritten log had, unless they name one of those", () => {
    const { counted, ids, fold, state } = held();
    fold(reset(5));
    expect(state.get(LOG)).toMatchObject({ lines: 5, earlier: 5 });
    expect([counted(2), counted(2, "f".repeat(64))]).toEqual([7, 7]);
    expect([counted(5, ids[2]), counted(2, ids[1]), counted(4, ids[2])]).toEqual([5, 2, 4]);
  });

  test("are counted behind the larger of what we held and what was rewritten", () => {
    const { fold, state } = held();
    fold(reset(3));
    expect(state.get(LOG)).toMatchObject({ lines: 5, earlier: 5 });
    fold(reset(7));
    expect(state.get(LOG)).toMatchObject({ lines: 7, earlier: 7 });
  });

  test("of which lines have vanished count as before when they count as far as the line they name", () => {
    const { counted, ids, fold, state } = held();
    expect(fold({ kind: "recounted", log: LOG, line: 5, earlier: 2, at: NOON })).toEqual([]);
    expect(state.get(LOG)).toMatchObject({ lines: 5, earlier: 2, recounted: 5 });
    expect([counted(5, ids[2]), counted(6, ids[2])]).toEqual([5, 6]);
    expect([counted(3, ids[2]), counted(4, ids[2])]).toEqual([5, 6]);
    expect([counted(2, ids[1]), counted(1, ids[1])]).toEqual([2, 3]);
    expect([counted(4), counted(4, "f".repeat(64))]).toEqual([6, 6]);
  });

  test("name lines after those that have vanished in the new count", () => {
    const { counted, ids, fold } = held();
    fold({ kind: "recounted", log: LOG, line: 4, earlier: 2, at: NOON });
    expect(counted(5, ids[2])).toBe(7);
    fold(reset(5));
    expect(counted(5, ids[2])).toBe(5);
  });

  test("are known of a log of which nothing else is", () => {
    const { state, fold } = reading();
    fold({ kind: "recounted", log: LOG, line: 0, earlier: 2, at: NOON });
    expect(state.get(LOG)).toMatchObject({ lines: 0, earlier: 2, recounted: 0 });
  });
});
