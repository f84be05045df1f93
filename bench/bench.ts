import { benchCatchUp } from "./catch-up.ts";
import { benchDelivery } from "./delivery.ts";
import { benchDurableSend } from "./durable-send.ts";
import type { Row } from "./figures.ts";
import { benchProcessStart } from "./process-start.ts";

/** How much of each is measured. */
export interface Counts {
  readonly lines: number;
  readonly sends: number;
  readonly deliveries: number;
  readonly runs: number;
}

export const FULL: Counts = { lines: 100_000, sends: 600, deliveries: 200, runs: 40 };

const BENCHES: ReadonlyMap<string, (counts: Counts) => Promise<Row[]>> = new Map([
  ["P1", ({ lines }) => benchCatchUp(lines)],
  ["P3", ({ sends }) => benchDurableSend(sends)],
  ["P5", ({ deliveries }) => benchDelivery(deliveries)],
  ["P6", ({ runs }) => benchProcessStart(runs)],
]);

export const FIGURES: readonly string[] = [...BENCHES.keys()];

/** Measures one figure after the other; `only` names those wanted. */
export async function runBench(counts: Counts, only: readonly string[]): Promise<Row[]> {
  const rows: Row[] = [];
  for (const [name, bench] of BENCHES) {
    if (only.includes(name)) rows.push(...(await bench(counts)));
  }
  return rows;
}
