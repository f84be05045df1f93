import { spawn } from "node:child_process";
import { appendFileSync, statSync, watch, writeFileSync } from "node:fs";
import { join } from "node:path";
import { percentile, type Row } from "./figures.ts";
import { openPeerLog } from "./peer-log.ts";
import { endOf, makeStage, pause, READER, type Stage } from "./stage.ts";

const LINE_BYTES = 600;
/** Between two lines; different from one to the next, so that no timer falls into step with it. */
const FIRST_GAP_MS = 90;
const GAP_STEP_MS = 17;
const GAP_STEPS = 7;
const ARRIVAL_LIMIT_MS = 40_000;

// Wakes when a file grows, writes what is new to another and syncs it: the least that delivery is.
const RAW = `
const fs = require("node:fs");
const [from, to] = process.argv.slice(1);
const [source, target] = [fs.openSync(from, "r"), fs.openSync(to, "a")];
let at = 0;
fs.watch(from, () => {
  const bytes = Buffer.alloc(Math.max(0, fs.fstatSync(source).size - at));
  if (bytes.length === 0) return;
  at += fs.readSync(source, bytes, 0, bytes.length, at);
  fs.writeSync(target, bytes);
  fs.fdatasyncSync(target);
});
process.stdout.write("ready");`;

/** P5: from a peer's append until the line stands in my inbox, against a bare wake-up and write. */
export async function benchDelivery(lines: number): Promise<Row[]> {
  const stage = makeStage();
  const peer = openPeerLog(stage);
  const daemon = await stage.startDaemon(READER);
  const raw = await startRaw(stage);
  const ours: number[] = [];
  const baseline: number[] = [];
  try {
    const inbox = watchGrowth(stage.place(READER).paths.inbox);
    const copy = watchGrowth(raw.copy);
    const bytes = Buffer.alloc(LINE_BYTES, "x");
    await pause(1_000);
    for (let at = 0; at < lines; at += 1) {
      await pause(FIRST_GAP_MS + (at % GAP_STEPS) * GAP_STEP_MS);
      const line = peer.next(Date.now() * 1_000, LINE_BYTES);
      ours.push(await inbox.until(() => peer.append([line])));
      await pause(FIRST_GAP_MS);
      baseline.push(await copy.until(() => appendFileSync(raw.source, bytes)));
    }
    inbox.close();
    copy.close();
  } finally {
    await raw.stop();
    await daemon.stop();
    stage.close();
  }
  const row = { id: "P5", unit: "ms", compared: "difference" } as const;
  return [
    {
      ...row,
      what: `peer appends → in my inbox, p50 (${lines})`,
      ours: percentile(ours, 0.5),
      baseline: percentile(baseline, 0.5),
      target: { atMost: 4 },
    },
    {
      ...row,
      what: "peer appends → in my inbox, p99",
      ours: percentile(ours, 0.99),
      baseline: percentile(baseline, 0.99),
      target: { atMost: 20 },
    },
  ];
}

interface Growth {
  /** Milliseconds from before `act` until the file has grown. */
  until(act: () => void): Promise<number>;
  close(): void;
}

function watchGrowth(path: string): Growth {
  let size = statSync(path).size;
  let arrived: (() => void) | undefined;
  const watcher = watch(path, () => {
    const now = statSync(path).size;
    if (now > size) arrived?.();
    size = now;
  });
  return {
    until: (act) =>
      new Promise((resolve, reject) => {
        const limit = setTimeout(
          () => reject(new Error(`nothing arrives in ${path}`)),
          ARRIVAL_LIMIT_MS,
        );
        const startedMs = performance.now();
        arrived = () => {
          clearTimeout(limit);
          arrived = undefined;
          resolve(performance.now() - startedMs);
        };
        act();
      }),
    close: () => watcher.close(),
  };
}

async function startRaw(
  stage: Stage,
): Promise<{ source: string; copy: string; stop(): Promise<void> }> {
  const source = join(stage.folder, "raw-source.jsonl");
  const copy = join(stage.folder, "raw-copy.jsonl");
  writeFileSync(source, "");
  writeFileSync(copy, "");
  const child = spawn(process.execPath, ["-e", RAW, source, copy], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = endOf(child);
  await new Promise((resolve) => {
    child.stdout.once("data", resolve);
  });
  return {
    source,
    copy,
    async stop() {
      child.kill("SIGTERM");
      await ended;
    },
  };
}
