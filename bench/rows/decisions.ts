import { amount, type Plan } from "../plan.ts";
import { rowOf, type Row, type Side } from "../row.ts";
import { keepDecidedWire } from "../stage/decided-wire.ts";
import { runModule } from "../stage/processes.ts";
import type { Took } from "../stage/took.ts";
import { inTurns, pick } from "../turns.ts";

const MANY = 20_000;
const FEW = 2_000;

interface Decided {
  readonly fold: Took;
  readonly list: Took;
  readonly record: Took;
}

/** P17: 20,000 decisions against 2,000: to fold them, to list them, to record one more. */
export async function benchDecisions(plan: Plan): Promise<Row[]> {
  const many = keepDecidedWire(amount(plan, MANY, 20)).decisions;
  const few = keepDecidedWire(amount(plan, FEW, 2)).decisions;
  const decide = (decisions: number) => () =>
    runModule<Decided>("stage/decide", ["--decisions", String(decisions)]);
  const turns = await inTurns(plan.turns, decide(many), decide(few));
  const side = ({ cpuMs }: Took): Side => ({ value: cpuMs, cpuMs });
  const row = (what: string, part: keyof Decided): Row =>
    rowOf(
      {
        ...{ id: "P17", unit: "ms", compared: "ratio", target: { atMost: 12 } },
        what: `${what} (${many} decisions, to ${few}), CPU`,
      },
      pick(turns, (of) => side(of[part])),
    );
  return [row("fold", "fold"), row("list", "list"), row("record one more", "record")];
}
