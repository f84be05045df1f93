import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import {
  beatDueMs,
  bringForward,
  NEW_BEAT_TIMER,
  restartTimer,
  type BeatTimer,
} from "../../../src/protocol/beats/beat-timer.ts";
import {
  changePace,
  fastestTier,
  NEW_PACE,
  type Pace,
  type PaceEvent,
} from "../../../src/protocol/beats/pace.ts";
import { DEFAULT_HEARTBEAT_TIERS as TIERS } from "../../../src/trust/policy/heartbeat-tiers.ts";

const { cadencesMs } = TIERS;
const after = (pace: Pace, ...events: readonly PaceEvent[]): Pace =>
  events.reduce((now, event) => changePace(now, event, TIERS), pace);

/** So many full intervals, each ended by a beat. */
function beats(pace: Pace, count: number, hasUnread = false): Pace {
  let now = pace.sinceMs === null ? after(pace, { is: "beat", atMs: 0, hasUnread }) : pace;
  for (let at = 0; at < count; at += 1)
    now = after(now, { is: "beat", atMs: Number(now.sinceMs) + cadencesMs[now.tier], hasUnread });
  return now;
}

describe("the tier of a peer", () => {
  it("slows down over intervals without mail, and is active again with mail", () => {
    const idle = [2, 3, 11, 12].map((count) => beats(NEW_PACE, count).tier);
    expect(idle).toEqual(["T1_active", "T2_idle", "T2_idle", "T3_long_idle"]);
    expect(after(beats(NEW_PACE, 12), { is: "mail" }).tier).toBe("T1_active");
  });

  it("counts no interval with mail, or with unread mail, or that was cut short", () => {
    const two = beats(NEW_PACE, 2);
    expect(beats(after(two, { is: "mail" }), 3).tier).toBe("T1_active");
    expect(beats(NEW_PACE, 9, true).tier).toBe("T1_active");
    const short = after(two, { is: "beat", atMs: Number(two.sinceMs) + 80_000, hasUnread: false });
    expect([short.tier, short.idleCycles]).toEqual(["T1_active", 2]);
  });

  it("is T0 while there is a conflict, for at most 20 beats", () => {
    const conflict: PaceEvent = { is: "conflict", thread: "t" };
    const t0 = after(beats(NEW_PACE, 12), conflict);
    expect(t0.tier).toBe("T0_HEADS_DOWN");
    expect([19, 20].map((count) => beats(t0, count, true).tier)).toEqual([
      ...["T0_HEADS_DOWN", "T1_active"],
    ]);
    expect(after(t0, { is: "state_change" }).tier).toBe("T1_active");
    const isOver = (open: boolean, isHeadsDown: boolean): string =>
      after(t0, { is: "conflicts", open: () => open, isHeadsDown }).tier;
    expect([isOver(true, false), isOver(false, true), isOver(false, false)]).toEqual([
      ...["T0_HEADS_DOWN", "T0_HEADS_DOWN", "T1_active"],
    ]);
    const down = after(NEW_PACE, { is: "heads_down" });
    expect(after(down, { is: "conflicts", open: () => false, isHeadsDown: false }).tier).toBe(
      "T0_HEADS_DOWN",
    );
  });

  it("follows the first transition that fits", () => {
    const tiers = {
      cadencesMs,
      transitions: [{ from: ["*"], to: "T3_long_idle", when: "non_heartbeat_message" }] as const,
    };
    expect(changePace(NEW_PACE, { is: "mail" }, tiers).tier).toBe("T3_long_idle");
    expect(changePace(NEW_PACE, { is: "conflict", thread: "t" }, tiers)).toMatchObject({
      ...{ tier: "T1_active", conflicts: [] },
    });
  });

  it("is the fastest of all peers", () => {
    const slow = beats(NEW_PACE, 12);
    expect(fastestTier([slow, NEW_PACE, slow], TIERS)).toBe("T1_active");
    expect(fastestTier([], TIERS)).toBe("T1_active");
  });
});

describe("when a beat is due", () => {
  const first = restartTimer(NEW_BEAT_TIMER, { nowMs: 0, cadenceMs: 90_000, random: 0.5 });

  it("is at once after a start, then after the smaller of both cadences, with jitter", () => {
    expect(beatDueMs(NEW_BEAT_TIMER, 90_000)).toBe(-Infinity);
    expect([30_000, 90_000, 270_000].map((cadence) => beatDueMs(first, cadence))).toEqual([
      ...[30_000, 90_000, 90_000],
    ]);
    const jitter = [0, 0.999_999].map((random) =>
      beatDueMs(restartTimer(first, { nowMs: 0, cadenceMs: 100_000, random }), 100_000),
    );
    expect(jitter.map(Math.round)).toEqual([95_000, 105_000]);
  });

  it("is a second after news", () => {
    expect(beatDueMs(bringForward(first, 5_000), 90_000)).toBe(6_000);
    expect(beatDueMs(bringForward(bringForward(first, 5_000), 5_500), 90_000)).toBe(6_000);
  });
});

test("whatever news come, at most six beats a minute are brought forward", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 5_000 }), { maxLength: 200 }), (gaps) => {
      let timer: BeatTimer = restartTimer(NEW_BEAT_TIMER, {
        ...{ nowMs: 0, cadenceMs: 1_200_000, random: 0 },
      });
      const early: number[] = [];
      let nowMs = 0;
      for (const gap of gaps) {
        nowMs += gap;
        const dueMs = beatDueMs(timer, 1_200_000);
        if (dueMs <= nowMs) {
          early.push(nowMs);
          timer = restartTimer(timer, { nowMs, cadenceMs: 1_200_000, random: 0 });
        }
        timer = bringForward(timer, nowMs);
      }
      for (const [at, atMs] of early.entries()) {
        const sixth = early[at + 6];
        if (sixth !== undefined) expect(sixth - atMs).toBeGreaterThanOrEqual(60_000);
      }
    }),
  );
});
