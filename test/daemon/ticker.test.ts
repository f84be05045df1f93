import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Agent } from "../../src/agent/agent.ts";
import { makeQueue } from "../../src/agent/session/queue.ts";
import { makeTicker, type Ticker } from "../../src/daemon/ticker.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function tickerOf(
  synced: number[],
  isSynced = (): boolean => false,
  ticked: (atMs: number) => void = () => undefined,
): Ticker {
  const agent = {
    async tick() {
      ticked(Date.now() - began);
      return Promise.resolve(false);
    },
    sync: () => Promise.resolve(void synced.push(Date.now() - began)),
    nextDueMs: () => Infinity,
    get isSynced() {
      return isSynced();
    },
    monoMs: () => Date.now(),
  } as unknown as Agent;
  const began = Date.now();
  const log = { info: vi.fn(), warn: vi.fn(), error: vi.fn(), debug: vi.fn() };
  const options = { pollMs: 3_600_000, alive: () => undefined, aliveEveryMs: undefined };
  return makeTicker(agent, makeQueue(), log, options);
}

it("syncs two seconds after the last round, once", async () => {
  const synced: number[] = [];
  const ticker = tickerOf(synced);
  await ticker.now();
  await vi.advanceTimersByTimeAsync(1_000);
  await ticker.now();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(synced).toEqual([3_000]);
  ticker.stop();
});

it("syncs every half minute on a wire that is never quiet", async () => {
  const synced: number[] = [];
  const ticker = tickerOf(synced);
  for (let second = 0; second < 65; second += 1) {
    await ticker.now();
    await vi.advanceTimersByTimeAsync(1_000);
  }
  expect(synced).toEqual([30_000, 60_000]);
  ticker.stop();
});

it("a round in which nothing happened is no reason to wake up again", async () => {
  const synced: number[] = [];
  let isSynced = true;
  const ticker = tickerOf(synced, () => isSynced);
  await ticker.now();
  await vi.advanceTimersByTimeAsync(0);
  // What of ours was removed is looked for at once.
  expect(synced).toEqual([0]);
  expect(vi.getTimerCount()).toBe(1);
  isSynced = false;
  await vi.advanceTimersByTimeAsync(1_000);
  await ticker.now();
  isSynced = true;
  await ticker.now();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(synced).toEqual([0, 3_000]);
  ticker.stop();
});

it("an act gets a round at once; many acts get ten a second", async () => {
  const rounds: number[] = [];
  const ticker = tickerOf([], undefined, (atMs) => rounds.push(atMs));
  ticker.later();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(rounds).toEqual([25]);
  for (let at = 0; at < 100; at += 1) {
    ticker.later();
    await vi.advanceTimersByTimeAsync(5);
  }
  expect(rounds.slice(1)).toEqual([1_025, 1_125, 1_225, 1_325, 1_425]);
  // What peers write does not wait.
  await ticker.now();
  expect(rounds.at(-1)).toBe(1_500);
  ticker.stop();
});
