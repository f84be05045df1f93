import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Schedule } from "../../../src/carriers/git/schedule.ts";
import { TransportError, type Urgency } from "../../../src/carriers/carrier.ts";
import { SECOND_MS } from "../../../src/wire/durations.ts";
import { afterMs } from "../../support/after-ms.ts";

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
    const push = async (): Promise<boolean> => {
      for (;;) {
        await after(COMMIT_MS);
        await after(SEND_MS);
        if (known === this.version) break;
        await after(FETCH_MS);
        known = this.version;
      }
      known = ++this.version;
      this.pushes.set(name, (this.pushes.get(name) ?? 0) + 1);
      return true;
    };
    const schedule = new Schedule(world, ({ push: isDue }) =>
      isDue ? push() : Promise.resolve(false),
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
  const schedule = new Schedule(world, async ({ push }) => {
    if (!push) return false;
    began.push(Date.now());
    await after(60 * SECOND_MS);
    return true;
  });
  schedule.start();
  schedule.push("soon");
  await vi.advanceTimersByTimeAsync(SECOND_MS);
  schedule.push("soon");
  await vi.advanceTimersByTimeAsync(80 * SECOND_MS);
  const [first = NaN, second = NaN] = began;
  expect(second - first).toBe(70 * SECOND_MS);
});

test("the pause grows while no commit of another host comes between ours, and then begins anew", async () => {
  const began: number[] = [];
  const startedMs = Date.now();
  const schedule = new Schedule(world, async ({ push }) => {
    if (push) began.push(Math.round((Date.now() - startedMs) / SECOND_MS));
    return push;
  });
  schedule.start();
  const talk = setInterval(() => schedule.push("soon"), 100);
  await vi.advanceTimersByTimeAsync(33 * SECOND_MS);
  expect(began).toEqual([0, 1, 2, 4, 8, 16, 24, 32]);
  schedule.noteOthers();
  await vi.advanceTimersByTimeAsync(12 * SECOND_MS);
  expect(began.slice(8)).toEqual([40, 41, 42, 44]);
  // Nothing said for a while was turn enough.
  clearInterval(talk);
  await vi.advanceTimersByTimeAsync(60 * SECOND_MS);
  began.length = 0;
  schedule.push("soon");
  await vi.advanceTimersByTimeAsync(SECOND_MS);
  schedule.push("soon");
  await vi.advanceTimersByTimeAsync(2 * SECOND_MS);
  expect(began).toHaveLength(2);
});

test("a receipt is pushed within seconds, with the answer that follows it", async () => {
  const pushes: number[] = [];
  const startedMs = Date.now();
  const schedule = new Schedule(world, async ({ push }) => {
    if (push) pushes.push(Date.now() - startedMs);
    return push;
  });
  schedule.start();
  schedule.push("receipt");
  await vi.advanceTimersByTimeAsync(5 * SECOND_MS);
  expect(pushes).toEqual([2 * SECOND_MS]);
  schedule.push("receipt");
  schedule.push("soon");
  await vi.advanceTimersByTimeAsync(SECOND_MS);
  expect(pushes).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(20 * SECOND_MS);
  expect(pushes).toHaveLength(2);
});

/** At which seconds of a minute a host looks at the remote, after a push of that kind at 0.1 s. */
async function looksAfter(when: Urgency, isPushed: boolean): Promise<number[]> {
  const looks: number[] = [];
  const startedMs = Date.now();
  const schedule = new Schedule(world, ({ fetch, push }) => {
    if (fetch) looks.push(Math.round((Date.now() - startedMs) / SECOND_MS));
    return Promise.resolve(push && isPushed);
  });
  schedule.start();
  await vi.advanceTimersByTimeAsync(100);
  schedule.push(when);
  await vi.advanceTimersByTimeAsync(60 * SECOND_MS);
  await schedule.stop();
  return looks;
}

test("after we have said something, an answer is looked for soon, then less and less often", async () => {
  expect(await looksAfter("soon", true)).toEqual([0, 2, 6, 14, 30]);
});

test("a heartbeat, and a push of nothing, are no reason to look more often", async () => {
  expect(await looksAfter("cadence", true)).toEqual([0, 30, 60]);
  expect(await looksAfter("receipt", true)).toEqual([0, 30, 60]);
  expect(await looksAfter("soon", false)).toEqual([0, 30, 60]);
});

test.each([
  ["T0_HEADS_DOWN", 30, 2_880],
  ["T1_ACTIVE", 90, 2_880],
  ["T2_IDLE", 270, 320],
  ["T3_LONG_IDLE", 1_200, 72],
])(
  "an agent that says nothing looks at the remote so often in a day: %s",
  async (_tier, seconds, fetches) => {
    let count = 0;
    const tier = { ...world, cadenceMs: () => seconds * SECOND_MS };
    const schedule = new Schedule(tier, ({ fetch }) => {
      if (fetch) count += 1;
      return Promise.resolve(false);
    });
    schedule.start();
    await vi.advanceTimersByTimeAsync(24 * 3_600 * SECOND_MS - 1);
    expect(count).toBe(fetches);
    await schedule.stop();
  },
);

test.each([
  ["unreachable", [0, 1, 3, 7, 15, 31, 63, 127, 255, 511, 811, 1_111]],
  ["stopped", [0, 300, 600, 900]],
] as const)("what fails is tried again after growing pauses: %s", async (code, seconds) => {
  const tries: number[] = [];
  const startedMs = Date.now();
  let isBack = false;
  const schedule = new Schedule(world, ({ fetch, push }) => {
    tries.push(Math.round((Date.now() - startedMs) / SECOND_MS));
    expect([fetch, push]).toEqual([true, true]);
    if (isBack) return Promise.resolve(true);
    return Promise.reject(new TransportError(code, "away", { hint: "wait" }));
  });
  schedule.push("soon");
  await vi.advanceTimersByTimeAsync(10);
  schedule.start();
  await vi.advanceTimersByTimeAsync((seconds.at(-1) ?? 0) * SECOND_MS);
  expect(tries).toEqual(seconds);
  expect(schedule.problem).toMatchObject({ code, sinceMs: startedMs + 10 });
  // Whoever knows that it is back need not wait.
  isBack = true;
  schedule.tryNow();
  await vi.advanceTimersByTimeAsync(10);
  expect(tries).toHaveLength(seconds.length + 1);
  expect(schedule.problem).toBeUndefined();
  await schedule.stop();
});
