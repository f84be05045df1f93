import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import type { SignedLine } from "./peer-log.ts";

// Plain JavaScript, so that it starts from TypeScript and from the build alike.
const WORKER = `
const { createPublicKey, verify } = require("node:crypto");
const { parentPort, workerData } = require("node:worker_threads");
const der = Buffer.concat([Buffer.from("302a300506032b6570032100", "hex"), workerData]);
const key = createPublicKey({ key: der, format: "der", type: "spki" });
parentPort.on("message", (items) => {
  let valid = 0;
  for (const { signed, signature } of items) if (verify(null, signed, key, signature)) valid += 1;
  parentPort.postMessage(valid);
});`;

/** `crypto.verify` and nothing else, a thread on every core. */
export interface RawVerify {
  /** Milliseconds that it takes; handing the work over is not counted in. */
  run(lines: readonly SignedLine[]): Promise<number>;
  close(): Promise<void>;
}

export function openRawVerify(publicKey: Uint8Array): RawVerify {
  const workers = Array.from(
    { length: availableParallelism() },
    () => new Worker(WORKER, { eval: true, workerData: publicKey }),
  );

  async function verified(shares: readonly (readonly SignedLine[])[]): Promise<number> {
    const answers = workers.map((worker, at) => ask(worker, shares[at] ?? []));
    const counts = await Promise.all(answers);
    return counts.reduce((total, count) => total + count, 0);
  }

  return {
    async run(lines) {
      const size = Math.ceil(lines.length / workers.length);
      const shares = workers.map((_, at) =>
        lines.slice(at * size, (at + 1) * size).map(({ signed, signature }) => {
          return { bytes: new Uint8Array(0), signed, signature };
        }),
      );
      await verified([]);
      const startedMs = performance.now();
      const valid = await verified(shares);
      const tookMs = performance.now() - startedMs;
      if (valid !== lines.length) throw new Error(`${lines.length - valid} signatures are bad`);
      return tookMs;
    },
    async close() {
      await Promise.all(workers.map((worker) => worker.terminate()));
    },
  };
}

function ask(worker: Worker, items: readonly SignedLine[]): Promise<number> {
  return new Promise((resolve, reject) => {
    worker.once("error", reject);
    worker.once("message", (valid: number) => {
      worker.off("error", reject);
      resolve(valid);
    });
    worker.postMessage(items);
  });
}
