import { join } from "node:path";
import { expect, test } from "vitest";
import { compressArchive, type CompressedFile } from "../../src/carriers/archive-year.ts";
import {
  ack,
  expectSameEverywhere,
  HOUR,
  MINUTE,
  note,
  propose,
  SECOND,
  statusOf,
  subjectsOf,
} from "../support/scripts/proposal-scene.ts";
import { BEGIN_MS, WIRE } from "../support/scenes/scene-folder.ts";
import { checkedScenes } from "../support/scenes/scene-checks.ts";
import type { SimulatedWire } from "../support/scenes/simulated-wire.ts";

const sceneOf = checkedScenes("replay and audit");

const THREE = ["forge", "quill", "scribe"];
const NEW_YEAR_MS = Date.UTC(2027, 0, 1);
const FORGE = "forge_to_scribe";

async function archived(wire: SimulatedWire, handle: string, year?: number): Promise<string[]> {
  const { files } = await wire.agent(handle).archive(year);
  return files.map((row) => `${row.file} ${row.outcome === "archived" ? row.to : row.outcome}`);
}

function compressed(wire: SimulatedWire, handle: string): CompressedFile[] {
  const layout = wire.agent(handle).carriers.layout();
  return compressArchive(wire.disk.process(), { wireDir: WIRE, handle, layout });
}

/** Nobody beats through half a year: the hosts sleep until shortly before its end. */
async function sleepUntil(wire: SimulatedWire, ms: number): Promise<void> {
  wire.suspend(ms - BEGIN_MS);
  await wire.pass(SECOND);
}

/** What nobody may be told of: an archive is nothing strange. */
async function causes(wire: SimulatedWire, handle: string): Promise<string[]> {
  const notices = await wire.agent(handle).view("notices", undefined);
  return notices
    .map(({ cause }) => cause)
    .filter((cause) => cause.startsWith("log_") || cause === "decisions_changed");
}

test("the year turns while three write: every line once, numbers and chains go on", async () => {
  const wire = sceneOf(THREE);
  await wire.start();
  await sleepUntil(wire, NEW_YEAR_MS - HOUR);
  await wire.send("forge", note(["*"], "old"));
  await wire.send("quill", note(["forge"], "old too"));
  wire.suspend(HOUR);
  await wire.send("scribe", note(["*"], "between"));
  // The first moves what all of them write; the others find it empty.
  const id = await propose(wire, "forge", ["quill"], "Use tabs");
  await ack(wire, "quill", id, { approve: true });
  await wire.pass(MINUTE);
  expect(await archived(wire, "forge")).toEqual([
    "outbox/forge.jsonl archive/2026/forge.jsonl",
    "decisions.jsonl not due",
    "incident_log.jsonl empty",
  ]);
  await wire.post("forge", note(["*"], "new"));
  expect(await archived(wire, "quill")).toEqual([
    "outbox/quill.jsonl archive/2026/quill.jsonl",
    "decisions.jsonl not due",
    "incident_log.jsonl empty",
  ]);
  await wire.send("quill", note(["forge"], "new too"));
  expect(await archived(wire, "scribe")).toContain("outbox/scribe.jsonl archive/2026/scribe.jsonl");
  await wire.pass(5 * MINUTE);
  expect(await subjectsOf(wire, "scribe")).toEqual(["forge: old", "forge: new"]);
  expect(await subjectsOf(wire, "forge")).toEqual([
    "quill: old too",
    "scribe: between",
    "quill: ack",
    "quill: new too",
  ]);
  for (const handle of THREE) expect(await causes(wire, handle)).toEqual([]);
  // To do it again changes nothing.
  expect(await archived(wire, "forge")).toEqual([
    "outbox/forge.jsonl not due",
    "decisions.jsonl not due",
    "incident_log.jsonl empty",
  ]);
});

test("one that was down over the turn of two years reads the archived parts", async () => {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start();
  await wire.send("forge", note(["scribe"], "before"));
  wire.kill("scribe");
  await wire.post("forge", note(["scribe"], "one"));
  await archived(wire, "forge", 2026);
  await wire.post("forge", note(["scribe"], "two"));
  await archived(wire, "forge", 2026);
  expect(compressed(wire, "forge")).toHaveLength(2);
  await wire.post("forge", note(["scribe"], "three"));
  await wire.start("scribe");
  await wire.settle();
  expect(await subjectsOf(wire, "scribe")).toEqual([
    "forge: before",
    "forge: one",
    "forge: two",
    "forge: three",
  ]);
  expect(await causes(wire, "scribe")).toEqual([]);
  // And one that has lost all that it knew reads the same.
  wire.kill("forge");
  await wire.start("forge");
  await wire.send("forge", note(["scribe"], "four"));
  expect((await subjectsOf(wire, "scribe")).at(-1)).toBe("forge: four");
});

