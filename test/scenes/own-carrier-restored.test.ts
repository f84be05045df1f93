import { join } from "node:path";
import { expect, test } from "vitest";
import { PromiseChecker } from "../support/scenes/promise-checker.ts";
import { SimulatedWire, type PlainDraft } from "../support/scenes/simulated-wire.ts";
import { MINUTE, say, SECOND } from "../support/scenes/fault-scene.ts";

// What our carrier has lost is put back from our store. Spec 4.7.

const FILE = "forge_to_scribe.jsonl";
const draft = (subject: string): PlainDraft => ({ ...say(subject), body: { text: subject } });

interface Scene {
  readonly wire: SimulatedWire;
  readonly checker: PromiseChecker;
  /** The files of the wire as they were after "one". */
  readonly older: ReadonlyMap<string, string>;
}

/** forge has said "one", then a copy of the wire is made, then it says "two" and "three". */
async function scene(): Promise<Scene> {
  const wire = new SimulatedWire(["forge", "scribe"]);
  const checker = new PromiseChecker(wire);
  await wire.start();
  await wire.send("forge", draft("one"));
  await wire.pass(5 * SECOND);
  const names = [FILE, "scribe_to_forge.jsonl", "decisions.jsonl", "incident_log.jsonl"];
  const older = new Map(names.map((name) => [name, wire.read(name)]));
  for (const subject of ["two", "three"]) {
    await wire.send("forge", draft(subject));
    await wire.pass(3 * MINUTE);
  }
  checker.look();
  return { wire, checker, older };
}

async function seen(wire: SimulatedWire, handle: string): Promise<string[]> {
  return (await wire.agent(handle).view("inbox", {})).messages.map(({ subject }) => subject);
}

const HOW: readonly (readonly [string, (it: Scene) => void])[] = [
  ["put back as it was", ({ wire, older }) => wire.replace(FILE, older.get(FILE) ?? "")],
  ["deleted", ({ wire }) => wire.disk.process().remove(join(wire.wirePath, FILE))],
  ["emptied", ({ wire }) => wire.replace(FILE, "")],
];

for (const [how, change] of HOW) {
  for (const isUp of [true, false]) {
    test(`our carrier is ${how} while the daemon ${isUp ? "runs" : "is down"}: a send puts back what it lacks, and goes on`, async () => {
      const it = await scene();
      const { wire, checker } = it;
      const before = wire.lines(FILE);
      if (!isUp) wire.kill("forge");
      change(it);
      if (!isUp) await wire.begin("forge", wire.disk.process());
      if (!isUp) await wire.agent("forge").tick();
      await wire.post("forge", draft("four"));
      const chained = before.filter((line) => line.includes('"seq":'));
      expect(wire.lines(FILE)).toEqual(expect.arrayContaining(chained));
      await wire.pass(15 * MINUTE);
      expect(await seen(wire, "scribe")).toEqual(["one", "two", "three", "four"]);
      const troubles = await wire.agent("forge").view("troubles", undefined);
      expect(troubles.filter(({ code }) => code !== "incident_notices")).toEqual([]);
      await wire.expectReplayEqualsLive("forge");
      checker.look();
    });
  }
}

test("the wire is put back as it was: every agent puts back its own lines, and one that lost its store reads all", async () => {
  const { wire, checker, older } = await scene();
  await wire.send("scribe", draft("an answer"));
  await wire.pass(5 * SECOND);
  for (const [name, text] of older) wire.replace(name, text);
  await wire.pass(15 * MINUTE);
  for (const handle of wire.roster) await wire.expectReplayEqualsLive(handle);
  expect(await seen(wire, "forge")).toEqual(["an answer"]);
  expect(await seen(wire, "scribe")).toEqual(["one", "two", "three"]);
  await checker.check();
});
