import { expect, test } from "vitest";
import { isQuietAt } from "../../../src/daemon/sessions/quiet-times.ts";
import { WakeBudget } from "../../../src/daemon/sessions/wake-budget.ts";

const LIMITS = { perPeer: 6, perThread: 3, inAll: 20 };
const HOUR = 3_600_000;

/** How often in a row these may wake. */
function timesOf(
  budget: WakeBudget,
  peers: readonly string[],
  messageOf: (at: number) => { from: string; thread: string },
  nowMs = 0,
): number {
  for (let count = 0; ; count += 1) {
    const allowed = budget.allowed([messageOf(count)], LIMITS, { peers, nowMs });
    if (allowed.length === 0) return count;
    budget.spend(allowed, nowMs);
  }
}

test("a thread wakes three times in an hour, a peer six times", () => {
  const budget = new WakeBudget();
  expect(timesOf(budget, ["a", "b"], () => ({ from: "a", thread: "t" }))).toBe(3);
  expect(timesOf(budget, ["a", "b"], (at) => ({ from: "a", thread: `${at}` }))).toBe(3);
  expect(timesOf(budget, ["a", "b"], (at) => ({ from: "b", thread: `b${at}` }))).toBe(6);
  const later = (at: number) => ({ from: "a", thread: `later ${at}` });
  expect(timesOf(budget, ["a", "b"], later, HOUR - 1)).toBe(0);
  expect(timesOf(budget, ["a", "b"], later, HOUR)).toBe(6);
});

test("twenty wake in all, and each of ten peers keeps a share of it", () => {
  const peers = Array.from({ length: 10 }, (_, at) => `peer${at}`);
  const budget = new WakeBudget();
  const loud = peers
    .slice(0, 5)
    .map((from) => timesOf(budget, peers, (at) => ({ from, thread: `${from} ${at}` })));
  const total = loud.reduce((sum, count) => sum + count, 0);
  expect(total).toBe(15);
  const calm = peers
    .slice(5)
    .map((from) => timesOf(budget, peers, (at) => ({ from, thread: `${from} ${at}` })));
  expect(calm).toEqual([1, 1, 1, 1, 1]);
});

test.each([
  ["22:00-07:00", "2026-11-23T23:30:00", true],
  ["22:00-07:00", "2026-11-23T06:59:00", true],
  ["22:00-07:00", "2026-11-23T07:00:00", false],
  ["12:00-13:00", "2026-11-23T12:00:00", true],
  ["12:00-13:00", "2026-11-23T13:00:00", false],
  ["", "2026-11-23T13:00:00", false],
])("%s at %s is quiet: %s", (quiet, at, expected) => {
  expect(isQuietAt(quiet, new Date(at))).toBe(expected);
});
