import { describe, expect, test } from "vitest";
import { IdColumn } from "../../../src/protocol/logs/id-column.ts";
import { markAt } from "../../../src/protocol/logs/chain-marks.ts";
import { pruneBeats, wantsPruning } from "../../../src/protocol/logs/coverage.ts";
import { promisedCadence, parseHeads } from "../../../src/protocol/logs/heads.ts";
import {
  beatsFrom,
  coverageAt,
  firstBeatCovering,
  hasHeadsBefore,
  lastBeat,
  namedRefused,
} from "../../../src/protocol/logs/covering-beats.ts";
import { applyLogs, mayBeRestored } from "../../../src/protocol/logs/logs.ts";
import { emptyLogs, type LogsState } from "../../../src/protocol/logs/logs-state.ts";
import type { CoreEvent } from "../../../src/protocol/events.ts";
import { fromPlain, JsonDouble } from "../../../src/wire/json/json.ts";
import { makeLayout } from "../../../src/wire/layout.ts";
import { OutcomeScript } from "../../support/scripts/outcome-script.ts";
import {
  lineEvent,
  NOON,
  scriptEnv,
  WireScript,
  type ScriptLine,
} from "../../support/scripts/wire-script.ts";

const LAYOUT = makeLayout("pairwise", ["a", "b"]);
const ID = "1".repeat(64);

function folded(events: readonly CoreEvent[], layout = LAYOUT): LogsState {
  const state = emptyLogs();
  for (const event of events) applyLogs(state, event, scriptEnv(layout, "a"));
  return state;
}

/** How far a log is held. */
function headOf(state: LogsState, name: string): object {
  const log = state.get(name);
  const mark = log === undefined ? undefined : markAt(log.marks, -1);
  return {
    lines: log?.lines ?? 0,
    ...(mark === undefined ? {} : { seq: mark.seq, eventId: mark.id }),
  };
}

const take = (lines: readonly ScriptLine[]) => lines.map((line) => lineEvent(line, "a"));