test("a decision is found in the archive: nobody records it again", async () => {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start();
  const id = await propose(wire, "forge", ["scribe"], "Use tabs");
  await wire.pass(5 * SECOND);
  await ack(wire, "scribe", id, { approve: true });
  await wire.pass(MINUTE);
  expect(wire.lines("decisions.jsonl")).toHaveLength(1);
  await archived(wire, "scribe", 2026);
  expect(await archived(wire, "forge", 2026)).toContain("decisions.jsonl empty");
  await wire.pass(2 * HOUR);
  wire.kill("forge");
  wire.kill("scribe");
  await wire.start("forge");
  await wire.start("scribe");
  await wire.pass(2 * HOUR);
  expect(wire.lines("decisions.jsonl")).toEqual([]);
  expect(await statusOf(wire, "forge", id)).toBe(await statusOf(wire, "scribe", id));
  expect((await wire.outcome("forge")).recorded).toEqual([id]);
  await expectSameEverywhere(wire);
});

test("a proposal that is open at the turn of the year is ratified after it", async () => {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start();
  await sleepUntil(wire, NEW_YEAR_MS - MINUTE);
  const id = await propose(wire, "forge", ["scribe"], "Use tabs");
  await wire.pass(2 * MINUTE);
  await archived(wire, "forge");
  await archived(wire, "scribe");
  await ack(wire, "scribe", id, { approve: true });
  await wire.pass(5 * MINUTE);
  expect(wire.lines("decisions.jsonl")).toHaveLength(1);
  await expectSameEverywhere(wire);
});

test("a clock that goes back over the year and on again: parts stay in their order", async () => {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start();
  await sleepUntil(wire, NEW_YEAR_MS - MINUTE);
  await wire.send("forge", note(["scribe"], "old"));
  await wire.pass(2 * MINUTE);
  expect(await archived(wire, "forge")).toContain(`${FORGE}.jsonl archive/2026/${FORGE}.jsonl`);
  wire.setClock("forge", -10 * MINUTE);
  await wire.send("forge", note(["scribe"], "again old"));
  wire.setClock("forge", 0);
  await wire.pass(MINUTE);
  await archived(wire, "forge");
  await wire.send("forge", note(["scribe"], "new"));
  expect(await subjectsOf(wire, "scribe")).toEqual([
    "forge: old",
    "forge: again old",
    "forge: new",
  ]);
  expect(await causes(wire, "scribe")).toEqual([]);
});

test("our archived part is gone: every line is put back", async () => {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start();
  await wire.send("forge", note(["scribe"], "one"));
  await archived(wire, "forge", 2026);
  await wire.send("forge", note(["scribe"], "two"));
  wire.disk.process().remove(join(WIRE, "archive", "2026", `${FORGE}.jsonl`));
  await wire.pass(15 * MINUTE);
  await wire.send("forge", note(["scribe"], "three"));
  const put = wire.lines(`${FORGE}.jsonl`).filter((line) => line.includes('"feedback"'));
  expect(put.map((line) => (JSON.parse(line) as { subject: string }).subject).toSorted()).toEqual([
    "one",
    "three",
    "two",
  ]);
  expect(await subjectsOf(wire, "scribe")).toEqual(["forge: one", "forge: two", "forge: three"]);
});

test("a damaged part of a peer holds nothing back, and what was in it is put back", async () => {
  const wire = sceneOf(THREE);
  await wire.start();
  wire.kill("scribe");
  await wire.post("forge", note(["*"], "old"));
  await archived(wire, "forge", 2026);
  const [packed] = compressed(wire, "forge");
  wire.replace(packed?.file ?? "", "no gzip file");
  await wire.start("scribe");
  await wire.send("quill", note(["scribe"], "meanwhile"));
  await wire.send("forge", note(["*"], "new"));
  await wire.pass(MINUTE);
  expect((await subjectsOf(wire, "scribe")).toSorted()).toEqual([
    "forge: new",
    "forge: old",
    "quill: meanwhile",
  ]);
});
