import { createConnection, type Socket } from "node:net";
import { join } from "node:path";
import type { Client } from "../../src/api/client.ts";
import type { Draft } from "../../src/wire/compose.ts";
import { amount, type Plan } from "../plan.ts";
import { percentile, rowOf, sum, type Row, type Side } from "../row.ts";
import { LINE_BYTES } from "../stage/kept-wire.ts";
import { cpuMsOf, modulePath, nodeArgs, pause, since, startReady } from "../stage/processes.ts";
import { makeWire, PEER, READER, type Wire } from "../stage/wire.ts";
import { inTurns, pick } from "../turns.ts";

const SENDS = 100;
const CLIENTS = 32;
/** How often each of the clients sends in a turn. */
const ROUNDS = 10;
const SETTLE_MS = 200;

const draft: Draft = {
  to: [PEER],
  type: "feedback",
  subject: "one durable line",
  body: "all tests pass on main; ".repeat(4),
};

/** What takes a line, and answers when it is durable. */
interface Sender {
  readonly pid: number;
  /** One connection of it. */
  send(connection: number): Promise<void>;
}

/**
 * P3: one durable send after the other through a running daemon, against a server that only writes
 * and syncs. P4: the same with 32 clients, one sync for what comes together.
 */
export async function benchDurableSend(plan: Plan): Promise<Row[]> {
  return withSenders(1, async (ours, baseline) => {
    const sends = amount(plan, SENDS, 5);
    const turn = (sender: Sender) => () => oneByOne(sender, sends);
    const turns = await inTurns(plan.turns, turn(ours), turn(baseline));
    const what = "durable send through the daemon, one at a time";
    return [
      rowOf(
        {
          ...{ id: "P3", what: `${what}, rate`, unit: "sends/s", compared: "ratio" },
          target: { atLeast: 0.7 },
        },
        pick(turns, ({ rate }) => rate),
      ),
      rowOf(
        { id: "P3", what: `${what}, p99`, unit: "ms", compared: "ratio", target: { atMost: 2 } },
        pick(turns, ({ p99 }) => p99),
      ),
    ];
  });
}

export async function benchGroupCommit(plan: Plan): Promise<Row[]> {
  return withSenders(CLIENTS, async (ours, baseline) => {
    const rounds = amount(plan, ROUNDS);
    const turn = (sender: Sender) => () => allAtOnce(sender, rounds);
    return [
      rowOf(
        {
          ...{ id: "P4", unit: "sends/s", compared: "ratio", target: { atLeast: 0.5 } },
          what: `durable send, ${CLIENTS} clients at once`,
        },
        await inTurns(plan.turns, turn(ours), turn(baseline)),
      ),
    ];
  });
}

async function withSenders(
  connections: number,
  measure: (ours: Sender, baseline: Sender) => Promise<Row[]>,
): Promise<Row[]> {
  const wire = makeWire();
  const daemon = await wire.startDaemon(READER);
  const clients = await times(connections, () => wire.client(READER));
  const raw = await startRaw(wire, connections);
  const ours = { pid: daemon.pid, send: (at: number) => sendBy(clients[at]) };
  try {
    // What the first sends load is not theirs.
    await oneByOne(ours, 10);
    await oneByOne(raw, 10);
    return await measure(ours, raw);
  } finally {
    for (const client of clients) client.close();
    await raw.stop();
    await daemon.stop();
    wire.close();
  }
}

async function sendBy(client: Client | undefined): Promise<void> {
  const answer = await client?.ask("send", { drafts: [draft] });
  if (answer?.outcome !== "sent") throw new Error("a line was not sent");
}

async function oneByOne(
  sender: Sender,
  count: number,
): Promise<{ readonly rate: Side; readonly p99: Side }> {
  await pause(SETTLE_MS);
  const cpuBefore = cpuMsOf(sender.pid);
  const tookMs: number[] = [];
  for (let at = 0; at < count; at += 1) {
    const startedMs = performance.now();
    await sender.send(0);
    tookMs.push(performance.now() - startedMs);
  }
  const rate = (1_000 * count) / sum(tookMs);
  const cpuMs = perUnit(since(cpuBefore, cpuMsOf(sender.pid)), count);
  return { rate: { value: rate, cpuMs }, p99: { value: percentile(tookMs, 0.99) } };
}

/** Each client sends its next line as soon as its last one is answered. */
async function allAtOnce(sender: Sender, rounds: number): Promise<Side> {
  await pause(SETTLE_MS);
  const cpuBefore = cpuMsOf(sender.pid);
  const startedMs = performance.now();
  await times(CLIENTS, async (at) => {
    for (let round = 0; round < rounds; round += 1) await sender.send(at);
  });
  const tookMs = performance.now() - startedMs;
  const sends = CLIENTS * rounds;
  const cpuMs = perUnit(since(cpuBefore, cpuMsOf(sender.pid)), sends);
  return { value: (1_000 * sends) / tookMs, cpuMs };
}

function perUnit(ms: number | undefined, units: number): number | undefined {
  return ms === undefined ? undefined : ms / units;
}

function times<T>(count: number, make: (at: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, (_, at) => make(at)));
}

async function startRaw(
  wire: Wire,
  connections: number,
): Promise<Sender & { stop(): Promise<void> }> {
  const socketPath = join(wire.folder, "raw.sock");
  const script = modulePath("baseline/sync-server");
  const file = join(wire.folder, "raw.jsonl");
  const server = await startReady([...nodeArgs, script, socketPath, file]);
  const sockets = await times(connections, () => connected(socketPath));
  const line = `${"x".repeat(LINE_BYTES - 1)}\n`;
  return {
    pid: server.pid,
    send: (at) =>
      new Promise((resolve) => {
        sockets[at]?.once("data", () => resolve());
        sockets[at]?.write(line);
      }),
    async stop() {
      for (const socket of sockets) socket.destroy();
      await server.stop();
    },
  };
}

function connected(path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = createConnection(path);
    socket.once("connect", () => resolve(socket));
    socket.once("error", reject);
  });
}
