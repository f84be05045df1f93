import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Schedule } from "../../src/transport/schedule.ts";
import { SECOND_MS } from "../../src/wire/durations.ts";
import { afterMs } from "../support/after-ms.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

const COMMIT_MS = SECOND_MS;
const SEND_MS = 500;
const FETCH_MS = 2 * SECOND_MS;

/** A remote takes a commit only on top of its newest one, as git does. */
class Remote {
  version = 0;
  readonly pushes = new Map<string, number>();

  /** A host that speaks all the time. */
  host(name: string, firstMs: number): Schedule {
    let known = 0;
    const push = async (): Promise<void> => {
      for (;;) {
        await after(COMMIT_MS);
        await after(SEND_MS);
        if (known === this.version) break;
        await after(FETCH_MS);
        known = this.version;
      }
      known = ++this.version;
      this.pushes.set(name, (this.pushes.get(name) ?? 0) + 1);
    };
    const schedule = new Schedule(world, { mayMove: () => true }, ({ push: isDue }) =>
      isDue ? push() : Promise.resolve(),
    );
    setTimeout(() => {
      schedule.start();
      setInterval(() => schedule.push("soon"), 100);
    }, firstMs);
    return schedule;
  }
}

function after(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms));
}

const world = {
  after: afterMs,
  clock: { wallMs: () => Date.now(), monoMs: () => Date.now() },
  random: () => 0.5,
  cadenceMs: () => 30 * SECOND_MS,
  log: { warn: () => undefined },
  failed: (error: unknown) => {
    throw error;
  },
};

test("of two hosts that speak all the time and push slowly, both come to push", async () => {
  const remote = new Remote();
  remote.host("forge", 0);
  remote.host("scribe", 700);
  await vi.advanceTimersByTimeAsync(120 * SECOND_MS);
  expect([...remote.pushes.keys()].sort()).toEqual(["forge", "scribe"]);
  const counts = [...remote.pushes.values()];
  expect(Math.min(...counts) * 3).toBeGreaterThan(Math.max(...counts));
});

test("a slow push makes the next one wait for ten seconds at most", async () => {
  const began: number[] = [];
  const schedule = new Schedule(world, { mayMove: () => true }, async ({ push }) => {
    if (!push) return;
    began.push(Date.now());
    await after(60 * SECOND_MS);
  });
  schedule.start();
  schedule.push("soon");
  await vi.advanceTimersByTimeAsync(SECOND_MS);
  schedule.push("soon");
  await vi.advanceTimersByTimeAsync(80 * SECOND_MS);
  const [first = NaN, second = NaN] = began;
  expect(second - first).toBe(70 * SECOND_MS);
});
