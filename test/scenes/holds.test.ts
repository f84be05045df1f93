import { expect, test } from "vitest";
import type { Composed } from "../../src/wire/compose.ts";
import { SimulatedWire } from "../support/scenes/simulated-wire.ts";

const MINUTE = 60_000;
const LOG = "scribe_to_forge";
const FILE = `${LOG}.jsonl`;

const textOf = (...lines: readonly Composed[]): string =>
  lines.map(({ line }) => `${Buffer.from(line).toString("utf8")}\n`).join("");

async function isHeld(wire: SimulatedWire): Promise<boolean | undefined> {
  const peers = await wire.agent("forge").view("peers", undefined);
  return peers.find(({ handle }) => handle === "scribe")?.held;
}

async function inbox(wire: SimulatedWire): Promise<string[]> {
  return (await wire.agent("forge").view("inbox", {})).map(({ subject }) => subject);
}

/** forge again, from its journal alone or with its checkpoint. */
async function restart(wire: SimulatedWire, how: "its journal" | "its checkpoint"): Promise<void> {
  if (how === "its checkpoint") await wire.rest();
  wire.kill("forge");
  const { checkpoint } = wire.paths("forge");
  const disk = wire.disk.process();
  if (how === "its journal" && disk.stat(checkpoint) !== undefined) disk.remove(checkpoint);
  await wire.start("forge");
  await wire.pass(MINUTE);
}

/** Spec 1.6: a hold is of an author, whichever of its logs showed what it did. */
test("a peer that forked the log of another reader is held: its log to us is not read either", async () => {
  const wire = new SimulatedWire(["forge", "quill", "scribe"]);
  await wire.start("forge");
  const other = "scribe_to_quill";
  const lines = ["one", "another one"].map((subject) =>
    wire.forge("scribe", other, { subject, to: ["quill"], after: "nothing" }),
  );
  wire.append(`${other}.jsonl`, textOf(...lines));
  await wire.pass(MINUTE);
  expect(await isHeld(wire)).toBe(true);
  wire.append(FILE, textOf(wire.forge("scribe", LOG, { subject: "hello" })));
  await wire.pass(MINUTE);
  expect(await inbox(wire)).toEqual([]);
  await wire.agent("forge").resetPeer("scribe");
  await wire.pass(MINUTE);
  expect(await inbox(wire)).toEqual(["hello"]);
});

test.each(["its journal", "its checkpoint"] as const)(
  "an author who rewrote its log stays held after a restart from %s, also when the log is as it was",
  async (how) => {
    const wire = new SimulatedWire(["forge", "scribe"]);
    await wire.start("forge");
    const one = wire.forge("scribe", LOG, { subject: "one" });
    const after = { seq: 1, id: one.id };
    const two = wire.forge("scribe", LOG, { subject: "two", after });
    const never = wire.forge("scribe", LOG, { subject: "never two", after });
    wire.append(FILE, textOf(one, two));
    await wire.settle();
    wire.replace(FILE, textOf(one, never));
    await wire.pass(MINUTE);
    expect(await isHeld(wire)).toBe(true);

    wire.replace(FILE, textOf(one, two));
    await restart(wire, how);
    expect(await isHeld(wire)).toBe(true);
    wire.append(FILE, textOf(wire.forge("scribe", LOG, { subject: "three" })));
    await wire.pass(MINUTE);
    expect(await inbox(wire)).toEqual(["one", "two"]);
  },
);

test.each(["its journal", "its checkpoint"] as const)(
  "an author who forked its log stays held after a restart from %s, also when the fork is gone",
  async (how) => {
    const wire = new SimulatedWire(["forge", "scribe"]);
    await wire.start("forge");
    const one = wire.forge("scribe", LOG, { subject: "one" });
    const fork = wire.forge("scribe", LOG, { subject: "another one", after: "nothing" });
    wire.append(FILE, textOf(one, fork));
    await wire.pass(MINUTE);
    expect(await isHeld(wire)).toBe(true);
    if (how === "its checkpoint") await wire.rest();
    wire.replace(FILE, textOf(one));
    await restart(wire, how);
    expect(await isHeld(wire)).toBe(true);
  },
);

test("the head that we remember of a peer stays where it was while history is read again", async () => {
  const wire = new SimulatedWire(["forge", "scribe"]);
  await wire.start("forge");
  const lines: Composed[] = [];
  for (let seq = 1; seq <= 5; seq += 1) {
    const last = lines.at(-1);
    const after = last === undefined ? "nothing" : { seq: seq - 1, id: last.id };
    lines.push(wire.forge("scribe", LOG, { subject: `line ${seq}`, after }));
  }
  wire.append(FILE, textOf(...lines));
  await wire.settle();
  await wire.rest();
  const { heads, journal } = wire.paths("forge");
  const remembered = () =>
    (JSON.parse(wire.read(heads)) as { peers: Record<string, { seq: number }> }).peers[LOG]?.seq;
  expect(remembered()).toBe(5);

  // An older copy of the log stands there as our journal is lost.
  wire.kill("forge");
  wire.disk.process().remove(journal);
  wire.replace(FILE, textOf(...lines.slice(0, 3)));
  await wire.start("forge");
  await wire.pass(MINUTE);
  await wire.rest();
  expect(remembered()).toBe(5);
  wire.replace(FILE, textOf(...lines));
  await wire.pass(MINUTE);
  await wire.rest();
  expect([remembered(), (await inbox(wire)).length]).toEqual([5, 5]);
});
