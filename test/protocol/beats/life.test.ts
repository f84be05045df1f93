import { describe, expect, it } from "vitest";
import { isSignOfLife, presence, type LifeLimits } from "../../../src/protocol/beats/life.ts";
import { DEFAULT_HEARTBEAT_TIERS as TIERS } from "../../../src/trust/policy/heartbeat-tiers.ts";

const NOW = Date.parse("2026-06-01T10:00:00Z");
const SKEW = 300_000;
const MINUTE = 60_000;

describe("a sign of life", () => {
  const isAlive = (datedMs: number, limits: Partial<LifeLimits> = {}): boolean =>
    isSignOfLife(
      { datedMs, receivedMs: NOW },
      { latestMs: undefined, skewMs: SKEW, lackedMs: undefined, ...limits },
    );

  it("is a beat that is dated within the skew of its receipt", () => {
    const dates = [NOW - SKEW - 1, NOW - SKEW, NOW, NOW + SKEW, NOW + SKEW + 1];
    expect(dates.map((datedMs) => isAlive(datedMs))).toEqual([false, true, true, true, false]);
  });

  it("is dated later than all beats of its author before", () => {
    expect(isAlive(NOW, { latestMs: NOW - 1 })).toBe(true);
    expect(isAlive(NOW, { latestMs: NOW })).toBe(false);
  });

  it("may be as old as the last fetch that did not bring it", () => {
    const hourAgo = NOW - 60 * MINUTE;
    expect(isAlive(hourAgo)).toBe(false);
    expect(isAlive(hourAgo, { lackedMs: hourAgo + SKEW })).toBe(true);
    expect(isAlive(hourAgo, { lackedMs: hourAgo + SKEW + 1 })).toBe(false);
  });
});

describe("presence", () => {
  const at = (ageMs: number, cadenceMs?: number, isPaused = false): string =>
    presence({ receivedMs: NOW - ageMs, isPaused, cadenceMs }, TIERS, NOW);

  it("is unknown without a sign of life, and paused where that says so", () => {
    expect(presence(undefined, TIERS, NOW)).toBe("unknown");
    expect(at(100 * MINUTE, 30_000, true)).toBe("paused");
  });

  it("follows the cadence that was advertised", () => {
    expect([60_000, 60_001, 299_999, 300_000].map((age) => at(age, 30_000))).toEqual([
      ...["online", "late", "late", "silent"],
    ]);
    expect([540_000, 540_001, 809_999, 810_000].map((age) => at(age, 270_000))).toEqual([
      ...["online", "late", "late", "silent"],
    ]);
  });

  it("takes no cadence as that of T1, and a longer one than that of T3 as that", () => {
    expect([180_000, 180_001].map((age) => at(age))).toEqual(["online", "late"]);
    expect([2_400_000, 2_400_001].map((age) => at(age, 86_400_000))).toEqual(["online", "late"]);
  });
});
