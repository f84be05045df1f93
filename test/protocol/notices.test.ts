import { describe, expect, test } from "vitest";
import type { AutomaticIncident } from "../../src/protocol/effects.ts";
import {
  applyNotices,
  decideNotices,
  emptyNotices,
  MAX_NOTICES_PER_HOUR,
  hourlyKey,
  refusalKey,
  setNoticesBack,
  toldEvent,
  type NoticesState,
} from "../../src/protocol/notices.ts";
import { hours, minutes, NOON } from "../support/scripts/wire-script.ts";

function matter(key: string, peer?: string): AutomaticIncident {
  return {
    key,
    cause: "log_gap",
    subject: `subject ${key}`,
    detail: `detail ${key}`,
    concernsWire: false,
    ...(peer === undefined ? {} : { peer }),
  };
}

/** Decides, tells, folds; returns the keys that were told. */
function tell(state: NoticesState, incidents: AutomaticIncident[], at: number): string[] {
  const told = decideNotices(state, incidents, at);
  for (const incident of told) applyNotices(state, toldEvent(incident, at));
  return told.map(({ key, cause }) => (cause === "more_incidents" ? cause : key));
}

describe("automatic incidents", () => {
  test("nothing is told twice", () => {
    const state = emptyNotices();
    expect(tell(state, [matter("a"), matter("a"), matter("b")], NOON)).toEqual(["a", "b"]);
    expect(tell(state, [matter("a"), matter("c")], NOON + 1)).toEqual(["c"]);
    expect(state.notices.map(({ subject }) => subject)).toEqual([
      "subject a",
      "subject b",
      "subject c",
    ]);
  });

  test("six per peer and hour, then one summary, then nothing until there is room", () => {
    const state = emptyNotices();
    const many = Array.from({ length: 20 }, (_, n) => matter(`m${n}`, "scribe"));
    const first = tell(state, many, NOON);
    expect(first).toEqual(["m0", "m1", "m2", "m3", "m4", "m5", "more_incidents"]);
    expect(tell(state, many, NOON + minutes(59))).toEqual([]);
    expect(tell(state, [matter("x", "forge")], NOON + minutes(59))).toEqual(["x"]);
    expect(tell(state, many, NOON + hours(1))).toHaveLength(MAX_NOTICES_PER_HOUR + 1);
  });

  test("the summary says about whom or what there is more", () => {
    const last = (peer?: string) => {
      const many = Array.from({ length: 9 }, (_, n) => matter(`m${n}`, peer));
      return decideNotices(emptyNotices(), many, NOON).slice(MAX_NOTICES_PER_HOUR);
    };
    const detail = (about: string) =>
      `6 incidents about ${about} were told within the hour; ` +
      "further ones are not, until there is room: see quarantine and status";
    expect(last("scribe")).toStrictEqual([
      {
        key: `more_incidents:scribe:${NOON}`,
        cause: "more_incidents",
        peer: "scribe",
        subject: "more incidents about scribe",
        detail: detail("scribe"),
        concernsWire: false,
      },
    ]);
    expect(last()).toStrictEqual([
      {
        key: `more_incidents::log_gap:${NOON}`,
        cause: "log_gap",
        subject: 'more incidents about "log_gap"',
        detail: detail('"log_gap"'),
        concernsWire: false,
      },
    ]);
  });

  test("what was told is remembered with what is said of it, and nothing besides", () => {
    const told = { kind: "told", key: "k", at: NOON, cause: "log_gap" } as const;
    const words = { subject: "subject k", detail: "detail k" };
    expect(toldEvent(matter("k"), NOON)).toStrictEqual({ ...told, ...words });
    expect(toldEvent(matter("k", "scribe"), NOON)).toStrictEqual({
      ...told,
      ...words,
      peer: "scribe",
    });
    const state = emptyNotices();
    applyNotices(state, told);
    expect(state.notices).toEqual([
      { at: NOON, cause: "log_gap", peer: undefined, subject: "log_gap", detail: "" },
    ]);
  });

  test("of an hour no more is remembered than is told in it", () => {
    const state = emptyNotices();
    for (let n = 0; n < 9; n += 1)
      applyNotices(state, toldEvent(matter(`${n}`, "scribe"), NOON + n));
    expect(state.recent.get("scribe")).toEqual([2, 3, 4, 5, 6, 7, 8].map((n) => NOON + n));
    expect(state.told.get("8")).toBe(NOON + 8);
  });

  test("one by one is limited as all at once is", () => {
    const state = emptyNotices();
    const told = Array.from({ length: 30 }, (_, n) =>
      tell(state, [matter(`n${n}`, "scribe")], NOON + n),
    );
    expect(told.flat()).toHaveLength(MAX_NOTICES_PER_HOUR + 1);
    expect(told.flat().at(-1)).toBe("more_incidents");
  });

  test("what is about no peer is limited by its cause, and silences no other cause", () => {
    const state = emptyNotices();
    for (let n = 0; n < 30; n += 1) tell(state, [matter(`n${n}`)], NOON + n);
    expect(state.notices).toHaveLength(MAX_NOTICES_PER_HOUR + 1);
    const grave = { ...matter("damaged"), cause: "log_damaged" };
    expect(tell(state, [grave], NOON + 40)).toEqual(["damaged"]);
  });

  test("a told event without words, as an older journal has it, still stops the telling", () => {
    const state = emptyNotices();
    applyNotices(state, { kind: "told", key: "a", at: NOON });
    expect(tell(state, [matter("a")], NOON)).toEqual([]);
    expect(state.notices).toEqual([]);
  });

  test("memory is bounded", () => {
    const state = emptyNotices();
    for (let n = 0; n < 10_000; n += 1) applyNotices(state, toldEvent(matter(`${n}`), NOON + n));
    expect(state.told.size).toBe(4_096);
    expect(state.notices).toHaveLength(256);
    expect(state.told.has("9999")).toBe(true);
  });

  test("refused lines have one key per peer, reason and hour", () => {
    const key = refusalKey("scribe", "schema", NOON);
    expect(refusalKey("scribe", "schema", NOON + hours(1) - 1)).toBe(key);
    expect(refusalKey("scribe", "schema", NOON + hours(1))).not.toBe(key);
    expect(refusalKey("scribe", "unsigned", NOON)).not.toBe(key);
    expect(refusalKey("forge", "schema", NOON)).not.toBe(key);
  });
});

