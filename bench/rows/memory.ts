import { amount, type Plan } from "../plan.ts";
import { rowOf, type Row, type Side } from "../row.ts";
import {
  memoryOf,
  modulePath,
  nodeArgs,
  pause,
  startReady,
  type Running,
} from "../stage/processes.ts";
import { keepWire } from "../stage/kept-wire.ts";
import { READER } from "../stage/wire.ts";
import { inTurns } from "../turns.ts";
import { MANY_LINES } from "./restart.ts";

/** By then V8 has given back what a quiet daemon does not need. */
const SETTLE_MS = 60_000;
/** Memory differs little from turn to turn, and each takes in 1,000,000 lines. */
const LIVE_TURNS = 1;
const RESTART_TURNS = 3;

/** P9: what a daemon with 8 peers holds after 1,000,000 lines, over Node with the same libraries. */
export async function benchMemory(plan: Plan): Promise<Row[]> {
  const many = await keepWire(amount(plan, MANY_LINES, 200), "history");
  const settleMs = amount(plan, SETTLE_MS, 500);
  const row = { id: "P9", unit: "MiB", compared: "difference", target: { atMost: 60 } } as const;
  const what = `memory of a daemon with ${many.peers.length} peers after ${many.lines} lines`;

  const settled = async ({ pid }: Running): Promise<Side> => {
    await pause(settleMs);
    return { value: memoryOf(pid).now };
  };
  const live = await inTurns(
    LIVE_TURNS,
    async () => {
      let side: Side = { value: Number.NaN };
      await many.takeIn(async (daemon) => {
        side = await settled(daemon);
      });
      return side;
    },
    bare,
  );
  const restart = async (): Promise<Side> => {
    const daemon = await many.startDaemon(READER);
    const side = await settled(daemon);
    await daemon.stop();
    return side;
  };
  const restarted = await inTurns(RESTART_TURNS, restart, bare);
  return [
    rowOf({ ...row, what: `${what}, live` }, live),
    rowOf({ ...row, what: `${what}, after a restart` }, restarted),
  ];
}

async function bare(): Promise<Side> {
  const running = await startReady([...nodeArgs, modulePath("baseline/bare-libraries")]);
  await pause(1_000);
  const { now } = memoryOf(running.pid);
  await running.stop();
  return { value: now };
}
