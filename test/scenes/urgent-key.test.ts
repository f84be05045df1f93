import { expect, test } from "vitest";
import {
  loadSigningIdentity,
  prepareUrgentIdentity,
} from "../../src/storage/private/signing-key.ts";
import { keyId, publicKeyOf } from "../../src/wire/signature.ts";
import { say, SECOND } from "../support/scenes/fault-scene.ts";
import { SimulatedWire } from "../support/scenes/simulated-wire.ts";

const SEED = new Uint8Array(32).fill(99);
const NEW = keyId("forge", publicKeyOf(SEED));
const FILE = "forge_to_scribe.jsonl";
const PATH = `/wire/_coordination/${FILE}`;

/** Forge's daemon died while it wrote its last line, and its key is to end at once. */
async function tornScene(): Promise<SimulatedWire> {
  const wire = new SimulatedWire(["forge", "scribe"]);
  await wire.start();
  await wire.agent("forge").send([[say("in the old words")]]);
  wire.kill("forge");
  const file = wire.disk.process().open(PATH, "append");
  file.truncate(file.stat().size - 10);
  file.close();
  prepareUrgentIdentity(wire.disk.process(), wire.paths("forge"), SEED);
  return wire;
}

const inUse = (wire: SimulatedWire) =>
  loadSigningIdentity(wire.disk.process(), wire.paths("forge")).signer.keyId;

test("a key that may be stolen ends although another program keeps our log locked", async () => {
  const wire = await tornScene();
  const lock = wire.lock(FILE);
  await wire.start("forge");
  await wire.pass(5 * SECOND);
  expect(inUse(wire)).toBe(NEW);
  lock.close();
});

test("it ends although the disk keeps what it signed from the wire, and that is published all the same", async () => {
  const wire = await tornScene();
  const process = wire.disk.process();
  process.standing = (path) => (path === PATH ? "EIO" : undefined);
  await wire.begin("forge", process);
  await wire.pass(5 * SECOND);
  expect(inUse(wire)).toBe(NEW);
  process.standing = undefined;
  await wire.pass(60 * SECOND);
  const { messages: inbox } = await wire.agent("scribe").view("inbox", {});
  expect(inbox.map(({ subject }) => subject)).toContain("in the old words");
  await wire.expectReplayEqualsLive("forge");
});
