import type { Client } from "../../src/api/client.ts";
import { amount, type Plan } from "../plan.ts";
import { rowOf, sum, type Row, type Side } from "../row.ts";
import { linesIn } from "../stage/lines-in.ts";
import { cpuMsOf, pause, type Running } from "../stage/processes.ts";
import { makeWire, peerNames, READER, type Wire } from "../stage/wire.ts";
import { inTurns } from "../turns.ts";

const FEWEST = 2;
const NUMBERS = [4, 8, 16, 32] as const;
/** Each agent says something to all others once in this time. */
const EVERY_MS = 2_000;
const SENDS_PER_TURN = 5;
const SETTLE_MS = 2_000;
const LOOK_MS = 100;

/** P11: N agents, each sending at a fixed rate: what a delivered line costs, against two agents. */
export async function benchAgents(plan: Plan): Promise<Row[]> {
  const sends = amount(plan, SENDS_PER_TURN);
  const everyMs = amount(plan, EVERY_MS, 200);
  const rows: Row[] = [];
  for (const number of plan.scale < 1 ? NUMBERS.slice(0, 1) : NUMBERS) {
    const few = await startAgents(FEWEST);
    const many = await startAgents(number);
    try {
      await pause(SETTLE_MS);
      const turns = await inTurns(
        plan.turns,
        () => costOfLine(many, sends, everyMs),
        () => costOfLine(few, sends, everyMs),
      );
      rows.push(
        rowOf(
          {
            ...{ id: "P11", unit: "ms", compared: "ratio", target: { atMost: 1.3 } },
            what: `CPU for a delivered line with ${number} agents, to ${FEWEST}`,
          },
          turns,
        ),
      );
    } finally {
      await many.stop();
      await few.stop();
    }
  }
  return rows;
}

interface Agents {
  readonly wire: Wire;
  readonly handles: readonly string[];
  readonly daemons: readonly Running[];
  readonly clients: readonly Client[];
  stop(): Promise<void>;
}

async function startAgents(number: number): Promise<Agents> {
  const peers = peerNames(number - 1);
  const handles = [READER, ...peers];
  const wire = makeWire(peers);
  const daemons: Running[] = [];
  const clients: Client[] = [];
  for (const handle of handles) {
    daemons.push(await wire.startDaemon(handle));
    clients.push(await wire.client(handle));
  }
  return {
    ...{ wire, handles, daemons, clients },
    async stop() {
      for (const client of clients) client.close();
      await Promise.all(daemons.map((daemon) => daemon.stop()));
      wire.close();
    },
  };
}

/** What all daemons together need for a line that one of them has delivered. */
async function costOfLine(
  { wire, handles, daemons, clients }: Agents,
  sends: number,
  everyMs: number,
): Promise<Side> {
  const cpu = (): number => sum(daemons.map(({ pid }) => cpuMsOf(pid) ?? Number.NaN));
  const delivered = (): number =>
    sum(handles.map((handle) => linesIn(wire.place(handle).paths.inbox)));
  const [cpuBefore, linesBefore] = [cpu(), delivered()];
  const draft = { to: ["*"], type: "feedback", subject: "all tests pass", body: "on main" };
  for (let at = 0; at < sends; at += 1) {
    await Promise.all(
      clients.map(async (client, agent) => {
        await pause((everyMs * agent) / clients.length);
        await client.ask("send", { drafts: [draft] });
        await pause(everyMs - (everyMs * agent) / clients.length);
      }),
    );
  }
  const lines = sends * handles.length * (handles.length - 1);
  while (delivered() - linesBefore < lines) await pause(LOOK_MS);
  const cpuMs = (cpu() - cpuBefore) / lines;
  return { value: cpuMs, cpuMs };
}
