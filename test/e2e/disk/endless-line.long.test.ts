import {
  closeSync,
  openSync,
  readFileSync,
  statfsSync,
  statSync,
  truncateSync,
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

const GIB = 1_073_741_824;
const ENDLESS_BYTES = 2 * GIB;
/** It grows by so much in each window after the first. */
const GROWTH_BYTES = GIB / 2;
const FREE_BYTES_NEEDED = 5 * GIB;
const FEWEST_PIECES = 16;
/** 8 MiB of junk in one owner's files a day, then 1 MiB a minute (Spec 2.4), and all else that a daemon reads. */
const MAX_READ_BYTES = 64 * 1_048_576;

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

it("a log of 2 GiB without a newline: memory and reading stay bounded, a quiet peer is heard", async (context) => {
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
  const readBefore = readSoFar(daemon.pid);
  let isBegun = false;
  const latency = await compareLatency("2 GiB without a newline", quiet, {
    baseline: () => undefined,
    load() {
      lengthen(log, isBegun ? GROWTH_BYTES : ENDLESS_BYTES);
      isBegun = true;
    },
    rest: () => Promise.resolve(),
  });
  expect(readSoFar(daemon.pid) - readBefore).toBeLessThan(MAX_READ_BYTES);
  const grownBytes = memoryBytes(daemon.pid, "VmHWM") - beforeBytes;
  process.stdout.write(`${latency}; ${(grownBytes / 1_048_576).toFixed(0)} MiB more\n`);
  quiet.close();

  expect(grownBytes).toBeLessThan(MAX_GROWTH_BYTES);
  const heard = wire.privateLines("forge", "inbox").filter(({ from }) => from === "scribe");
  expect(heard.map(({ event_id }) => event_id)).toEqual(quiet.delivered);
  expect(wire.privateLines("forge", "quarantine")).toEqual([]);
  expect((await daemon.stop()).code).toBe(0);
});
