import { expect, test } from "vitest";
import { StorageError } from "../../src/storage/disk/disk.ts";
import { openInbox } from "../../src/storage/files/inbox.ts";
import { fromPlain } from "../../src/wire/json/json.ts";
import { nextPoint } from "../support/amounts.ts";
import { PEER, VICTIM } from "../support/disk/fault-points.ts";
import { Crashed, MemoryDisk } from "../support/disk/memory-disk.ts";
import { POWER_CUTS, FAULTS } from "../support/disk/faults.ts";
import {
  recoverAndCheck,
  faultScene,
  say,
  SECOND,
  send,
  type FaultScene,
} from "../support/scenes/fault-scene.ts";

const PATH = "/state/inbox.jsonl";
const lineOf = (number: number): Uint8Array => Buffer.from(`{"n":${number}}`);

test("a rotation that fails at any operation loses and repeats no line, and no offset", () => {
  for (const fault of FAULTS) {
    for (const power of POWER_CUTS) {
      for (let at = 1, isThrough = false; !isThrough; at = nextPoint(at)) {
        const world = new MemoryDisk({ seed: at });
        const process = world.process();
        process.makeFolder("/state", 0o700);
        const inbox = openInbox(process, PATH, 10);
        inbox.append([lineOf(1), lineOf(2)]);
        const { end } = inbox;
        const before = process.operations;
        process.failAt(at, fault);
        try {
          inbox.rotate(() => end);
        } catch (error) {
          if (!(error instanceof Crashed) && !(error instanceof StorageError)) throw error;
        }
        isThrough = process.operations - before < at;
        process.kill();
        if (power !== "none") world.powerCut(power);
        const again = openInbox(world.process(), PATH, 10);
        const where = `${fault} at operation ${at}, power ${power}`;
        expect(again.end, where).toBe(end);
        again.append([lineOf(3)]);
        const present = Buffer.from(again.read(again.base, 100) ?? []).toString("utf8");
        const old = [...again.rotated()].map(({ bytes }) => `${Buffer.from(bytes).toString()}\n`);
        expect(old.join("") + present, where).toBe('{"n":1}\n{"n":2}\n{"n":3}\n');
      }
    }
  }
});

async function delivered(...subjects: readonly string[]): Promise<FaultScene> {
  const scene = await faultScene([VICTIM, PEER]);
  for (const subject of subjects) await send(scene, PEER, say(subject));
  await scene.wire.pass(3 * SECOND);
  await scene.wire.rest();
  return scene;
}

function subjects(text: string): string[] {
  const lines = text.split("\n").filter((line) => line !== "");
  return lines.map((line) => (JSON.parse(line) as { subject: string }).subject);
}

test("a deleted inbox is written again when it is next quiet, without another line", async () => {
  const scene = await delivered("one", "two");
  const { inbox } = scene.wire.paths(VICTIM);
  scene.wire.disk.process().remove(inbox);
  await scene.wire.rest();
  expect(subjects(scene.wire.read(inbox))).toEqual(["before", "one", "two"]);
  await recoverAndCheck(scene);
});

test("a deleted inbox is written again at the next start, without another line", async () => {
  const scene = await delivered("one", "two");
  const { inbox } = scene.wire.paths(VICTIM);
  scene.wire.kill(VICTIM);
  scene.wire.disk.process().remove(inbox);
  await scene.wire.begin(VICTIM, scene.wire.disk.process());
  expect(subjects(scene.wire.read(inbox))).toEqual(["before", "one", "two"]);
  await recoverAndCheck(scene);
});

test("a lost journal repeats nothing of what is in a rotated inbox, wherever we die", async () => {
  for (let at = 1, died = true; died; at = nextPoint(at)) {
    const scene = await delivered("one", "two");
    const { wire } = scene;
    const { inbox, journal, checkpoint } = wire.paths(VICTIM);
    wire.kill(VICTIM);
    // As a rotation leaves it.
    const rotated = inbox.replace(".jsonl", `.${"0".repeat(16)}.jsonl`);
    wire.disk.process().renameExclusive(inbox, rotated);
    await send(scene, PEER, say("three"));
    await wire.begin(VICTIM, wire.disk.process());
    await wire.settle();
    wire.kill(VICTIM);
    for (const path of [journal, checkpoint]) wire.disk.process().remove(path);
    const process = wire.disk.process();
    process.failAt(at, "crash");
    try {
      await wire.begin(VICTIM, process);
    } catch (error) {
      if (!(error instanceof Crashed)) throw error;
    }
    await wire.settle();
    died = !wire.isUp(VICTIM);
    process.heal();
    if (died) await wire.begin(VICTIM, wire.disk.process());
    await wire.settle();
    await send(scene, PEER, say("four"));
    await wire.settle();
    const all = [...subjects(wire.read(rotated)), ...subjects(wire.read(inbox))];
    expect(all, `died at operation ${at}`).toEqual(["before", "one", "two", "three", "four"]);
  }
});

test("a lost journal: a long inbox is looked through piece by piece, and nothing comes twice", async () => {
  const scene = await delivered();
  const { wire } = scene;
  const long = fromPlain({ text: "x".repeat(20_000) });
  for (let n = 0; n < 40; n += 1) await send(scene, PEER, { ...say(`long ${n}`), body: long });
  await wire.pass(3 * SECOND);
  await wire.rest();
  const { inbox, journal, checkpoint } = wire.paths(VICTIM);
  const before = wire.read(inbox);
  expect(subjects(before).length).toBe(41);
  wire.kill(VICTIM);
  for (const path of [journal, checkpoint]) wire.disk.process().remove(path);
  const process = wire.disk.process();
  const open = process.open.bind(process);
  let most = 0;
  process.open = (path, how, mode) => {
    const file = open(path, how, mode);
    const read = file.read.bind(file);
    file.read = (length, position, into) => {
      if (path === inbox) most = Math.max(most, length);
      return read(length, position, into);
    };
    return file;
  };
  await wire.begin(VICTIM, process);
  await wire.settle();
  expect(wire.read(inbox)).toBe(before);
  expect(most).toBeLessThanOrEqual(256 * 1_024);
});
