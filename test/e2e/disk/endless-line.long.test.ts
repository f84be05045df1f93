import {
  closeSync,
  openSync,
  readFileSync,
  statfsSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import {
  compareLatency,
  MAX_GROWTH_BYTES,
  memoryBytes,
  quietPeer,
  whyNoMemory,
} from "../../support/processes/delivery-latency.ts";
import { makeWire, removeWires } from "../../support/processes/live-wire.ts";
import { start, until, type Started } from "../../support/processes/real-processes.ts";

const GIB = 1_073_741_824;
const ENDLESS_BYTES = 2 * GIB;
/** It grows by so much in each window after the first. */
const GROWTH_BYTES = GIB / 2;
const FREE_BYTES_NEEDED = 5 * GIB;
const FEWEST_PIECES = 16;

/** Reads a file of holes again and again, and looks for a newline, until it is killed. */
const READER = `
const fs = require("node:fs");
const fd = fs.openSync(process.argv[1], "r");
const chunk = Buffer.alloc(262_144);
for (let at = 0; ; at = (at + chunk.length) % ${GIB}) {
  fs.readSync(fd, chunk, 0, chunk.length, at);
  chunk.includes(10);
}`;

afterEach(removeWires);

/**
 * Makes the file longer by so much, without a newline in it. Most of it are holes, which read(2)
 * gives as zeros like any others: the reader does the same work, and the disk is spared.
 */
function lengthen(path: string, bytes: number): void {
  const { size } = statSync(path);
  const fd = openSync(path, "r+");
  for (let piece = 0; piece < FEWEST_PIECES; piece += 1) {
    writeSync(fd, "no newline", size + Math.floor((piece * bytes) / FEWEST_PIECES));
  }
  closeSync(fd);
  truncateSync(path, size + bytes);
}

/** What a process has read from files since it began. */
function readSoFar(pid: number): number {
  const found = /^rchar: ([0-9]+)$/m.exec(readFileSync(`/proc/${pid}/io`, "utf8"));
  return Number(found?.[1]);
}

it("a log of 2 GiB without a newline: memory stays flat, a quiet peer is heard soon", async (context) => {
  const missing = whyNoMemory();
  if (missing !== undefined) context.skip(missing);
  const wire = makeWire({ handles: ["forge", "mallory", "scribe"], cadenceSeconds: 1 });
  const { bavail, bsize } = statfsSync(wire.folder);
  if (bavail * bsize < FREE_BYTES_NEEDED) context.skip("less than 5 GiB are free here");
  const daemon = await wire.daemon("forge");
  const quiet = quietPeer(wire, "scribe", { name: "scribe", path: "outbox/scribe.jsonl" });
  for (let at = 0; at < 20; at += 1) await quiet.deliver();
  const beforeBytes = memoryBytes(daemon.pid, "VmRSS");

  const log = join(wire.dir, "outbox", "mallory.jsonl");
  const readBytes = () => readSoFar(daemon.pid);
  let readUpTo = 0;
  let heardMeanwhile = 0;
  let beside: Started | undefined;
  const elsewhere = join(wire.folder, "elsewhere");
  writeFileSync(elsewhere, "");
  truncateSync(elsewhere, GIB);
  const latency = await compareLatency("2 GiB without a newline", quiet, {
    // The same reading, by a process that has nothing to do with the wire.
    baseline() {
      beside = start(process.execPath, ["-e", READER, elsewhere], { env: wire.env });
    },
    load() {
      const bytes = readUpTo === 0 ? ENDLESS_BYTES : GROWTH_BYTES;
      readUpTo = readBytes() + bytes;
      lengthen(log, bytes);
    },
    heard() {
      if (readBytes() < readUpTo) heardMeanwhile += 1;
    },
    async rest() {
      beside?.child.kill("SIGKILL");
      await until("it is read", () => readBytes() >= readUpTo);
    },
  });
  const grownBytes = memoryBytes(daemon.pid, "VmHWM") - beforeBytes;
  process.stdout.write(`${latency}; ${(grownBytes / 1_048_576).toFixed(0)} MiB more\n`);
  quiet.close();

  expect(grownBytes).toBeLessThan(MAX_GROWTH_BYTES);
  // Nobody waits for the end of that line.
  expect(heardMeanwhile).toBeGreaterThan(0);
  const heard = wire.privateLines("forge", "inbox").filter(({ from }) => from === "scribe");
  expect(heard.map(({ event_id }) => event_id)).toEqual(quiet.delivered);
  expect(wire.privateLines("forge", "quarantine")).toEqual([]);
  expect((await daemon.stop()).code).toBe(0);
});
