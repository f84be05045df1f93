import { expect, test } from "vitest";
import { makeRoundWaiters } from "../../src/daemon/round-waiters.ts";
import type { Wake } from "../../src/daemon/wake.ts";

/** How long a waiter asks: by a clock that the test moves. */
const WAIT_MS = 1_000;

/** A clock that moves when the test says so. */
function clock() {
  const due = new Set<() => void>();
  const wake: Wake = (_inMs, ring) => {
    due.add(ring);
    return () => due.delete(ring);
  };
  return {
    wake,
    pending: () => due.size,
    ring: () => {
      for (const ring of due) ring();
    },
  };
}

/** What is asked, and how often. */
function question(answerAt: number) {
  let asked = 0;
  const ask = async () => {
    asked += 1;
    return asked === answerAt ? `answer ${asked}` : undefined;
  };
  return { ask, asked: () => asked };
}

/** Until everything that can go on without us has gone on. */
const turn = () => new Promise((resolve) => setImmediate(resolve));

test("asks at once, then once after each round, and not between rounds", async () => {
  const { wake, pending } = clock();
  const waiters = makeRoundWaiters(wake);
  const { ask, asked } = question(3);
  const answer = waiters.until(ask, WAIT_MS);
  await turn();
  expect(asked()).toBe(1);
  await turn();
  expect(asked()).toBe(1);
  waiters.rounded();
  await turn();
  expect(asked()).toBe(2);
  waiters.rounded();
  expect(await answer).toBe("answer 3");
  waiters.rounded();
  await turn();
  expect([asked(), pending()]).toEqual([3, 0]);
});

test("an answer that is there costs no round", async () => {
  const { ask, asked } = question(1);
  expect(await makeRoundWaiters(clock().wake).until(ask, WAIT_MS)).toBe("answer 1");
  expect(asked()).toBe(1);
});

test("a round that ends while it asks is not missed", async () => {
  const waiters = makeRoundWaiters(clock().wake);
  let asked = 0;
  const answer = waiters.until(async () => {
    asked += 1;
    if (asked === 1) waiters.rounded();
    return asked === 2 ? "seen" : undefined;
  }, WAIT_MS);
  expect(await answer).toBe("seen");
});

test("gives up when the time is over, and when the daemon ends, after a last look", async () => {
  const { wake, ring } = clock();
  const waiters = makeRoundWaiters(wake);
  const late = question(9);
  const tooLate = waiters.until(late.ask, WAIT_MS);
  await turn();
  ring();
  expect(await tooLate).toBeUndefined();
  const ended = waiters.until(late.ask, WAIT_MS);
  await turn();
  waiters.stop();
  expect(await ended).toBeUndefined();
  expect(await waiters.until(late.ask, WAIT_MS)).toBeUndefined();
  expect(late.asked()).toBe(5);
});

test("what goes wrong with the question is told, and nobody waits on", async () => {
  const { wake, pending } = clock();
  const waiters = makeRoundWaiters(wake);
  const broken = async () => Promise.reject(new Error("no disk"));
  await expect(waiters.until(broken, WAIT_MS)).rejects.toThrow("no disk");
  expect(pending()).toBe(0);
});