describe("heads in a beat", () => {
  const parsed = (head: unknown) =>
    parseHeads(fromPlain({ heads: { b_to_a: head } }), LAYOUT).get("b_to_a");

  test("are read as they are meant", () => {
    const head = { lines: 7, seq: 6, event_id: ID, read_lines: 5, refused: [[3, "tier_refused"]] };
    expect(parsed(head)).toEqual({
      lines: 7,
      seq: 6,
      eventId: ID,
      readLines: 5,
      refused: [{ first: 3, last: 3, reason: "tier_refused" }],
    });
  });

  test("are named only as they are said", () => {
    const read = { readLines: 0, refused: [] };
    expect(parsed({ lines: 3 })).toStrictEqual({ ...read, lines: 3 });
    expect(parsed({ lines: 3, seq: 0 })).toStrictEqual({ ...read, lines: 3, seq: 0 });
    expect(parsed({ lines: 3, event_id: ID })).toStrictEqual({ ...read, lines: 3, eventId: ID });
  });

  test.each([
    ["2026-11-20T12:00:00.001000Z", 1],
    ["2026-11-20T12:00:00.000000Z", undefined],
    ["2026-11-20T11:59:59.000000Z", undefined],
    ["soon", undefined],
    [undefined, undefined],
  ])("the next beat is promised for %s: in %s ms", (eta, expected) => {
    expect(promisedCadence(fromPlain({ next_eta: eta ?? null }), NOON)).toBe(expected);
  });

  test.each([
    ["no object", 7],
    ["no lines", { seq: 1 }],
    ["lines below zero", { lines: -1 }],
    ["lines that are no integer", { lines: 1.5 }],
    ["lines beyond what counts exactly", { lines: 2n ** 60n }],
    ["a seq of text", { lines: 1, seq: "1" }],
    ["an event id that is none", { lines: 1, event_id: "x" }],
    ["an event id in capitals", { lines: 1, event_id: "A".repeat(64) }],
    ["an event id that is too long", { lines: 1, event_id: "1".repeat(65) }],
    ["an event id that is a number", { lines: 1, event_id: 7 }],
  ])("%s: as if not there", (_name, head) => {
    expect(parsed(head)).toBeUndefined();
  });

  test("more was read than taken in: no more than taken in", () => {
    expect(parsed({ lines: 3, read_lines: 9 })?.readLines).toBe(3);
  });

  test.each([
    ["no list", 7],
    ["an empty list", []],
    ["a line alone", [1]],
    ["four items", [1, 2, "schema", "x"]],
    ["a line below 1", [0, "schema"]],
    ["a line of text", ["1", "schema"]],
    ["a line that is no integer", [1.5, "schema"]],
    ["a first that is no integer", [1.5, 2, "schema"]],
    ["an integer spelled as another number", [new JsonDouble(1), 2, "schema"]],
    ["a last of text", [1, "2", "schema"]],
    ["a last below the first", [2, 1, "schema"]],
    ["a line beyond the lines of the heads", [4, "schema"]],
    ["a last beyond the lines of the heads", [1, 4, "schema"]],
    ["a last beyond what counts exactly", [1, 2n ** 60n, "schema"]],
  ])("a refusal that is %s counts for nothing", (_name, entry) => {
    expect(parsed({ lines: 3, refused: [entry, [2, "schema"]] })?.refused).toEqual([
      { first: 2, last: 2, reason: "schema" },
    ]);
  });

  test.each([
    ["foreign", "foreign"],
    ["mixed", "mixed"],
    ["closed_log", "closed_log"],
    ["too_many_refs", "too_many_refs"],
    ["r".repeat(65), "mixed"],
    [7, "mixed"],
    [null, "mixed"],
  ])("the reason %s reads as %s", (reason, read) => {
    expect(parsed({ lines: 3, refused: [[1, 3, reason]] })?.refused).toEqual([
      { first: 1, last: 3, reason: read },
    ]);
    expect(parsed({ lines: 3, refused: [[2, reason]] })?.refused).toEqual([
      { first: 2, last: 2, reason: read },
    ]);
  });

  test("refusals after the first 32 count for nothing", () => {
    const many = Array.from({ length: 40 }, (_, at) => [at + 1, "schema"]);
    expect(parsed({ lines: 50, refused: many })?.refused).toHaveLength(32);
  });

  test("those that are well formed stand beside those that are not", () => {
    const heads = { b_to_a: "x", a_to_b: { lines: 1 } };
    expect([...parseHeads(fromPlain({ heads }), LAYOUT).keys()]).toEqual(["a_to_b"]);
  });

  test.each([[null], ["text"], [[]], [{ heads: [] }], [{ heads: { elsewhere: { lines: 1 } } }]])(
    "a body without any: %j",
    (body) => {
      expect(parseHeads(fromPlain(body), LAYOUT).size).toBe(0);
    },
  );
});

