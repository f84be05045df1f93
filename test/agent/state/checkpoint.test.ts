import { isDeepStrictEqual } from "node:util";
import { expect, test } from "vitest";
import { systemClock } from "../../../src/agent/session/clock.ts";
import { isWorthSaving, loadMemory, saveMemory } from "../../../src/agent/state/checkpoint.ts";
import type { LineEntry } from "../../../src/agent/state/journal-entries.ts";
import { emptyMemory, intakeOf } from "../../../src/agent/state/agent-state.ts";
import { MemoryDisk } from "../../support/disk/memory-disk.ts";
import { SimulatedWire } from "../../support/scenes/simulated-wire.ts";

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

/** What is true of the moment only, and what the caller gives: a start finds it out again. */
const MOMENTARY = new Set([
  ...["log", "status", "foreign", "signedTo", "unlimitedTo", "look", "claims", "goesOn"],
  ...["allowances", "unnoted", "fetchedMs"],
]);
/** Kept in ways of their own, which other tests look at. */
const APART = new Set(["intakes", "state", "past", "order"]);

test("a checkpoint keeps all of the memory that is not of the moment", async () => {
  const wire = new SimulatedWire(["forge", "scribe"]);
  await wire.start();
  const { place } = wire.agent("forge");
  const disk = wire.disk.process();
  const empty = emptyMemory(place, 0);
  const [log, id] = ["scribe_to_forge", "a1".repeat(32)];
  const memory = {
    ...emptyMemory(place, 0),
    decisions: undefined,
    inUse: { log, detail: "a line that we did not write", sinceMs: 7 },
    times: {
      latestMs: 4_000,
      setBacks: [{ before: 8, at: 3_000 }],
      lastSent: "2026-06-01T09:00:00.000001Z",
    },
    journalEnd: 10,
    inbox: { unnoted: undefined, end: 20, from: 5, notices: { end: 3, from: 4 } },
  };
  const intake = intakeOf(memory, log);
  intake.cursor = {
    offset: 300,
    lines: 3,
    scanned: 0,
    prefixHash: "b2".repeat(32),
    dev: 1,
    ino: 2,
    size: 300,
    mtimeMs: 3,
  };
  memory.indexed = { rows: 7, to: 700, inbox: { count: 5, next: 9, isInOrder: false } };
  intake.past.historyTo = 100;
  intake.past.lastAt = 4_000;
  intake.order.takesAny = true;
  intake.awaited.set(id, {
    ...{ k: "line", at: 4_000, log, line: 2, start: 100, end: 200, verdict: "accepted", id },
    read: "alone",
  });
  const { admission } = intake;
  admission.chain = { head: { seq: 3, id }, gaps: [{ from: 2, to: 2, after: id, before: id }] };
  admission.seen.add({ id }, 9);
  admission.held = { cause: "log_rewritten", detail: "another line", sinceMs: 4_000 };
  admission.mayBeginLate = true;
  admission.ahead = { id, sinceMs: 3_000 };

  await saveMemory({ disk, clock: systemClock }, place, memory);
  const loaded = loadMemory(disk, place, 0);
  const kept = (of: object, apart = new Set<string>()) =>
    Object.entries(of).filter(([field]) => !MOMENTARY.has(field) && !apart.has(field));
  expect(kept(loaded, APART)).toEqual(kept(memory, APART));
  expect(kept(intakeOf(loaded, log))).toEqual(kept(intake));
  // Each of these fields was given a value of its own: one that is added here has to be, too.
  const unset = (now: object, before: object, apart?: Set<string>) => {
    const fresh = new Map<string, unknown>(Object.entries(before));
    return kept(now, apart).filter(([field, value]) => isDeepStrictEqual(value, fresh.get(field)));
  };
  expect(unset(memory, empty, APART)).toEqual([["decisions", undefined]]);
  expect(unset(intake, intakeOf(empty, log), APART)).toEqual([]);
  expect(unset(intake.past, intakeOf(empty, log).past)).toEqual([]);
  expect(unset(intake.order, intakeOf(empty, log).order)).toEqual([]);
  // What the layout gives, and what is compared by its contents.
  const others = unset(admission, intakeOf(empty, log).admission).map(([field]) => field);
  expect(others).toEqual(["name", "readers", "closing", "seen"]);
  expect(intakeOf(loaded, log).admission.seen.tagOf({ id })).toBe(9);
});

test("a checkpoint keeps what a long log makes us remember, on lines that stay short", async () => {
  const wire = new SimulatedWire(["forge", "scribe"]);
  await wire.start();
  const { place } = wire.agent("forge");
  const disk = wire.disk.process();
  const memory = emptyMemory(place, 0);
  const { admission, awaited } = intakeOf(memory, "scribe_to_forge");
  const idOf = (n: number): string => n.toString(16).padStart(32, "0").padEnd(64, "0");
  for (let n = 0; n < 10_000; n += 1) admission.seen.add({ id: idOf(n), seq: n % 2 }, n);
  for (let line = 1; line <= 600; line += 1) {
    const [start, end] = [100 * line, 100 * line + 100];
    const entry: LineEntry = {
      ...{ k: "line", at: line, log: "scribe_to_forge", line, start, end },
      ...{ verdict: "accepted", id: idOf(line) },
    };
    awaited.set(idOf(line), entry);
  }
  await saveMemory({ disk, clock: systemClock }, place, memory);
  const loaded = loadMemory(disk, place, 0);
  expect(loaded).toEqual(memory);
  const { seen } = intakeOf(loaded, "scribe_to_forge").admission;
  expect([seen.tagOf({ id: idOf(1), seq: 1 }), seen.tagOf({ id: idOf(9_998) })]).toEqual([
    1, 9_998,
  ]);
  expect([seen.size, seen.lately]).toEqual([10_000, 9_936]);
  expect(loaded.intakes.get("scribe_to_forge")?.awaited.size).toBe(600);
  const lengths = wire
    .read(place.paths.checkpoint)
    .split("\n")
    .map(({ length }) => length);
  expect(Math.max(...lengths)).toBeLessThan(100_000);
});
