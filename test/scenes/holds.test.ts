import { expect, test } from "vitest";
import type { Composed } from "../../src/wire/compose.ts";
import { SimulatedWire } from "../support/scenes/simulated-wire.ts";

// An author that has signed two lines with one number is held until the operator decides. Spec 1.6.

const MINUTE = 60_000;

const textOf = (...lines: readonly Composed[]): string =>
  lines.map(({ line }) => `${Buffer.from(line).toString("utf8")}\n`).join("");

async function isHeld(wire: SimulatedWire): Promise<boolean | undefined> {
  const peers = await wire.agent("forge").view("peers", undefined);
  return peers.find(({ handle }) => handle === "scribe")?.held;
}

async function inbox(wire: SimulatedWire): Promise<string[]> {
  return (await wire.agent("forge").view("inbox", {})).messages.map(({ subject }) => subject);
}

test("a fork among lines for others holds its author for us, too, until the operator follows a branch", async () => {
  const wire = new SimulatedWire(["forge", "quill", "scribe"]);
  await wire.start("forge");
  const [one, other] = ["one", "another one"].map((subject) =>
    wire.forge("scribe", { subject, to: ["quill"], after: "nothing" }),
  ) as [Composed, Composed];
  wire.append(wire.carrier("scribe"), textOf(one, other));
  await wire.pass(MINUTE);
  expect(await isHeld(wire)).toBe(true);
  const hello = wire.forge("scribe", { subject: "hello", after: { seq: 1, id: other.id } });
  wire.append(wire.carrier("scribe"), textOf(hello));
  await wire.pass(MINUTE);
  expect(await inbox(wire)).toEqual([]);
  await wire.agent("forge").resetPeer("scribe", { seq: 1, id: other.id });
  await wire.pass(MINUTE);
  expect(await isHeld(wire)).toBe(false);
  expect(await inbox(wire)).toEqual(["hello"]);
});

test("an author that put another line in the place of one stays held after a restart, also when its file is as it was", async () => {
  const wire = new SimulatedWire(["forge", "scribe"]);
  await wire.start("forge");
  const file = wire.carrier("scribe");
  const one = wire.forge("scribe", { subject: "one" });
  const after = { seq: 1, id: one.id };
  const two = wire.forge("scribe", { subject: "two", after });
  const never = wire.forge("scribe", { subject: "never two", after });
  wire.append(file, textOf(one, two));
  await wire.settle();
  wire.replace(file, textOf(one, never));
  await wire.pass(MINUTE);
  expect(await isHeld(wire)).toBe(true);

  wire.replace(file, textOf(one, two));
  wire.kill("forge");
  await wire.start("forge");
  expect(await isHeld(wire)).toBe(true);
  wire.append(file, textOf(wire.forge("scribe", { subject: "three" })));
  await wire.pass(MINUTE);
  expect(await inbox(wire)).toEqual(["one", "two"]);
});
