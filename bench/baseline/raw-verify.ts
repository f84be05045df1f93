import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import type { Wire } from "../stage/wire.ts";
import { timed, type Took } from "../stage/took.ts";
import { modulePath, nodeArgs } from "../stage/processes.ts";
import type { Engine, Packed } from "./verify-worker.ts";

/** Nothing but the signature checks of all lines of the peers' logs, a thread on every core. */
export interface RawVerify {
  run(): Promise<Took>;
  close(): Promise<void>;
}

const ID_BYTES = 32;
const ITEM_BYTES = 96;

export function openRawVerify(wire: Wire, engine: Engine): RawVerify {
  const packed = packLogs(wire);
  const count = availableParallelism();
  const workers = Array.from({ length: count }, (_, share) => {
    const workerData = { engine, packed, share, shares: count };
    return new Worker(modulePath("baseline/verify-worker"), {
      workerData,
      execArgv: [...nodeArgs],
    });
  });
  const total = packed.reduce((lines, { items }) => lines + items.byteLength / ITEM_BYTES, 0);

  async function verified(passes: 0 | 1): Promise<number> {
    const counts = await Promise.all(workers.map((worker) => ask(worker, passes)));
    return counts.reduce((sum, each) => sum + each, 0);
  }

  return {
    async run() {
      await verified(0);
      let valid = 0;
      const took = await timed(async () => {
        valid = await verified(1);
      });
      if (valid !== total) throw new Error(`${total - valid} signatures are bad`);
      return took;
    },
    async close() {
      await Promise.all(workers.map((worker) => worker.terminate()));
    },
  };
}

/** For each log what is signed, and the signatures. */
function packLogs(wire: Wire): Packed[] {
  return wire.peers.map((peer) => {
    const lines = readFileSync(wire.carrierOf(peer), "utf8").trimEnd().split("\n");
    const items = new Uint8Array(new SharedArrayBuffer(lines.length * ITEM_BYTES));
    for (const [at, line] of lines.entries()) {
      const fields = JSON.parse(line) as { event_id: string; signature: string };
      items.set(Buffer.from(fields.event_id, "hex"), at * ITEM_BYTES);
      items.set(Buffer.from(fields.signature, "base64"), at * ITEM_BYTES + ID_BYTES);
    }
    return { publicKey: new Uint8Array(wire.place(peer).identity.publicKey), items };
  });
}

function ask(worker: Worker, passes: 0 | 1): Promise<number> {
  return new Promise((resolve, reject) => {
    worker.once("error", reject);
    worker.once("message", (valid: number) => {
      worker.off("error", reject);
      resolve(valid);
    });
    worker.postMessage(passes);
  });
}
