import { expect, test } from "vitest";
import { isWorthSaving, loadMemory, saveMemory } from "../../src/daemon/checkpointing.ts";
import type { LineEntry } from "../../src/daemon/entries.ts";
import { emptyMemory, intakeOf } from "../../src/daemon/memory.ts";
import { MemoryDisk } from "../support/memory-disk.ts";
import { SimulatedWire } from "../support/simulated-wire.ts";

const PATH = "/checkpoint.json";

test.each<[string, number | undefined, number, boolean]>([
  ["nothing has come", undefined, 0, false],
  ["there is none", undefined, 1, true],
  ["the last one was cheap", 1_048_576, 1, true],
  ["replaying what has come is cheaper than another", 1_048_584, 131_072, false],
  ["what has come is an eighth of it", 1_048_584, 131_073, true],
])("a checkpoint is written when it is quiet? %s", (_why, size, grown, expected) => {
  const disk = new MemoryDisk().process();
  if (size !== undefined) disk.replace(PATH, new Uint8Array(size), 0o600);
  expect(isWorthSaving(disk, PATH, grown)).toBe(expected);
});

test("a checkpoint keeps what a long log makes us remember, on lines that stay short", async () => {
  const wire = new SimulatedWire(["forge", "scribe"]);
  await wire.start();
  const { place } = wire.agent("forge");
  const disk = wire.disk.process();
  const memory = emptyMemory(place, 0);
  const { admission, awaited } = intakeOf(memory, "scribe_to_forge");
  const idOf = (n: number): string => n.toString(16).padStart(32, "0").padEnd(64, "0");
  for (let n = 0; n < 10_000; n += 1) admission.seen.add(idOf(n), n);
  for (let line = 1; line <= 600; line += 1) {
    const [start, end] = [100 * line, 100 * line + 100];
    const entry: LineEntry = {
      ...{ k: "line", at: line, log: "scribe_to_forge", line, start, end },
      ...{ verdict: "accepted", id: idOf(line) },
    };
    awaited.set(idOf(line), entry);
  }
  saveMemory(disk, place, memory);
  const loaded = loadMemory(disk, place, 0);
  expect(loaded).toEqual(memory);
  expect(loaded.intakes.get("scribe_to_forge")?.admission.seen.tagOf(idOf(9_999))).toBe(9_999);
  expect(loaded.intakes.get("scribe_to_forge")?.awaited.size).toBe(600);
  const lengths = wire
    .read(place.paths.checkpoint)
    .split("\n")
    .map(({ length }) => length);
  expect(Math.max(...lengths)).toBeLessThan(100_000);
});
