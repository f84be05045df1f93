import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { openClient } from "../src/client/open-client.ts";
import type { Client } from "../src/api/client.ts";
import type { Draft } from "../src/wire/compose.ts";
import { percentile, sum, type Row } from "./figures.ts";
import { makeStage, pause, PEER, READER, type Stage } from "./stage.ts";

const LINE_BYTES = 600;
const TURN = 20;
const AT_ONCE = 32;
const SETTLE_MS = 100;

const draft: Draft = {
  to: [PEER],
  type: "feedback",
  subject: "one durable line",
  body: "all tests pass on main; ".repeat(4),
};

/**
 * P3: one durable send after the other through a running daemon, against write + fdatasync of as
 * many bytes; P4: 32 at once, against P3.
 */
export async function benchDurableSend(sends: number): Promise<Row[]> {
  const stage = makeStage();
  const daemon = await stage.startDaemon(READER);
  const client = await openClient({ wireDir: stage.wireDir, handle: READER, env: stage.env });
  const raw = openRaw(stage);
  try {
    if (!client.viaDaemon) throw new Error("the daemon does not answer");
    await oneByOne(client, TURN);
    const single: number[] = [];
    const synced: number[] = [];
    const grouped: number[] = [];
    while (single.length < sends) {
      // What follows from a burst, once the daemon has answered, is not the next send's.
      await pause(SETTLE_MS);
      single.push(...(await oneByOne(client, TURN)));
      synced.push(...Array.from({ length: TURN }, () => raw.write()));
      grouped.push(await allAtOnce(client));
    }
    return rowsOf(single, synced, grouped);
  } finally {
    raw.close();
    client.close();
    await daemon.stop();
    stage.close();
  }
}

function rowsOf(
  single: readonly number[],
  synced: readonly number[],
  grouped: readonly number[],
): Row[] {
  const rate = (samples: readonly number[], each = 1): number =>
    (1_000 * samples.length * each) / sum(samples);
  const rateRow = { unit: "sends/s", compared: "ratio" } as const;
  return [
    {
      ...rateRow,
      id: "P3",
      what: `durable send, one at a time (${single.length})`,
      ours: rate(single),
      baseline: rate(synced),
      target: { atLeast: 0.7 },
    },
    {
      id: "P3",
      what: "durable send, p99",
      unit: "ms",
      ours: percentile(single, 0.99),
      baseline: percentile(synced, 0.99),
      compared: "ratio",
      target: { atMost: 3 },
    },
    {
      ...rateRow,
      id: "P4",
      what: `durable send, ${AT_ONCE} at once`,
      ours: rate(grouped, AT_ONCE),
      baseline: rate(single),
      target: { atLeast: 15 },
    },
  ];
}

async function oneByOne(client: Client, count: number): Promise<number[]> {
  const tookMs: number[] = [];
  for (let at = 0; at < count; at += 1) {
    const startedMs = performance.now();
    await client.ask("send", { drafts: [draft] });
    tookMs.push(performance.now() - startedMs);
  }
  return tookMs;
}

async function allAtOnce(client: Client): Promise<number> {
  const startedMs = performance.now();
  await Promise.all(Array.from({ length: AT_ONCE }, () => client.ask("send", { drafts: [draft] })));
  return performance.now() - startedMs;
}

function openRaw(stage: Stage): { write(): number; close(): void } {
  const file = openSync(join(stage.folder, "raw.jsonl"), "a");
  const bytes = Buffer.alloc(LINE_BYTES, "x");
  return {
    write() {
      const startedMs = performance.now();
      writeSync(file, bytes);
      fdatasyncSync(file);
      return performance.now() - startedMs;
    },
    close: () => closeSync(file),
  };
}