describe("what is remembered of notices", () => {
  test("is the 4,096 keys that were told last, and each of them once", () => {
    const state = emptyNotices();
    const tellKey = (n: number) => applyNotices(state, toldEvent(matter(`${n}`), NOON + n));
    for (let n = 0; n < 4_096; n += 1) tellKey(n);
    expect([state.told.size, state.told.has("0")]).toEqual([4_096, true]);
    tellKey(4_095);
    expect(state.told.has("0")).toBe(true);
    tellKey(4_096);
    expect([state.told.size, state.told.has("0"), state.told.has("1")]).toEqual([
      ...[4_096, false, true],
    ]);
  });

  test("is a list of the newest 256", () => {
    const state = emptyNotices();
    for (let n = 0; n < 257; n += 1) applyNotices(state, toldEvent(matter(`${n}`), NOON + n));
    expect(state.notices.map(({ at }) => at - NOON)).toEqual(
      Array.from({ length: 256 }, (_each, n) => n + 1),
    );
  });

  test("is what the operator has decided, too, which counts against no limit", () => {
    const state = emptyNotices();
    const logs = ["scribe_to_forge", "scribe_to_sam"].map((log) => ({ log, lines: 0 }));
    applyNotices(state, { kind: "reset", at: NOON, peer: "scribe", logs });
    expect(state.notices).toEqual([
      {
        at: NOON,
        cause: "reset",
        peer: "scribe",
        subject: "the operator has decided about scribe",
        detail: "scribe_to_forge, scribe_to_sam",
      },
    ]);
    expect([state.told.size, state.recent.size]).toEqual([0, 0]);
  });

  test("does not change by what is no notice", () => {
    const state = emptyNotices();
    applyNotices(state, { kind: "started", at: NOON });
    expect(state).toEqual(emptyNotices());
  });
});

describe("a clock that is set back", () => {
  const after = (key: string, toldAt: number, at: number) => {
    const state = emptyNotices();
    applyNotices(state, toldEvent(matter(key, "scribe"), toldAt));
    setNoticesBack(state, at);
    return state;
  };
  const LATER = NOON + hours(5);

  test.each<[string, string, number, number | undefined]>([
    ["what was told later is told as of now", "log_gap:scribe", NOON, NOON],
    ["what was told before stays as it is", "log_gap:scribe", LATER + 1, LATER],
    ["what was told at that moment stays, too", "peer_silent:scribe", LATER, LATER],
    ["a silence may come again", "peer_silent:scribe:7", NOON, undefined],
    ["an incident may be uncovered again", "incident_not_covered:i", NOON, undefined],
    ["an incident may be unread again", "incident_unread:i", NOON, undefined],
    ["a cause is named by all of its name", "peer_silents:scribe", NOON, NOON],
    ["a cause is named at the beginning", "of peer_silent:scribe", NOON, NOON],
    ["an hour that is yet to come is not used up", hourlyKey("m", LATER), NOON, undefined],
    ["an hour that begins in a moment is yet to come", hourlyKey("m", LATER), LATER - 1, undefined],
    ["the key of another hour is none of an hour", hourlyKey("m", NOON), NOON - 1, NOON - 1],
  ])("%s", (_what, key, at, expected) => {
    expect(after(key, LATER, at).told.get(key)).toBe(expected);
  });

  test("keeps what was told in the hour in which it is", () => {
    const key = refusalKey("scribe", "schema", LATER + minutes(9));
    expect(after(key, LATER + minutes(9), LATER).told.get(key)).toBe(LATER);
  });

  test("has no summary told twice, when it comes to that moment again", () => {
    const state = emptyNotices();
    const many = (name: string) =>
      Array.from({ length: 9 }, (_each, n) => matter(`${name}${n}`, "scribe"));
    expect(tell(state, many("m"), LATER).at(-1)).toBe("more_incidents");
    setNoticesBack(state, NOON);
    expect(tell(state, many("n"), LATER)).toEqual(["n0", "n1", "n2", "n3", "n4", "n5"]);
  });

  test("leaves no time in lists and limits that is yet to come", () => {
    const state = emptyNotices();
    for (const at of [NOON, LATER]) {
      applyNotices(state, toldEvent(matter(`${at}`, "scribe"), at));
    }
    setNoticesBack(state, NOON + 1);
    expect(state.notices.map(({ at }) => at)).toEqual([NOON, NOON + 1]);
    expect(state.notices.map(({ subject }) => subject)).toEqual([
      `subject ${NOON}`,
      `subject ${LATER}`,
    ]);
    setNoticesBack(state, NOON - 1);
    expect(state.recent.get("scribe")).toEqual([NOON - 1]);
  });
});
