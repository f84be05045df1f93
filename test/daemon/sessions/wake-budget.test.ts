import { expect, test } from "vitest";
import {
  isQuietAt,
  WakeBudget,
  type WakingMessage,
} from "../../../src/daemon/sessions/wake-budget.ts";

const LIMITS = { "wake.per_peer": 6, "wake.per_thread": 3, "wake.per_hour": 20 };
const HOUR = 3_600_000;

const budgetOf = () => new WakeBudget({ load: () => [], save: () => undefined });

/** How often in a row these may wake. */
function timesOf(
  budget: WakeBudget,
  peers: readonly string[],
  messageOf: (at: number) => WakingMessage,
  nowMs = 0,
): number {
  for (let count = 0; ; count += 1) {
    const allowed = budget.allowed([messageOf(count)], LIMITS, { peers, nowMs });
    if (allowed.length === 0) return count;
    budget.spend(allowed, nowMs);
  }
}

test("a thread wakes three times in an hour, a peer five times, and once more for urgent mail", () => {
  const budget = budgetOf();
  const urgent = false;
  const same = () => ({ from: "a", thread: "t", urgent });
  expect(timesOf(budget, ["a", "b"], same)).toBe(3);
  expect(timesOf(budget, ["a", "b"], (at) => ({ from: "a", thread: `${at}`, urgent }))).toBe(2);
  expect(timesOf(budget, ["a", "b"], () => ({ ...same(), urgent: true }))).toBe(1);
  expect(timesOf(budget, ["a", "b"], (at) => ({ from: "b", thread: `b${at}`, urgent }))).toBe(5);
  const later = (at: number) => ({ from: "a", thread: `later ${at}`, urgent: true });
  expect(timesOf(budget, ["a", "b"], later, HOUR - 1)).toBe(0);
  expect(timesOf(budget, ["a", "b"], later, HOUR)).toBe(6);
});

test("twenty wake in all, and each of ten peers keeps a share of it", () => {
  const peers = Array.from({ length: 10 }, (_, at) => `peer${at}`);
  const budget = budgetOf();
  const often = (from: string) =>
    timesOf(budget, peers, (at) => ({ from, thread: `${from} ${at}`, urgent: true }));
  const loud = peers.slice(0, 5).map(often);
  expect(loud.reduce((sum, count) => sum + count, 0)).toBe(15);
  expect(peers.slice(5).map(often)).toEqual([1, 1, 1, 1, 1]);
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
