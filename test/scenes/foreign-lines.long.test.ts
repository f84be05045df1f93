import { expect, test } from "vitest";
import type { Composed } from "../../src/wire/compose.ts";
import {
  ack,
  causesOf,
  expectSameEverywhere,
  HOUR,
  MINUTE,
  propose,
  SECOND,
  statusOf,
} from "../support/scripts/proposal-scene.ts";
import { checkedScenes } from "../support/scenes/scene-checks.ts";
import type { SceneOptions, SimulatedWire } from "../support/scenes/simulated-wire.ts";

const sceneOf = checkedScenes("replay");

// What others write into a peer's file proves nothing about that peer: it costs its author nothing, and
// stops none of its lines. Spec 2.4.

const FILE = "scribe_to_forge.jsonl";
/** `x\n` three thousand times. */
const SIX_KB = "x\n".repeat(3_000);
const THREE_MB = `${"junk ".repeat(199)}\n`.repeat(3_000);

async function scene(options: SceneOptions = {}): Promise<SimulatedWire> {
  const wire = sceneOf(["forge", "scribe"], options);
  await wire.start();
  await wire.pass(10 * SECOND);
  return wire;
}

async function inbox(wire: SimulatedWire): Promise<string[]> {
  const { messages } = await wire.agent("forge").view("inbox", {});
  return messages.map(({ subject }) => subject);
}

const say = (wire: SimulatedWire, subject: string) =>
  wire.post("scribe", { to: ["forge"], type: "feedback", subject, body: "x" });

/** The rounds of forge's daemon until it has no more to read: time stands still meanwhile. */
async function ticksToRead(wire: SimulatedWire): Promise<number> {
  for (let ticks = 1; ; ticks += 1) {
    if (!(await wire.agent("forge").tick())) return ticks;
    expect(ticks).toBeLessThan(1_000);
  }
}

async function scribe(wire: SimulatedWire) {
  const [peer] = await wire.agent("forge").view("peers", undefined);
  return peer;
}

for (const [name, junk] of [
  ["6 KB of short lines", SIX_KB],
  ["lines that fail for different reasons", 'x\n{}\n{"from":"eve"}\n'.repeat(1_000)],
  ["3 MB with a NUL at the beginning", `\0\n${THREE_MB}`],
  ["a NUL and 3 MB in one line", `\0${"x".repeat(3_000_000)}\n`],
  ["a NUL in a line that nobody has ended", "\0junk"],
] as const) {
  test(`${name} in the file of an honest peer: what it says is read meanwhile`, async () => {
    const wire = await scene();
    const id = await propose(wire, "forge", ["scribe"], "Use tabs");
    await wire.pass(5 * SECOND);
    await say(wire, "before");
    wire.append(FILE, junk);
    await say(wire, "after");
    wire.append(FILE, junk);
    await ticksToRead(wire);
    expect(await inbox(wire)).toEqual(["before", "after"]);
    await ack(wire, "scribe", id);
    await wire.pass(10 * SECOND);
    expect(await statusOf(wire, "forge", id)).toBe("ratified");
    await wire.pass(HOUR);
    expect(await scribe(wire)).toMatchObject({ presence: "online", held: false });
    await expectSameEverywhere(wire);
  });
}

test("it is told once an hour", async () => {
  const wire = await scene();
  wire.append(FILE, SIX_KB);
  await wire.pass(2 * MINUTE);
  expect(await causesOf(wire, "forge")).toEqual(["foreign_lines"]);
  expect(await scribe(wire)).toMatchObject({ presence: "online", held: false });
  await wire.pass(2 * HOUR);
  expect(await causesOf(wire, "forge")).toEqual(["foreign_lines"]);
  wire.append(FILE, SIX_KB);
  await wire.pass(MINUTE);
  expect(await causesOf(wire, "forge")).toEqual(["foreign_lines", "foreign_lines"]);
});

test("a hundred lines an hour are not told", async () => {
  const wire = await scene();
  wire.append(FILE, "x\n".repeat(100));
  await wire.pass(10 * MINUTE);
  expect(await causesOf(wire, "forge")).toEqual([]);
});

test("copies of a peer's lines spend nothing of what it may send", async () => {
  const wire = await scene({ rateLimit: 2, tiers: { forge: { scribe: "ATTESTED" } } });
  await say(wire, "one");
  await wire.settle();
  const line = wire.lines(FILE).at(-1) ?? "";
  wire.append(FILE, `${line}\n`.repeat(500));
  await say(wire, "two");
  await ticksToRead(wire);
  expect(await inbox(wire)).toEqual(["one", "two"]);
});

test("a forged line in the place of one that is missing does not end the wait for its author", async () => {
  const wire = await scene();
  await wire.stop("scribe");
  const whole = wire.read(FILE);
  const one = wire.forge("scribe", { subject: "one" });
  const after = { seq: one.message.seq ?? 0, id: one.id };
  const two = wire.forge("scribe", { subject: "two", after });
  // Eve knows the place in the chain, and cannot sign for scribe.
  const forged = textOf(one).replace('"one"', '"eve"');
  const hole = `${"\0".repeat(textOf(one).length)}\n`;
  wire.replace(FILE, `${whole}${hole}${textOf(two)}\n${forged}\n`);
  await wire.pass(10 * SECOND);
  expect(await inbox(wire)).toEqual([]);
  wire.replace(FILE, `${whole}${textOf(one)}\n${textOf(two)}\n${forged}\n`);
  await wire.pass(10 * SECOND);
  expect(await inbox(wire)).toEqual(["one", "two"]);
  expect(await causesOf(wire, "forge")).toEqual([]);
});

function textOf({ line }: Composed): string {
  return Buffer.from(line).toString("utf8");
}
