import { describe, expect, test } from "vitest";
import {
  clonePace,
  newPace,
  dropEndedConflicts,
  takeBeat,
  takeConflict,
  takeStateChange,
  type Pace,
} from "../../../src/protocol/heartbeats/pace.ts";
import { makeLayout } from "../../../src/wire/layout.ts";
import { NOON, scriptEnv, seconds } from "../../support/scripts/wire-script.ts";

const ENV = scriptEnv(makeLayout("pairwise", ["a", "b"]), "a");

const paceOf = (change: Partial<Pace>): Pace => ({ ...newPace(), ...change });

describe("an interval", () => {
  const beaten = (at: number, change: Partial<Pace> = {}) => {
    const pace = paceOf({ intervalFrom: NOON, idleCycles: 1, ...change });
    takeBeat(pace, NOON + at, false, ENV);
    return [pace.intervalFrom === NOON + at, pace.observed, pace.idleCycles];
  };

  test.each([
    ["less than nine tenths of a cadence is none", seconds(81) - 1, [false, 0, 1]],
    ["nine tenths are one", seconds(81), [true, 1, 2]],
    ["a clock that was set back begins another", -1, [true, 0, 1]],
  ])("%s", (_name, at, expected) => {
    expect(beaten(at)).toEqual(expected);
  });

  test("is idle without traffic and unread mail", () => {
    expect(beaten(seconds(90), { traffic: true })).toEqual([true, 1, 0]);
    const pace = paceOf({ intervalFrom: NOON, idleCycles: 1 });
    takeBeat(pace, NOON + seconds(90), true, ENV);
    expect(pace.idleCycles).toBe(0);
  });
});

describe("a conflict", () => {
  test("is remembered once, among 64, and heads that go down by hand are none", () => {
    const pace = newPace();
    takeConflict(pace, undefined, ENV);
    expect([pace.tier, pace.conflicts]).toEqual(["T0_HEADS_DOWN", []]);
    for (let n = 0; n < 70; n += 1) takeConflict(pace, `${n % 65}`, ENV);
    expect(pace.conflicts).toEqual(Array.from({ length: 64 }, (_, n) => `${n}`));
  });

  test("is another pace's own", () => {
    const pace = paceOf({ conflicts: ["x"] });
    const clone = clonePace(pace);
    clone.conflicts.push("y");
    expect([pace.conflicts, clone.conflicts]).toEqual([["x"], ["x", "y"]]);
  });

  test.each<[string, Partial<Pace>, boolean, string[], Partial<Pace>]>([
    ["the last", {}, false, [], { tier: "T1_active", conflicts: [], beatsAtT0: 0 }],
    ["one of two", {}, false, ["y"], { tier: "T0_HEADS_DOWN", conflicts: ["y"], beatsAtT0: 7 }],
    [
      "the last, with heads down",
      {},
      true,
      [],
      { tier: "T0_HEADS_DOWN", conflicts: [], beatsAtT0: 7 },
    ],
    [
      "the last of a pace that is slow by now",
      { tier: "T2_idle" },
      false,
      [],
      { tier: "T2_idle", conflicts: [], beatsAtT0: 7 },
    ],
  ])("that is over ends T0: %s", (_name, change, headsDown, open, expected) => {
    const pace = paceOf({
      tier: "T0_HEADS_DOWN",
      conflicts: ["x", "y"],
      beatsAtT0: 7,
      ...change,
    });
    dropEndedConflicts(pace, headsDown, (thread) => open.includes(thread));
    expect(pace).toMatchObject(expected);
  });

  test("is forgotten with T0, and begins its count of beats again", () => {
    const pace = paceOf({ tier: "T0_HEADS_DOWN", conflicts: ["x"], beatsAtT0: 7 });
    takeConflict(pace, "x", ENV);
    expect([pace.beatsAtT0, pace.conflicts]).toEqual([0, ["x"]]);
    takeStateChange(pace, ENV);
    expect([pace.tier, pace.conflicts]).toEqual(["T1_active", []]);
  });
});
