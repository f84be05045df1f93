import { amount, type Plan } from "../plan.ts";
import { rowOf, type Row, type Side } from "../row.ts";
import { memoryOf, modulePath, nodeArgs, pause, startReady } from "../stage/processes.ts";
import { READER } from "../stage/wire.ts";
import { inTurns } from "../turns.ts";
import { takenIn } from "./restart.ts";

const SETTLE_MS = 10_000;
/** Memory differs little from turn to turn, and each takes in 1,000,000 lines. */
const LIVE_TURNS = 1;
const RESTART_TURNS = 3;

/** P9: what a daemon with 8 peers holds after 1,000,000 lines, over Node with the same libraries. */
export async function benchMemory(plan: Plan): Promise<Row[]> {
  const { many } = await takenIn(plan);
  const settleMs = amount(plan, SETTLE_MS, 500);
  const row = { id: "P9", unit: "MiB", compared: "difference", target: { atMost: 60 } } as const;
  const what = `memory of a daemon with ${many.peers.length} peers after ${many.lines} lines`;

  async function daemon(isLive: boolean): Promise<Side> {
    if (isLive) many.reset();
    const running = await many.startDaemon(READER);
    if (isLive) await many.untilTakenIn();
    await pause(settleMs);
    const { now } = memoryOf(running.pid);
    await running.stop();
    return { value: now };
  }

  const live = await inTurns(LIVE_TURNS, () => daemon(true), bare);
  const restarted = await inTurns(RESTART_TURNS, () => daemon(false), bare);
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
