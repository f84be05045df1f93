import { describe, expect, it } from "vitest";
import type { Beats } from "../../src/store/beats.ts";
import type { Store } from "../../src/store/store.ts";
import type { ModelLine } from "../model/model.ts";
import { newLine, storeOf, Writer } from "../support/chain-lines.ts";

const NOW = Date.parse("2026-06-02T12:00:00Z");
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const SKEW = { skewMs: 5 * MINUTE, lackedMs: undefined };

function scene(): { readonly store: Store; readonly beats: Beats; readonly forge: Writer } {
  const forge = new Writer("forge");
  for (let at = 0; at < 3; at += 1) forge.say("ship", `t${at}`, {});
  const scribe = new Writer("scribe");
  scribe.say("ship", "t", {});
  const store = storeOf([...forge.lines, ...scribe.lines]);
  return { store, beats: store.beats("forge"), forge };
}

describe("the life of an agent", () => {
  function note(
    { store, beats }: ReturnType<typeof scene>,
    datedMs: number,
    receivedMs: number,
    isPaused = false,
  ): boolean {
    const beat = { datedMs, receivedMs, cadenceMs: 90_000, isPaused };
    return store.write(() => beats.noteBeat("scribe", beat, SKEW));
  }

  it("is its latest sign of life, which an old beat is not", () => {
    const wire = scene();
    expect(wire.beats.life("scribe")).toBe(undefined);
    expect(note(wire, NOW, NOW)).toBe(true);
    expect(note(wire, NOW, NOW + MINUTE)).toBe(false);
    expect(note(wire, NOW - MINUTE, NOW + MINUTE)).toBe(false);
    expect(wire.beats.life("scribe")).toEqual({
      ...{ receivedMs: NOW, isPaused: false, cadenceMs: 90_000 },
    });
    expect(note(wire, NOW + MINUTE, NOW + 2 * MINUTE, true)).toBe(true);
    expect(wire.beats.life("scribe")).toMatchObject({
      ...{ receivedMs: NOW + 2 * MINUTE, isPaused: true },
    });
  });

  it("says what its latest beat says, in whatever order beats come, but for one that is dated ahead", () => {
    const { store, beats } = scene();
    const scribe = new Writer("scribe");
    scribe.say("heartbeat", "", { state: "busy" });
    const [line] = scribe.lines;
    const hear = (sentMs: number): number | undefined => {
      const id = sentMs.toString(16).padStart(64, "0");
      store.write((into) => {
        const beat = { ...line, seq: 1, prev: null, id } as ModelLine;
        beats.noteLatest(into.hold({ ...newLine(beat, NOW), sentMs }).n);
      });
      return store.line(beats.latest("scribe") ?? 0)?.sentMs;
    };
    expect(beats.latest("scribe")).toBeUndefined();
    const dates = [NOW + DAY, NOW - 2 * MINUTE, NOW, NOW - MINUTE, NOW + MINUTE];
    expect(dates.map(hear)).toEqual([NOW + DAY, dates[1], NOW, NOW, NOW + MINUTE]);
  });

  it("is not ended by a beat that was dated far ahead", () => {
    const wire = scene();
    expect(note(wire, NOW + DAY, NOW)).toBe(false);
    expect(note(wire, NOW + MINUTE, NOW + MINUTE)).toBe(true);
  });

  it("is not begun by one that is too old, and none older than that begins it", () => {
    const wire = scene();
    expect(note(wire, NOW - DAY, NOW)).toBe(false);
    expect(wire.beats.life("scribe")).toBe(undefined);
    expect(wire.beats.latestBeatMs("scribe")).toBe(NOW - DAY);
  });
});

