import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Agent } from "../../src/agent/agent.ts";
import { makeQueue } from "../../src/agent/session/queue.ts";
import { silentLogger } from "../../src/agent/session/world.ts";
import { DeaddropError } from "../../src/api/errors.ts";
import { watchCards } from "../../src/daemon/card-watcher.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

function watched(meets: () => void = () => undefined) {
  const scene = { look: "first", key: "forge:1", met: 0 };
  const agent = {
    get place() {
      return { identity: { signer: { keyId: scene.key } } };
    },
    carriers: { layout: () => ({ handles: ["forge", "scribe"] }) },
    reload: () => Promise.resolve(),
    monoMs: () => Date.now(),
  } as unknown as Pick<Agent, "place" | "carriers" | "reload" | "monoMs">;
  const watcher = watchCards(agent, makeQueue(), silentLogger, {
    look: () => `${scene.key} ${scene.look}`,
    meet: () => {
      scene.met += 1;
      meets();
      return { pinned: [], restarted: new Map() };
    },
  });
  /** Time passes; the daemon has a round with each safety poll, every half minute. */
  async function pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= MINUTE / 2) {
      await vi.advanceTimersByTimeAsync(Math.min(left, MINUTE / 2));
      watcher.rounded();
      await vi.advanceTimersByTimeAsync(0);
    }
  }
  return { scene, watcher, pass };
}

test("cards are read when a file has changed, and at the latest after ten minutes", async () => {
  const { scene, watcher, pass } = watched();
  await pass(9 * MINUTE);
  expect(scene.met).toBe(1);
  scene.look = "second";
  await pass(MINUTE / 2);
  expect(scene.met).toBe(2);
  await pass(11 * MINUTE);
  expect(scene.met).toBe(3);
  watcher.stop();
});

test("rounds that follow each other closely look at the cards once in 25 seconds", async () => {
  const { scene, watcher } = watched(() => {
    throw new DeaddropError("config", "read again each time");
  });
  for (let second = 0; second < 100; second += 1) {
    watcher.rounded();
    await vi.advanceTimersByTimeAsync(SECOND);
  }
  // At once, and after 25, 50 and 75 seconds.
  expect(scene.met).toBe(4);
  watcher.stop();
});

test("a card that is written again and again is looked at once a second", async () => {
  const { scene, watcher } = watched();
  await vi.advanceTimersByTimeAsync(5 * SECOND);
  for (let write = 0; write < 100; write += 1) {
    scene.look = `write ${write}`;
    watcher.changed("scribe.card.json");
    await vi.advanceTimersByTimeAsync(50);
  }
  expect(scene.met).toBe(1 + 6);
  await vi.advanceTimersByTimeAsync(2 * SECOND);
  expect(scene.met).toBe(1 + 6);
  watcher.stop();
});

test("a key of ours that is another one is shown at once; other files say nothing of cards", async () => {
  const { scene, watcher } = watched();
  await vi.advanceTimersByTimeAsync(2 * SECOND);
  watcher.changed("forge_to_scribe.jsonl");
  await vi.advanceTimersByTimeAsync(2 * SECOND);
  expect(scene.met).toBe(1);
  scene.key = "forge:2";
  watcher.changed("forge_to_scribe.jsonl");
  await vi.advanceTimersByTimeAsync(0);
  expect(scene.met).toBe(2);
  watcher.stop();
});

test("what could not be read is read again with the next look", async () => {
  let fails = true;
  const { scene, watcher, pass } = watched(() => {
    if (fails) throw new DeaddropError("config", "no trust store");
  });
  await pass(MINUTE / 2);
  expect(scene.met).toBe(2);
  fails = false;
  await pass(5 * MINUTE);
  expect(scene.met).toBe(3);
  watcher.stop();
});
