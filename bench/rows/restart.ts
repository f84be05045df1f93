import { amount, type Plan } from "../plan.ts";
import { rowOf, type Row, type Side } from "../row.ts";
import { cpuMsOf, endedChildrenMs, pause, since } from "../stage/processes.ts";
import { keepWire, type KeptWire } from "../stage/kept-wire.ts";
import { READER } from "../stage/wire.ts";
import { inTurns, pick } from "../turns.ts";

export const MANY_LINES = 1_000_000;
export const FEW_LINES = 10_000;
const FIRST_ROUND_MS = 300;

interface Restart {
  readonly answered: Side;
  readonly whole: Side;
}

/** P7: a daemon starts after 1,000,000 lines, with its checkpoint, against 10,000 lines. */
export async function benchRestart(plan: Plan): Promise<Row[]> {
  const { many, few } = await takenIn(plan);
  await restart(many);
  await restart(few);
  const turns = await inTurns(
    plan.turns,
    () => restart(many),
    () => restart(few),
  );
  const row = { id: "P7", unit: "ms", compared: "ratio", target: { atMost: 1.3 } } as const;
  const what = `restart after ${many.lines} lines, to ${few.lines}`;
  return [
    rowOf(
      { ...row, what: `${what}: CPU to the first answer` },
      pick(turns, (of) => of.answered),
    ),
    rowOf(
      { ...row, what: `${what}: CPU with the clean end` },
      pick(turns, (of) => of.whole),
    ),
  ];
}

/** The two wires of the rows that ask what history costs. */
export async function takenIn(plan: Plan): Promise<{ many: KeptWire; few: KeptWire }> {
  const few = await keepWire(amount(plan, FEW_LINES, 100), "history");
  const many = await keepWire(amount(plan, MANY_LINES, 200), "history");
  await few.takenIn();
  await many.takenIn();
  return { many, few };
}

async function restart(wire: KeptWire): Promise<Restart> {
  const endedBefore = endedChildrenMs();
  const daemon = await wire.startDaemon(READER);
  const client = await wire.client(READER);
  await client.view("whoami");
  await pause(FIRST_ROUND_MS);
  // Asked after the first round: the daemon does one thing after the other.
  await client.view("whoami");
  const answered = cpuMsOf(daemon.pid) ?? Number.NaN;
  client.close();
  await daemon.stop();
  const whole = since(endedBefore, endedChildrenMs()) ?? Number.NaN;
  return { answered: cpu(answered), whole: cpu(whole) };
}

function cpu(ms: number): Side {
  return { value: ms, cpuMs: ms };
}
