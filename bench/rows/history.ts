import { searchAll } from "../../src/client/search-all.ts";
import type { Client } from "../../src/api/client.ts";
import type { Plan } from "../plan.ts";
import { median, rowAlone, rowOf, type Row, type Side } from "../row.ts";
import type { KeptWire } from "../stage/kept-wire.ts";
import { cpuMsOf, since, type Running } from "../stage/processes.ts";
import { READER } from "../stage/wire.ts";
import { inTurns } from "../turns.ts";
import { takenIn } from "./restart.ts";

/** A turn asks so often, or for so long. */
const ASKED = 5;
const ASKED_MS = 500;
const SEARCH_TARGET_MS = 500;

/** `thread`: one of some messages. */
type Ask = (client: Client, thread: string) => Promise<unknown>;

const QUESTIONS: readonly (readonly [name: string, ask: Ask])[] = [
  ["inbox", (client) => client.view("inbox", { newest: true, limit: 20 })],
  ["inbox --unread", (client) => client.view("inbox", { unread: true, limit: 20 })],
  ["thread", (client, thread) => client.view("thread", { id: thread })],
  ["search", (client) => searchAll(client, "nobody wrote this", 20)],
  ["pending", (client) => client.view("pending")],
  ["decisions", (client) => client.view("decisions")],
  ["stats", (client) => client.view("stats")],
];

/** The thread of the newest message: those of long ago are not all kept by name. */
export async function lastThread(client: Client): Promise<string> {
  const { messages } = await client.view("inbox", { newest: true, limit: 1 });
  return messages[0]!.correlation_id;
}

/** P16: what is asked of a daemon with 1,000,000 lines of history, against 10,000. */
export async function benchHistory(plan: Plan): Promise<Row[]> {
  const wires = await takenIn(plan);
  const many = await asked(wires.many);
  const few = await asked(wires.few);
  const rows: Row[] = [];
  try {
    for (const [name, ask] of QUESTIONS) {
      const turns = await inTurns(
        plan.turns,
        () => many.time(ask),
        () => few.time(ask),
      );
      const what = `${name} with ${wires.many.lines} lines, to ${wires.few.lines}`;
      const row = { id: "P16", unit: "ms" } as const;
      rows.push(rowOf({ ...row, what, compared: "ratio", target: { atMost: 2 } }, turns));
      if (name !== "search") continue;
      const per = wires.many.lines / 1e6;
      rows.push(
        rowAlone(
          { ...row, what: "search, for 1,000,000 lines", target: { atMost: SEARCH_TARGET_MS } },
          turns.map(({ ours }) => ({ value: ours.value / per })),
        ),
      );
    }
  } finally {
    await many.close();
    await few.close();
  }
  return rows;
}

async function asked(wire: KeptWire): Promise<{
  time(ask: Ask): Promise<Side>;
  close(): Promise<void>;
}> {
  const daemon = await wire.startDaemon(READER);
  const client = await wire.client(READER);
  await client.ask("read", { ids: "all" });
  const thread = await lastThread(client);
  return {
    time: (ask) => timed(daemon, () => ask(client, thread)),
    async close() {
      client.close();
      await daemon.stop();
    },
  };
}

/** The median of some answers' times, and the daemon's CPU time for one. */
async function timed({ pid }: Running, ask: () => Promise<unknown>): Promise<Side> {
  const cpuBefore = cpuMsOf(pid);
  const beganMs = performance.now();
  const tookMs: number[] = [];
  while (tookMs.length < ASKED && performance.now() - beganMs < ASKED_MS) {
    const startedMs = performance.now();
    await ask();
    tookMs.push(performance.now() - startedMs);
  }
  const cpuMs = since(cpuBefore, cpuMsOf(pid));
  return { value: median(tookMs), cpuMs: cpuMs === undefined ? undefined : cpuMs / tookMs.length };
}
