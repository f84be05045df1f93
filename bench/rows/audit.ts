import { setTimeout as sleep } from "node:timers/promises";
import type { Plan } from "../plan.ts";
import { amount } from "../plan.ts";
import { rowAlone, rowOf, type Row, type Side } from "../row.ts";
import { keepWire, type KeptWire } from "../stage/kept-wire.ts";
import { cpuMsOf, memoryOf, startNode } from "../stage/processes.ts";
import { READER } from "../stage/wire.ts";
import { inTurns } from "../turns.ts";
import { catchUp } from "./catch-up.ts";
import { takenIn } from "./restart.ts";

const LOOK_MS = 50;
const CAUGHT_UP_LINES = 100_000;

/** P8: a full audit of 1,000,000 lines, against the rate of P1's catch-up. */
export async function benchAudit(plan: Plan): Promise<Row[]> {
  const { many } = await takenIn(plan);
  const caughtUp = await keepWire(amount(plan, CAUGHT_UP_LINES, 8), "followed");
  const peaks: Side[] = [];
  const turns = await inTurns(
    plan.turns,
    async () => {
      const { rate, peakMib } = await audit(many);
      peaks.push({ value: peakMib });
      return rate;
    },
    () => catchUp(caughtUp),
  );
  const what = `audit of ${many.lines} lines`;
  return [
    rowOf(
      {
        ...{ id: "P8", unit: "lines/s", compared: "ratio", target: { atLeast: 0.7 } },
        what: `${what}, to a catch-up`,
      },
      turns,
    ),
    rowAlone(
      { id: "P8", what: `${what}, most memory`, unit: "MiB", target: { atMost: 300 } },
      peaks,
    ),
  ];
}

async function audit(wire: KeptWire): Promise<{ rate: Side; peakMib: number }> {
  const startedMs = performance.now();
  const running = startNode(wire.command(READER, "audit", "--json"), wire.env, "pipe");
  let output = "";
  running.child.stdout?.setEncoding("utf8").on("data", (text: string) => (output += text));
  const ended = new Promise<void>((resolve) => {
    running.child.once("close", () => resolve());
  });
  let [isRunning, peakMib, cpuMs] = [true, 0, 0];
  running.child.once("close", () => (isRunning = false));
  while (isRunning) {
    peakMib = Math.max(peakMib, memoryOf(running.pid).peak);
    cpuMs = Math.max(cpuMs, cpuMsOf(running.pid) ?? 0);
    await Promise.race([ended, sleep(LOOK_MS)]);
  }
  const wallMs = performance.now() - startedMs;
  const { messages } = JSON.parse(output) as { messages: number };
  if (messages < wire.lines) throw new Error(`${messages} of ${wire.lines} lines were audited`);
  return { rate: { value: (1_000 * messages) / wallMs, cpuMs: cpuMs / messages }, peakMib };
}
