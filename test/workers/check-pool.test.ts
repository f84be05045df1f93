import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { afterEach, expect, test } from "vitest";
import { makeSigner, publicKeyOf, type SignatureCheck } from "../../src/wire/signature.ts";
import { CheckPool } from "../../src/workers/check-pool.ts";
import { startCheckWorker } from "../../src/workers/check-worker.ts";

const TYPESCRIPT = new URL("../support/typescript.js", import.meta.url).href;

let started: Worker[] = [];
afterEach(async () => {
  await Promise.all(started.map((worker) => worker.terminate()));
  started = [];
});

/** A pool of real threads, and all that it has started. */
function poolOf(size: number, start: () => Worker = realWorker): CheckPool {
  return new CheckPool(() => {
    const worker = start();
    started.push(worker);
    return worker;
  }, size);
}

function realWorker(): Worker {
  return startCheckWorker(["--import", TYPESCRIPT]);
}

const secret = new Uint8Array(32).fill(7);
const signer = makeSigner("forge", secret);
const publicKey = publicKeyOf(secret);

/** Every third one does not hold, and each has a length of its own. */
function checks(count: number): SignatureCheck[] {
  return Array.from({ length: count }, (_, at) => {
    const bytes = Buffer.alloc(at % 50, at);
    const signature = signer.sign(bytes);
    if (!isValid(at)) signature[at % 64]! ^= 1;
    return { publicKey, bytes, signature };
  });
}

const isValid = (at: number): boolean => at % 3 !== 0;
const expected = (count: number): boolean[] =>
  Array.from({ length: count }, (_, at) => isValid(at));

test("a few signatures are checked where they are asked for", async () => {
  const pool = poolOf(2);
  expect(await pool.verifyAll(checks(64))).toEqual(expected(64));
  expect(await pool.verifyAll([])).toEqual([]);
  expect(started).toHaveLength(0);
});

test("many go to threads, in messages of 64, and come back in order", async () => {
  const messages: number[] = [];
  const pool = poolOf(2, () => {
    const worker = realWorker();
    const post = worker.postMessage.bind(worker);
    worker.postMessage = (packed: Uint8Array) => {
      messages.push(packed.length);
      post(packed);
    };
    return worker;
  });
  expect(await pool.verifyAll(checks(200))).toEqual(expected(200));
  expect([started.length, messages.length]).toEqual([2, 4]);
  // The threads are there, and are used again.
  const both = await Promise.all([pool.verifyAll(checks(65)), pool.verifyAll(checks(130))]);
  expect(both).toEqual([expected(65), expected(130)]);
  expect([started.length, messages.length]).toEqual([2, 9]);
});

test("a worker has enough to do while the thread that asks is busy", async () => {
  let posted = 0;
  const pool = poolOf(1, () => {
    const worker = realWorker();
    const post = worker.postMessage.bind(worker);
    worker.postMessage = (packed: Uint8Array) => {
      posted += 1;
      post(packed);
    };
    return worker;
  });
  const answer = pool.verifyAll(checks(1_000));
  // All of it, before this thread comes to take an answer.
  expect(posted).toBe(Math.ceil(1_000 / 64));
  expect(await answer).toEqual(expected(1_000));
});

test("bytes are judged as they were when they were asked about", async () => {
  const pool = poolOf(1);
  const asked = checks(100);
  const pending = pool.verifyAll(asked);
  for (const { bytes, signature } of asked) {
    bytes.fill(0);
    signature.fill(0);
  }
  expect(await pending).toEqual(expected(100));
});

test("keys and signatures of other lengths are not valid", async () => {
  const pool = poolOf(1);
  const asked = checks(90).map((check, at) => {
    if (at === 1) return { ...check, publicKey: check.publicKey.subarray(1) };
    if (at === 2) return { ...check, signature: new Uint8Array([...check.signature, 0]) };
    if (at === 4) return { ...check, signature: new Uint8Array(0) };
    return check;
  });
  const wrong = new Set([1, 2, 4]);
  expect(await pool.verifyAll(asked)).toEqual(expected(90).map((is, at) => is && !wrong.has(at)));
});

test("what a thread that dies was asked is checked all the same", async () => {
  const pool = poolOf(2);
  await pool.verifyAll(checks(128));
  expect(pool.workers).toBe(2);
  const pending = pool.verifyAll(checks(1_000));
  await started[0]!.terminate();
  expect(await pending).toEqual(expected(1_000));
});

test("threads that do not start are given up, and this one checks", async () => {
  const broken = new URL("no-such-file.js", import.meta.url);
  const pool = poolOf(2, () => new Worker(broken));
  expect(await pool.verifyAll(checks(300))).toEqual(expected(300));
  expect(await pool.verifyAll(checks(300))).toEqual(expected(300));
  expect(pool.workers).toBe(0);
  expect(started.length).toBeLessThanOrEqual(4);
});

test("where no thread can be made, this one checks", async () => {
  let tries = 0;
  const start = (): Worker => {
    tries += 1;
    throw Object.assign(new Error("no more threads"), { code: "ERR_WORKER_INIT_FAILED" });
  };
  const pool = new CheckPool(start, 4);
  expect(await pool.verifyAll(checks(300))).toEqual(expected(300));
  expect(tries).toBe(3);
});

test("on one core no thread is made, and other work has its turn between the checks", async () => {
  const pool = poolOf(0);
  let turns = 0;
  const count = (): void => {
    turns += 1;
    turning = setImmediate(count);
  };
  let turning = setImmediate(count);
  expect(await pool.verifyAll(checks(640))).toEqual(expected(640));
  clearImmediate(turning);
  expect(started).toHaveLength(0);
  expect(turns).toBeGreaterThanOrEqual(9);
});

test("threads that have nothing to do are ended, and start again", async () => {
  const pool = poolOf(1);
  await pool.verifyAll(checks(65));
  await once(started[0]!, "exit");
  expect(pool.workers).toBe(0);
  expect(await pool.verifyAll(checks(65))).toEqual(expected(65));
  expect(started).toHaveLength(2);
});

test("threads keep no process alive that waits for nothing, and one that waits lives on", () => {
  const pool = new URL("../../src/workers/check-pool.ts", import.meta.url).href;
  const worker = new URL("../../src/workers/check-worker.ts", import.meta.url).href;
  const script = `
    import { CheckPool } from ${JSON.stringify(pool)};
    import { startCheckWorker } from ${JSON.stringify(worker)};
    const check = { publicKey: new Uint8Array(32), bytes: new Uint8Array(1), signature: new Uint8Array(64) };
    const pool = new CheckPool(() => startCheckWorker(["--import", ${JSON.stringify(TYPESCRIPT)}]), 1);
    process.on("exit", () => console.log("ends beside", pool.workers));
    const verdicts = await pool.verifyAll(Array.from({ length: 100 }, () => check));
    console.log(verdicts.length, "verdicts");`;
  const args = ["--import", TYPESCRIPT, "--input-type=module", "--eval", script];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  expect([stdout, stderr]).toEqual(["100 verdicts\nends beside 1\n", ""]);
});