describe("what was served", () => {
  it("is due until it is copied, and counted by day and reader", () => {
    const { store, beats, forge } = scene();
    const lines = forge.lines.map(({ author, id }, at) => ({
      n: at + 1,
      place: { author, seq: at + 1, id },
    }));
    const serve = (isCopy: boolean, atMs: number): void =>
      store.write(() =>
        beats.noteServed(
          "scribe",
          lines.map((line) => ({ ...line, isCopy })),
          atMs,
        ),
      );
    const today = NOW - (NOW % DAY);
    serve(false, NOW);
    expect([beats.dueCopies(10), beats.served("scribe", today)]).toEqual([
      [],
      { copies: 0, lines: 3 },
    ]);
    serve(true, NOW + 10 * MINUTE);
    expect([beats.dueCopies(2), beats.served("scribe", today)]).toEqual([
      [1, 2],
      { copies: 3, lines: 3 },
    ]);
    expect(beats.servedMs("scribe", 1)).toBe(NOW + 10 * MINUTE);
    store.write(() => beats.noteCopied([1, 2]));
    expect(beats.dueCopies(10)).toEqual([3]);
    serve(true, NOW + 20 * MINUTE);
    expect(beats.served("scribe", today).copies).toBe(6);
    serve(true, NOW + DAY);
    expect(beats.served("scribe", today + DAY)).toEqual({ copies: 3, lines: 3 });
    expect(beats.served("forge", today)).toEqual({ copies: 0, lines: 0 });
  });

  it("is what a line of ours, or one that it names or that is before that, leads to", () => {
    const { store, beats, forge } = scene();
    const place = (at: number) => {
      const line = forge.lines[at];
      return { author: "forge", seq: at + 1, id: line?.id ?? "" };
    };
    expect(beats.hasNamed(place(0))).toBe(true);
    const scribe = store.beats("scribe");
    expect(scribe.hasNamed(place(0))).toBe(false);
    const writer = new Writer("ann");
    const second = place(1);
    writer.say("ack", "t1", { about: [second.author, second.seq, second.id] });
    const other = storeOf([...forge.lines, ...writer.lines]).beats("ann");
    expect([0, 1, 2].map((at) => other.hasNamed(place(at)))).toEqual([true, true, false]);
    expect(other.linesFor({ first: 1, last: place(1) }, 10).map(({ n }) => n)).toEqual([1, 2]);
    expect(other.linesFor({ first: 1, last: place(2) }, 2).map(({ n }) => n)).toEqual([1, 2]);
  });

  it("is what is held behind a gap, too", () => {
    const forge = new Writer("forge");
    for (let at = 0; at < 5; at += 1) forge.say("ship", `t${at}`, {});
    const [author, seq, id] = forge.last;
    const beats = storeOf(forge.lines.filter((line) => line.seq !== 2)).beats("ann");
    const found = beats.linesFor({ first: 1, last: { author, seq: Number(seq), id } }, 10);
    expect(found.map(({ place }) => place.seq)).toEqual([3, 4, 5]);
    expect(beats.lacks()).toMatchObject([{ namer: "forge", place: { author: "forge", seq: 2 } }]);
  });
});

describe("what is lacked", () => {
  it("is what was named and is not held, with the count of asking", () => {
    const forge = new Writer("forge");
    const [author, seq, id] = forge.say("ship", "t", {});
    const ann = new Writer("ann");
    ann.beat({ forge: [author, seq, id] });
    const store = storeOf(ann.lines);
    const beats = store.beats("scribe");
    const last = { author, seq: Number(seq), id };
    const lack = { namer: "ann", place: last, namedMs: 0 };
    expect(beats.lacks()).toEqual([{ ...lack, askedMs: undefined }]);
    const words = { isChained: true, heads: [], refused: [], wants: [{ first: 1, last }] };
    store.write(() => beats.noteSaid(words, NOW));
    store.write(() => beats.noteSaid(words, NOW + MINUTE));
    expect(beats.lacks()).toEqual([{ ...lack, askedMs: NOW }]);
  });

  it("is bounded for each who names it", () => {
    const ann = new Writer("ann");
    for (let at = 0; at < 1_000; at += 1)
      ann.beat({ forge: ["forge", at + 1, at.toString(16).padStart(64, "0")] });
    const scribe = new Writer("scribe");
    scribe.beat({ forge: ["forge", 7, "f".repeat(64)] });
    const lacks = storeOf([...scribe.lines, ...ann.lines])
      .beats("mason")
      .lacks();
    const named = lacks.filter(({ namer }) => namer === "ann").map(({ place }) => place.seq);
    expect(named.length).toBeLessThan(1_000);
    expect(Math.max(...named)).toBe(1_000);
    expect(lacks.filter(({ namer }) => namer === "scribe")).toHaveLength(1);
  });
});
