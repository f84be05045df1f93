import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { readBeat, type Head, type Want } from "../../../src/protocol/beats/beat.ts";
import { beatBody, type BeatStatus, type BeatWords } from "../../../src/protocol/beats/compose.ts";
import { fromPlain } from "../../../src/wire/json/json.ts";
import type { RefusedLines } from "../../../src/wire/places.ts";

const T = Date.parse("2026-06-01T10:00:00Z");
const id = (n: number): string => n.toString(16).padStart(64, "0");
const read = (body: unknown): ReturnType<typeof readBeat> => readBeat(fromPlain(body), T, "scribe");

describe("reading a beat", () => {
  it("takes what is well-formed", () => {
    expect(
      read({
        ...{ state: "busy", tier: "T1_active", wakeup_count: 3, inbox_unread_count: 0 },
        ...{ next_eta: "2026-06-01T10:01:30Z", agent_last_seen: "2026-06-01T09:59:00Z" },
        last_action: "ran the tests",
        not_woken: { scribe: { until: "2026-06-01T11:00:00Z" }, ann: { until: "nonsense" } },
        heads: { forge: [12, id(12), 11] },
        refused: [["forge", 13, 14, id(14), "body_too_large"]],
        wants: [["forge", 16, 21, id(21)]],
      }),
    ).toEqual({
      ...{ state: "busy", tier: "T1_active", wakeups: 3, unread: 0, cadenceMs: 90_000 },
      ...{ agentLastSeenMs: T - 60_000, lastAction: "ran the tests" },
      notWoken: { untilMs: T + 3_600_000, urgentUntilMs: undefined },
      heads: [{ place: { author: "forge", seq: 12, id: id(12) }, read: 11 }],
      refused: [
        { first: 13, last: { author: "forge", seq: 14, id: id(14) }, reason: "body_too_large" },
      ],
      wants: [{ first: 16, last: { author: "forge", seq: 21, id: id(21) } }],
    });
  });

  it("takes a field of another form as absent", () => {
    const nothing = read({});
    for (const body of [
      { state: "asleep", tier: 3, wakeup_count: -1, inbox_unread_count: "2", last_action: null },
      { next_eta: "2026-06-01T10:00:00Z" },
      { next_eta: "2026-06-01T09:00:00Z", agent_last_seen: "yesterday", not_woken: { scribe: 1 } },
      { heads: [], refused: {}, wants: "all" },
      { heads: { forge: [12, id(12)], "no handle": [1, id(1), 1], ann: [0, id(1), 0] } },
      { refused: [["forge", 15, 14, id(14), "schema"], ["forge", 1, 2, id(2)], [], 7] },
      {
        wants: [
          ["forge", 0, 21, id(21)],
          ["forge", 22, 21, id(21)],
          ["forge", 1, null, id(1)],
        ],
      },
    ])
      expect(read(body)).toEqual(nothing);
  });

  it("has read at most what it has taken in", () => {
    expect(read({ heads: { forge: [12, id(12), 40] } }).heads[0]?.read).toBe(12);
  });

  it("ignores the 33rd refusal and the 9th want, and cuts long texts", () => {
    const refused = Array.from({ length: 40 }, (_, n) => ["forge", n + 1, n + 1, id(n), "schema"]);
    const wants = Array.from({ length: 12 }, (_, n) => ["forge", 1, n + 1, id(n)]);
    const beat = read({ refused, wants, last_action: "🐝".repeat(300), tier: "x".repeat(100) });
    expect([beat.refused.length, beat.wants.length]).toEqual([32, 8]);
    expect([beat.lastAction, beat.tier]).toEqual(["🐝".repeat(200), "x".repeat(64)]);
  });

  it("gives an answer for any JSON", () => {
    const names = ["heads", "refused", "wants", "not_woken", "state", "next_eta", "tier"];
    const body = fc.oneof(
      fc.jsonValue(),
      fc.dictionary(fc.constantFrom(...names), fc.jsonValue({ maxDepth: 4 })),
    );
    fc.assert(
      fc.property(body, (value) => {
        const { heads, refused, wants } = readBeat(fromPlain(value), T, "scribe");
        return heads.length <= 512 && refused.length <= 32 && wants.length <= 8;
      }),
    );
  });
});

test("what is composed is read back", () => {
  const place = fc.record({
    author: fc.constantFrom("forge", "scribe", "ann", "mason"),
    seq: fc.integer({ min: 1, max: 1_000 }),
    id: fc.nat(1_000_000).map(id),
  });
  const head: fc.Arbitrary<Head> = place.chain((each) =>
    fc.integer({ min: 0, max: each.seq }).map((upTo) => ({ place: each, read: upTo })),
  );
  const range: fc.Arbitrary<Want> = place.chain((last) =>
    fc.integer({ min: 1, max: last.seq }).map((first) => ({ first, last })),
  );
  const refusal: fc.Arbitrary<RefusedLines> = fc
    .tuple(range, fc.constantFrom("schema", "log_forked"))
    .map(([each, reason]) => ({ ...each, reason }));
  const words: fc.Arbitrary<BeatWords> = fc.record({
    isChained: fc.constant(true),
    heads: fc.uniqueArray(head, { selector: (each) => each.place.author }),
    refused: fc.array(refusal, { maxLength: 32 }),
    wants: fc.array(range, { maxLength: 8 }),
  });
  const maybe = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
    fc.option(value, { nil: undefined });
  const status: fc.Arbitrary<BeatStatus> = fc.record({
    ...{ wakeups: fc.nat(), unread: fc.nat(), nextMs: fc.integer({ min: T + 1, max: T + 9e6 }) },
    state: fc.constantFrom("idle", "busy", "blocked", "paused"),
    tier: fc.constantFrom("T0_HEADS_DOWN", "T3_long_idle"),
    lastAction: maybe(fc.string({ unit: "grapheme", maxLength: 300 })),
    agentLastSeenMs: maybe(fc.nat(1e12)),
    notWoken: maybe(fc.record({ untilMs: fc.nat(1e12), urgentUntilMs: maybe(fc.nat(1e12)) })).map(
      (each) => new Map(each === undefined ? [] : [["scribe", each]]),
    ),
  });
  fc.assert(
    fc.property(status, words, (state, said) => {
      const { heads, refused, wants } = said;
      const { nextMs, notWoken, lastAction, ...same } = state;
      expect(readBeat(beatBody(state, said), T, "scribe")).toEqual({
        ...{ ...same, heads, refused, wants, cadenceMs: nextMs - T },
        notWoken: notWoken.get("scribe"),
        lastAction: lastAction && [...lastAction].slice(0, 200).join(""),
      });
    }),
  );
});