describe("coverage", () => {
  test("waits for the lines, in the order of the beats", () => {
    const script = new OutcomeScript(
      "pairwise",
      ["a", "b"],
      ["b asks R", "b asks S", "a beats b=2", "a beats b=1"],
    );
    const [first, second, high, low] = take(script.order);
    if (!first || !second || !high || !low) throw new Error("four lines");
    const state = folded([first, high, low]);
    const at = (beat: number) => coverageAt(state, "a_to_b", beat, "b_to_a");
    // What the first beat covers is not known yet, so neither is what the second does.
    expect([at(0), at(1), at(2)]).toEqual([0, undefined, undefined]);
    applyLogs(state, second, scriptEnv(LAYOUT, "a"));
    expect([at(0), at(1), at(2)]).toEqual([0, 2, 2]);
  });

  test("a head without an event id covers only what never chained", () => {
    const script = new WireScript("pairwise", ["a", "b"]);
    script.say("b_to_a", NOON, { type: "request", unsigned: true });
    script.say("b_to_a", NOON, { type: "request" });
    for (const lines of [1, 2]) {
      script.say("a_to_b", NOON + lines, {
        type: "heartbeat",
        body: { heads: { b_to_a: { lines, read_lines: 0, refused: [] } } },
      });
    }
    const state = folded(take([...script.lines.values()].flat()));
    expect(coverageAt(state, "a_to_b", 2, "b_to_a")).toBe(1);
    expect(state.get("a_to_b")?.mismatches).toEqual([]);
  });

  test("a head that names an older event covers nothing new, and says nothing untrue", () => {
    const script = new WireScript("pairwise", ["a", "b"]);
    const first = script.say("b_to_a", NOON, { type: "request" });
    script.say("b_to_a", NOON, { type: "request" });
    const beat = (lines: number, seq: number, event_id: string) =>
      script.say("a_to_b", NOON, {
        type: "heartbeat",
        body: { heads: { b_to_a: { lines, seq, event_id, read_lines: 0, refused: [] } } },
      });
    beat(1, 1, first.message.id);
    beat(2, 1, first.message.id);
    beat(2, 2, first.message.id);
    beat(2, 2, "f".repeat(64));
    const state = folded(take([...script.lines.values()].flat()));
    expect(coverageAt(state, "a_to_b", 4, "b_to_a")).toBe(1);
    expect(state.get("a_to_b")?.mismatches).toEqual([
      { beat: 3, target: "b_to_a", lines: 2 },
      { beat: 4, target: "b_to_a", lines: 2 },
    ]);
  });

  test.each([
    ["every line after the event that it names is among its author's refusals", [2, 3], 1],
    ["one of them is not", [2], 0],
  ])("a head over restored lines, when %s", (_when, refused, covered) => {
    const script = new WireScript("pairwise", ["a", "b"]);
    const [first] = [1, 2, 3].map(() => script.say("b_to_a", NOON, { type: "request" }));
    const [early, ...later] = refused.map((line) => [line, "schema"]);
    const beat = (lines: number, event_id: string, named: unknown[]) =>
      script.say("a_to_b", NOON, {
        type: "heartbeat",
        body: { heads: { b_to_a: { lines, seq: 1, event_id, read_lines: 0, refused: named } } },
      });
    // Refusals are named once, and add up.
    beat(2, "f".repeat(64), [early]);
    beat(3, first?.message.id ?? "", later);
    const state = folded(take([...script.lines.values()].flat()));
    expect(coverageAt(state, "a_to_b", 2, "b_to_a")).toBe(covered);
    expect(state.get("a_to_b")?.mismatches).toMatchObject([{ beat: 1 }]);
  });

  test("refused and blank lines are lines", () => {
    const script = new OutcomeScript("pairwise", ["a", "b"], ["b asks R"]);
    const [line] = take(script.order);
    if (!line) throw new Error("one line");
    const refused = {
      kind: "refused",
      log: "b_to_a",
      line: 2,
      at: NOON,
      reason: "schema",
    } as const;
    const state = folded([line, refused, { kind: "skipped", log: "b_to_a", line: 3, at: NOON }]);
    expect(headOf(state, "b_to_a")).toMatchObject({ lines: 3, seq: 1, eventId: line.message.id });
  });

  test("refusals add up over beats, from the beat that names them on", () => {
    const script = new OutcomeScript(
      "pairwise",
      ["a", "b"],
      ["b asks R", "a beats", "a beats refuses=b:1", "a beats"],
    );
    const state = folded(take(script.order));
    const named = [1, 2, 3].map((beat) => namedRefused(state, "a_to_b", beat, "b_to_a", 1));
    expect(named).toEqual([false, true, true]);
  });

  test("unsigned beats are no receipts", () => {
    const script = new WireScript("pairwise", ["a", "b"]);
    script.say("b_to_a", NOON, { type: "request", unsigned: true });
    const heads = { b_to_a: { lines: 1, read_lines: 0, refused: [] } };
    script.say("a_to_b", NOON, { type: "heartbeat", body: { heads }, unsigned: true });
    const state = folded(take([...script.lines.values()].flat()));
    expect(coverageAt(state, "a_to_b", 1, "b_to_a")).toBe(0);
  });

  test("the first beat that covers a line, and the first live one", () => {
    const script = new OutcomeScript(
      "pairwise",
      ["a", "b"],
      ["b asks R", "a beats b=0", "a beats", "a beats"],
    );
    const events = take(script.order).map((event, at) => ({ ...event, live: at === 3 }));
    const state = folded(events);
    const line = (liveOnly: boolean) =>
      firstBeatCovering(state, "a_to_b", "b_to_a", 1, { liveOnly })?.line;
    expect([line(false), line(true)]).toEqual([2, 3]);
    expect(firstBeatCovering(state, "a_to_b", "b_to_a", 2, { liveOnly: false })).toBeUndefined();
  });
});

