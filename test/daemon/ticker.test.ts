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

function tickerOf(ticked: (atMs: number) => void): Ticker {
  const agent = {
    async tick() {
      ticked(Date.now() - began);
      return Promise.resolve(false);
    },
    nextDueMs: () => Infinity,
    monoMs: () => Date.now(),
  } as unknown as Agent;
  const began = Date.now();
  const log = { info: vi.fn(), warn: vi.fn(), error: vi.fn(), debug: vi.fn() };
  const options = { pollMs: 3_600_000, alive: () => undefined, aliveEveryMs: undefined };
  return makeTicker(agent, makeQueue(), log, options);
}

it("an act gets a round at once; many acts get ten a second", async () => {
  const rounds: number[] = [];
  const ticker = tickerOf((atMs) => rounds.push(atMs));
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
