import { describe, expect, test } from "vitest";
import {
  costsToken,
  newBucket,
  setDayBack,
  STORAGE_BYTES_PER_DAY,
  store,
  take,
  type Bucket,
  waitForToken,
} from "../../src/admission/rate-limits.ts";

const LIMIT = 60;

/** How many tokens can be taken at once. */
function drain(bucket: Bucket, nowMs: number): { count: number; bucket: Bucket } {
  let count = 0;
  let current = bucket;
  for (;;) {
    const taken = take(current, nowMs, LIMIT);
    if (!taken.ok) return { count, bucket: taken.bucket };
    current = taken.bucket;
    count += 1;
  }
}

describe("the token bucket", () => {
  test("lets a peer that we have just met send one minute's worth", () => {
    expect(drain(newBucket(LIMIT, 0), 0).count).toBe(LIMIT);
  });

  test("gains the limit every minute", () => {
    const { bucket } = drain(newBucket(LIMIT, 0), 0);
    expect(drain(bucket, 999).count).toBe(0);
    expect(drain(bucket, 1_000).count).toBe(1);
    expect(drain(bucket, 60_000).count).toBe(LIMIT);
  });

  test("holds ten times the limit after silence, and no more", () => {
    expect(drain(newBucket(LIMIT, 0), 3_600_000).count).toBe(10 * LIMIT);
  });

  test("passes no more than the limit over a long time, however the lines come", () => {
    let bucket = drain(newBucket(LIMIT, 0), 0).bucket;
    let passed = 0;
    for (let nowMs = 0; nowMs < 600_000; nowMs += 7) {
      const taken = take(bucket, nowMs, LIMIT);
      bucket = taken.bucket;
      if (taken.ok) passed += 1;
    }
    expect(passed).toBeGreaterThanOrEqual(598);
    expect(passed).toBeLessThanOrEqual(600);
  });

  test("gives nothing for a clock that goes back", () => {
    const { bucket } = drain(newBucket(LIMIT, 10_000), 10_000);
    const back = drain(bucket, 0);
    expect(back.count).toBe(0);
    expect(drain(back.bucket, 10_000).count).toBe(0);
  });

  test("says how long to wait", () => {
    const { bucket } = drain(newBucket(LIMIT, 0), 0);
    expect(waitForToken(bucket, 0, LIMIT)).toBe(1_000);
    expect(waitForToken(bucket, 400, LIMIT)).toBe(600);
    expect(waitForToken(bucket, 1_000, LIMIT)).toBe(0);
    expect(waitForToken(bucket, 9_000, LIMIT)).toBe(0);
    expect(take(bucket, waitForToken(bucket, 0, 7), 7).ok).toBe(true);
    expect(waitForToken(bucket, 0, 0)).toBe(Infinity);
  });

  test("is spent by live lines other than beats", () => {
    const types = ["heartbeat", "ack", "incident", "feedback", "proposal", "claim", "kind:1999"];
    const spending = types.filter((type) => costsToken(type, true, "VERIFIED"));
    expect(spending).toEqual(["ack", "incident", "feedback", "proposal", "claim", "kind:1999"]);
    expect(types.filter((type) => costsToken(type, false, "VERIFIED"))).toEqual([]);
    expect(types.filter((type) => costsToken(type, true, "TRUSTED"))).toEqual([]);
  });
});

describe("the daily allowance", () => {
  const DAY_MS = 86_400_000;
  const none = { day: 0, bytes: 0 };

  test("is 64 MiB", () => {
    const full = store(none, DAY_MS, STORAGE_BYTES_PER_DAY);
    expect(full).toEqual({ ok: true, use: { day: 1, bytes: 67_108_864 } });
    expect(store(full.use, 2 * DAY_MS - 1, 1)).toEqual({ ok: false, use: full.use });
    expect(store(full.use, 2 * DAY_MS, 1)).toEqual({ ok: true, use: { day: 2, bytes: 1 } });
  });

  test("is not charged for what is held back", () => {
    const { use } = store(none, DAY_MS, 10);
    expect(store(use, DAY_MS, STORAGE_BYTES_PER_DAY).use).toEqual(use);
    expect(store(use, DAY_MS, 20)).toEqual({ ok: true, use: { day: 1, bytes: 30 } });
  });

  test("is not granted twice when the clock is set back", () => {
    const full = store(none, 5 * DAY_MS, STORAGE_BYTES_PER_DAY);
    expect(store(full.use, 4 * DAY_MS, 1).ok).toBe(false);
  });

  test("waits for no day that a clock was in by mistake", () => {
    const full = store(none, 90 * DAY_MS, STORAGE_BYTES_PER_DAY);
    const back = setDayBack(full.use, 5 * DAY_MS);
    expect(store(back, 5 * DAY_MS, 1).ok).toBe(false);
    expect(store(back, 6 * DAY_MS, 1)).toEqual({ ok: true, use: { day: 6, bytes: 1 } });
    expect(setDayBack({ day: 4, bytes: 1 }, 5 * DAY_MS)).toEqual({ day: 4, bytes: 1 });
  });
});