describe("a log", () => {
  const event = (line: ScriptLine, change = {}) => lineEvent(line, "a", change);
  const idle = (script: WireScript, count: number) => {
    for (let n = 0; n < count; n += 1) script.beat("a_to_b", NOON + n);
    return script.lines.get("a_to_b") ?? [];
  };

  test("that nobody has written is empty", () => {
    const state = emptyLogs();
    expect(headOf(state, "a_to_b")).toEqual({ lines: 0 });
    expect(beatsFrom(state, "a_to_b", 1)).toEqual([]);
    expect(lastBeat(state, "a_to_b")).toBeUndefined();
    expect(hasHeadsBefore(state, "a_to_b", 9)).toBe(false);
    expect(namedRefused(state, "a_to_b", 9, "b_to_a", 1)).toBe(false);
    expect(coverageAt(state, "a_to_b", 9, "b_to_a")).toBe(0);
    expect(mayBeRestored(state, "a_to_b", 0)).toBe(false);
    const question = { liveOnly: false, writtenAt: 0 };
    expect(firstBeatCovering(state, "a_to_b", "b_to_a", 1, question)).toBeUndefined();
    applyLogs(state, { kind: "rewound", log: "a_to_b", line: 0, at: NOON }, scriptEnv(LAYOUT, "a"));
    expect(state.size).toBe(0);
  });

  test("without chained lines has a head of lines alone", () => {
    const state = folded([{ kind: "skipped", log: "b_to_a", line: 3, at: NOON }]);
    expect(headOf(state, "b_to_a")).toStrictEqual({ lines: 3 });
  });

  test("keeps the chained lines whose seq rises", () => {
    const script = new WireScript("pairwise", ["a", "b"]);
    const [first, second, third, plain] = [{}, {}, {}, { unsigned: true }].map((more) =>
      script.say("b_to_a", NOON, { type: "request", ...more }),
    );
    if (!first || !second || !third || !plain) throw new Error("four lines");
    const filler = { ...event(second), line: 3 };
    const again = { ...event(third), line: 4 };
    const state = folded([event(first), { ...event(third), line: 2 }, filler, again, event(plain)]);
    expect(state.get("b_to_a")?.marks).toEqual({
      lines: [1, 2],
      seqs: [1, 3],
      ids: IdColumn.of([first.message.id, third.message.id]),
    });
    expect(headOf(state, "b_to_a")).toEqual({ lines: 4, seq: 3, eventId: third.message.id });
  });

  test("that was restored is read again after its last authentic line", () => {
    const script = new WireScript("pairwise", ["a", "b"]);
    const said = script.say("b_to_a", NOON, { type: "request" });
    const refused = { kind: "refused", log: "b_to_a", at: NOON, reason: "malformed" } as const;
    const state = folded([event(said), { ...refused, line: 2 }, { ...refused, line: 3 }]);
    const fixed = () => [0, 1, 2, 3, 4].map((line) => mayBeRestored(state, "b_to_a", line));
    expect(fixed()).toEqual([false, false, true, true, false]);
    const rewind = (line: number) =>
      applyLogs(state, { kind: "rewound", log: "b_to_a", line, at: NOON }, scriptEnv(LAYOUT, "a"));
    expect([...rewind(2)]).toEqual([]);
    expect(state.get("b_to_a")?.lines).toBe(2);
    expect(fixed()).toEqual([false, false, true, false, false]);
    rewind(9);
    expect(state.get("b_to_a")?.lines).toBe(2);
    const blank = folded([{ ...refused, line: 1 }]);
    expect([0, 1, 2].map((line) => mayBeRestored(blank, "b_to_a", line))).toEqual([
      false,
      true,
      false,
    ]);
  });

  test("remembers of a beat what deadlines and outcomes ask", () => {
    const script = new WireScript("pairwise", ["a", "b"]);
    script.say("b_to_a", NOON, { type: "request" });
    const beat = script.beat("a_to_b", NOON, {}, { state: "s".repeat(40) });
    const refused = { refused: "clock_skew", live: false, at: NOON + 7 } as const;
    const state = folded([event(beat, refused)]);
    expect(state.get("a_to_b")).toEqual({
      lines: 1,
      foreign: 0,
      marks: { lines: [1], seqs: [1], ids: IdColumn.of([beat.message.id]) },
      beats: [
        {
          line: 1,
          id: beat.message.id,
          timestamp: "2026-11-20T12:00:00.000000Z",
          timestampMs: NOON,
          at: NOON + 7,
          live: false,
          cadenceMs: 90_000,
          heads: new Map(),
          state: "s".repeat(32),
          refusedByUs: true,
        },
      ],
      firstBeat: 1,
      headsFrom: undefined,
      covers: new Map(),
      mismatches: [],
    });
    expect(lastBeat(state, "a_to_b")?.line).toBe(1);
    const taken = folded([event(beat)]);
    expect(lastBeat(taken, "a_to_b")?.refusedByUs).toBe(false);
    expect(folded([event(beat, { refused: "log_forked" })]).get("a_to_b")?.beats).toEqual([]);
  });

  test("keeps of older beats only the heads that name refusals", () => {
    const script = new OutcomeScript(
      "pairwise",
      ["a", "b"],
      ["b asks R", "a beats", "a beats refuses=b:1", "a beats", "a beats"],
    );
    const beats = folded(take(script.order)).get("a_to_b")?.beats ?? [];
    expect(beats.map(({ heads }) => heads.size)).toEqual([0, 1, 0, 1]);
  });

  test("is one with heads from the beat after the first that carries any", () => {
    const script = new OutcomeScript(
      "pairwise",
      ["a", "b"],
      ["a beats none=1", "b asks R", "a beats", "a beats"],
    );
    const state = folded(take(script.order));
    expect([1, 2, 3, 4].map((line) => hasHeadsBefore(state, "a_to_b", line))).toEqual([
      false,
      false,
      true,
      true,
    ]);
  });

  test("whose beats carry no heads covers with the first that comes after the line was written", () => {
    const script = new WireScript("pairwise", ["a", "b"]);
    const events = idle(script, 4).map((line) => event(line, { live: line.line !== 2 }));
    const state = folded(events);
    const covering = (liveOnly: boolean, writtenAt?: number) =>
      firstBeatCovering(state, "a_to_b", "b_to_a", 1, {
        liveOnly,
        ...(writtenAt === undefined ? {} : { writtenAt }),
      })?.line;
    expect([covering(false, NOON - 1), covering(false, NOON), covering(true, NOON)]).toEqual([
      1, 2, 3,
    ]);
    expect([covering(false, NOON + 3), covering(false)]).toEqual([undefined, undefined]);
  });

  test("keeps no more than 16,384 beats, however long something asks about them", () => {
    const [line] = idle(new WireScript("pairwise", ["a", "b"]), 1);
    if (line === undefined) throw new Error("one beat");
    const state = folded([event(line)]);
    const log = state.get("a_to_b");
    const [beat] = log?.beats ?? [];
    if (log === undefined || beat === undefined) throw new Error("one beat");
    log.beats = Array.from({ length: 16_383 }, (_, at) => ({ ...beat, line: at + 1 }));
    const add = (at: number) =>
      applyLogs(state, { ...event(line), line: at }, scriptEnv(LAYOUT, "a"));
    add(16_384);
    expect(log.beats).toHaveLength(16_384);
    add(16_385);
    expect([log.beats.length, log.beats[0]?.line]).toEqual([16_385 - 256, 257]);
  });

  test("forgets its marks once in 1,024 lines", () => {
    const script = new WireScript("pairwise", ["a", "b"]);
    for (let n = 0; n < 9; n += 1) script.say("b_to_a", NOON, { type: "request" });
    script.beat("a_to_b", NOON, { b_to_a: { lines: 9 } });
    script.say("b_to_a", NOON, { type: "request" });
    const state = folded(take([...script.lines.values()].flat()));
    expect(state.get("b_to_a")?.marks.lines).toHaveLength(10);
    applyLogs(
      state,
      { kind: "skipped", log: "b_to_a", line: 1_024, at: NOON },
      scriptEnv(LAYOUT, "a"),
    );
    expect(state.get("b_to_a")?.marks.lines).toEqual([9, 10]);
  });
});

