import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { amount, type Plan } from "../plan.ts";
import { percentile, rowOf, type Row, type Side } from "../row.ts";
import { watchGrowth, type Growth } from "../stage/growth.ts";
import { LINE_BYTES } from "../stage/kept-wire.ts";
import { openLogAuthor } from "../stage/log-author.ts";
import {
  cpuMsOf,
  modulePath,
  nodeArgs,
  pause,
  since,
  startReady,
  type Running,
} from "../stage/processes.ts";
import { makeWire, PEER, READER, type Wire } from "../stage/wire.ts";
import { inTurns, pick } from "../turns.ts";

const LINES_PER_TURN = 25;
/** Between two lines; different from one to the next, so that no timer falls into step with it. */
const FIRST_GAP_MS = 60;
const GAP_STEP_MS = 11;
const GAP_STEPS = 7;

/** P5: from a peer's append until the line is in my inbox, against a bare wake-up and write. */
export async function benchDelivery(plan: Plan): Promise<Row[]> {
  const wire = makeWire();
  const peer = openLogAuthor(wire, PEER);
  const daemon = await wire.startDaemon(READER);
  const raw = await startRaw(wire);
  const inbox = watchGrowth(wire.place(READER).paths.inbox);
  const copy = watchGrowth(raw.copy);
  const bytes = Buffer.alloc(LINE_BYTES, "x");
  const count = amount(plan, LINES_PER_TURN, 2);
  try {
    await pause(1_000);
    const turns = await inTurns(
      plan.turns,
      () =>
        deliveries(count, daemon, inbox, () => {
          peer.append([peer.padded(Date.now() * 1_000, LINE_BYTES)]);
        }),
      () => deliveries(count, raw, copy, () => appendFileSync(raw.source, bytes)),
    );
    const row = { id: "P5", unit: "ms", compared: "difference" } as const;
    const what = "peer appends → in my inbox";
    return [
      rowOf({ ...row, what: `${what}, p50`, target: { atMost: 4 } }, pick(turns, shareOf(0.5))),
      rowOf({ ...row, what: `${what}, p99`, target: { atMost: 20 } }, pick(turns, shareOf(0.99))),
    ];
  } finally {
    inbox.close();
    copy.close();
    await raw.stop();
    await daemon.stop();
    wire.close();
  }
}

interface Deliveries {
  readonly tookMs: readonly number[];
  readonly cpuMs: number | undefined;
}

const shareOf =
  (share: number) =>
  ({ tookMs, cpuMs }: Deliveries): Side => ({ value: percentile(tookMs, share), cpuMs });

async function deliveries(
  count: number,
  { pid }: Running,
  growth: Growth,
  append: () => void,
): Promise<Deliveries> {
  const cpuBefore = cpuMsOf(pid);
  const tookMs: number[] = [];
  for (let at = 0; at < count; at += 1) {
    await pause(FIRST_GAP_MS + (at % GAP_STEPS) * GAP_STEP_MS);
    tookMs.push(await growth.until(append));
  }
  const cpuMs = since(cpuBefore, cpuMsOf(pid));
  return { tookMs, cpuMs: cpuMs === undefined ? undefined : cpuMs / count };
}

async function startRaw(
  wire: Wire,
): Promise<Running & { readonly source: string; readonly copy: string }> {
  const source = join(wire.folder, "raw-source.jsonl");
  const copy = join(wire.folder, "raw-copy.jsonl");
  writeFileSync(source, "");
  writeFileSync(copy, "");
  const script = modulePath("baseline/raw-wake");
  const running = await startReady([...nodeArgs, script, source, copy]);
  return { ...running, source, copy };
}
