import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { nodeDisk } from "../../../src/storage/disk/node-disk.ts";
import { takeLock } from "../../../src/storage/disk/lock.ts";
import { amount } from "../../support/amounts.ts";
import { builtForChildren } from "../../support/processes/child-modules.ts";
import { WAYS_TO_LOCK } from "../../support/processes/ways-to-lock.ts";

const CONTENDERS = 6;
const ROUNDS = Number(process.env["DEADDROP_LOCK_ROUNDS"] ?? amount(30, 200));

let folder: string;
const children = new Set<ChildProcess>();

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "deaddrop-contenders-"));
});
afterEach(() => {
  for (const child of children) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

/** Waits for the lock, says so in a common file, works a little, and dies as it holds it. */
const CONTENDER = `
  const { appendFileSync } = await import("node:fs");
  const [modules, path, diary] = process.argv.slice(1);
  const { nodeDisk } = await import(modules + "/storage/disk/node-disk.js");
  const { takeLock } = await import(modules + "/storage/disk/lock.js");
  const note = { pid: process.pid, role: "command", since: "" };
  const attempt = takeLock(nodeDisk(), path, note, 600000);
  if (!attempt.ok) process.exit(1);
  appendFileSync(diary, "in " + process.pid + "\\n");
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1 + Math.random() * 12);
  appendFileSync(diary, "out " + process.pid + "\\n");
  process.kill(process.pid, "SIGKILL");`;

/** Half of the six lock by flock(2), the others by flock(1): the two exclude each other. */
it(`six contenders after kill -9, ${ROUNDS} rounds: one holds the lock, and the next gets it`, async () => {
  const [path, diary] = [join(folder, "identity.lock"), join(folder, "diary")];
  const args = ["--input-type=module", "-e", CONTENDER, builtForChildren(), path, diary];
  const ends: unknown[] = [];
  let toStart = ROUNDS;

  /** One of the six; when it has died another takes its place, until all rounds are played. */
  async function contend(_: unknown, at: number): Promise<void> {
    const env = { ...process.env, ...WAYS_TO_LOCK[at % WAYS_TO_LOCK.length]?.env };
    while (toStart > 0) {
      toStart -= 1;
      const child = spawn(process.execPath, args, { stdio: "inherit", env });
      children.add(child);
      const end = await new Promise((resolve) =>
        child.once("exit", (code, signal) => resolve(signal ?? code)),
      );
      children.delete(child);
      ends.push(end);
    }
  }
  await Promise.all(Array.from({ length: CONTENDERS }, contend));

  expect(ends).toEqual(Array.from({ length: ROUNDS }, () => "SIGKILL"));
  const events = readFileSync(diary, "utf8").trimEnd().split("\n");
  expect(events).toHaveLength(2 * ROUNDS);
  const holders = new Set<string>();
  for (let at = 0; at < events.length; at += 2) {
    const entered = String(events[at]);
    expect(entered).toMatch(/^in \d+$/);
    expect(events[at + 1], `while ${entered} held it`).toBe(entered.replace("in", "out"));
    holders.add(entered);
  }
  expect(holders.size).toBe(ROUNDS);
  expect(takeLock(nodeDisk(), path, { pid: 1, role: "daemon", since: "" }, 0).ok).toBe(true);
});