describe("bounds", () => {
  test("beats are forgotten from the oldest, and what they covered stays", () => {
    const script = new WireScript("pairwise", ["a", "b"]);
    script.say("b_to_a", NOON, { type: "request" });
    for (let at = 0; at < 3_072; at++) script.beat("a_to_b", NOON + at, { b_to_a: { lines: 1 } });
    const state = folded(take([...script.lines.values()].flat()));
    expect(wantsPruning(state, "a_to_b")).toBe(true);
    pruneBeats(state, "a_to_b", 2_000);
    expect(beatsFrom(state, "a_to_b", 0)[0]?.line).toBe(2_000);
    pruneBeats(state, "a_to_b", Infinity);
    expect(beatsFrom(state, "a_to_b", 0)).toHaveLength(512);
    expect(coverageAt(state, "a_to_b", 3_072, "b_to_a")).toBe(1);
    const first = firstBeatCovering(state, "a_to_b", "b_to_a", 1, { liveOnly: false });
    expect(first?.line).toBe(2_561);
  });

  test("beats whose heads still wait are not forgotten", () => {
    const script = new WireScript("pairwise", ["a", "b"]);
    const asked = script.say("b_to_a", NOON, { type: "request" });
    for (let at = 0; at < 3_072; at++) script.beat("a_to_b", NOON + at, { b_to_a: { lines: 1 } });
    const state = folded(take(script.lines.get("a_to_b") ?? []));
    pruneBeats(state, "a_to_b", Infinity);
    applyLogs(state, lineEvent(asked, "a"), scriptEnv(LAYOUT, "a"));
    const first = firstBeatCovering(state, "a_to_b", "b_to_a", 1, { liveOnly: false });
    expect(first?.line).toBe(1);
  });

  test("chain marks below every reader's coverage go, and later heads count all the same", () => {
    const script = new WireScript("pairwise", ["a", "b"]);
    for (let at = 0; at < 4_096; at++) script.say("b_to_a", NOON + at, { type: "request" });
    const beat = script.beat("a_to_b", NOON, { b_to_a: { lines: 4_000 } });
    const lines = script.lines.get("b_to_a") ?? [];
    const state = folded(take([...lines.slice(0, 4_000), beat, ...lines.slice(4_000)]));
    expect(state.get("b_to_a")?.marks.lines[0]).toBe(4_000);
    const next = script.beat("a_to_b", NOON, { b_to_a: { lines: 4_050 } });
    applyLogs(state, lineEvent(next, "a"), scriptEnv(LAYOUT, "a"));
    expect(coverageAt(state, "a_to_b", 2, "b_to_a")).toBe(4_050);
  });
});
