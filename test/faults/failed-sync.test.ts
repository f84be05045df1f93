import { expect, test } from "vitest";
import { StorageError } from "../../src/storage/disk/disk.ts";
import { openInbox } from "../../src/storage/files/inbox.ts";
import { openJournal } from "../../src/storage/files/journal.ts";
import { appendShared } from "../../src/storage/files/shared-file.ts";
import { agree, PEER, VICTIM } from "../support/disk/fault-points.ts";
import { MemoryDisk, type MemoryProcess } from "../support/disk/memory-disk.ts";
import { recoverAndCheck, faultScene, SECOND } from "../support/scenes/fault-scene.ts";

// A failed sync loses its data although it can still be read, and a later one succeeds. What was
// left so, because it could not be cut off again either, must be written again before it counts.

const LINE = Buffer.from('{"n":1}');

/** Fails an append's sync and the cut that would take its bytes back; the process dies then. */
function leaveLost(process: MemoryProcess, append: () => void): void {
  process.failAt(2, "EIO");
  process.failAt(3, "EIO");
  expect(append).toThrow(StorageError);
  process.kill();
}

function textOf(process: MemoryProcess, path: string): string {
  const file = process.open(path, "read");
  return Buffer.from(file.read(file.stat().size, 0)).toString("utf8");
}

test("a journal entry that a failed sync lost is durable once the next life acts on it", () => {
  const world = new MemoryDisk();
  const first = world.process();
  const journal = openJournal(first, "/journal.jsonl");
  leaveLost(first, () => journal.append([{ n: 1 }]));
  const found = [...openJournal<{ n: number }>(world.process(), "/journal.jsonl").read()];
  expect(found.map(({ entry }) => entry.n)).toEqual([1]);
  world.powerCut("drop");
  expect(textOf(world.process(), "/journal.jsonl")).toBe('{"n":1}\n');
});

test("an inbox line that a failed sync lost is durable once the next life has looked at it", () => {
  const world = new MemoryDisk();
  const first = world.process();
  const inbox = openInbox(first, "/inbox.jsonl");
  leaveLost(first, () => inbox.append([LINE]));
  openInbox(world.process(), "/inbox.jsonl").recover(
    0,
    () => [{ inbox: 0, start: 0, end: LINE.length + 1 }],
    () => LINE,
  );
  world.powerCut("drop");
  expect(textOf(world.process(), "/inbox.jsonl")).toBe('{"n":1}\n');
});

test("a shared line that a failed sync lost is durable once it is found", () => {
  const world = new MemoryDisk();
  const first = world.process();
  first.open("/shared.jsonl", "append").close();
  const options = { find: (line: Uint8Array) => LINE.equals(line) };
  first.failAt(5, "EIO");
  first.failAt(6, "EIO");
  expect(() => appendShared(first, "/shared.jsonl", LINE, options)).toThrow(StorageError);
  first.kill();
  expect(textOf(world.process(), "/shared.jsonl")).toBe('{"n":1}\n');
  expect(appendShared(world.process(), "/shared.jsonl", LINE, options).outcome).toBe("found");
  world.powerCut("drop");
  expect(textOf(world.process(), "/shared.jsonl")).toBe('{"n":1}\n');
});

/** Whole entries of decisions.jsonl. */
const decisions = (lines: readonly string[]): number =>
  lines.filter((line) => line.startsWith("{") && line.endsWith("}")).length;

test("a decision that was read before its sync failed is recorded again after the power cut", async () => {
  let isLost = false;
  for (let at = 1; at < 70; at += 1) {
    const scene = await faultScene([VICTIM, PEER]);
    const { wire } = scene;
    await agree(scene);
    const process = wire.process(VICTIM);
    for (const later of [0, 1]) process.failAt(at + later, "EIO");
    process.failAt(at + 2, "crash");
    await wire.attempt(VICTIM, (agent) => agent.tick());
    process.heal();
    // Both sides come to know the entry that stands there, and note that it is recorded.
    if (!wire.isUp(VICTIM)) await wire.start(VICTIM);
    await wire.pass(60 * SECOND);
    await wire.rest();
    expect(decisions(wire.lines("decisions.jsonl")), `failed at ${at}`).toBe(1);
    wire.powerCut("drop");
    isLost ||= decisions(wire.lines("decisions.jsonl")) === 0;
    await recoverAndCheck(scene);
    expect(decisions(wire.lines("decisions.jsonl")), `failed at ${at}`).toBe(1);
  }
  expect(isLost, "the case came up").toBe(true);
});
