import { expect, test } from "vitest";
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
import type { SimulatedWire } from "../support/scenes/simulated-wire.ts";

const sceneOf = checkedScenes("replay");

// Any program that can write in the folder can put lines of its own into a log, and take them out
// again. The author's next lines then stand where known ones stood, and count all the same.

const FILE = "scribe_to_forge.jsonl";
const JUNK = "x\n".repeat(3);

async function scene(): Promise<SimulatedWire> {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start();
  await wire.pass(10 * SECOND);
  return wire;
}

/** Puts junk into scribe's log, has scribe write behind it, and takes the junk out again. */
async function putInAndTakeOut(wire: SimulatedWire, subject = "between"): Promise<void> {
  wire.append(FILE, JUNK);
  await wire.pass(SECOND);
  await wire.send("scribe", { to: ["forge"], type: "feedback", subject, body: "x" });
  await wire.pass(10 * SECOND);
  wire.replace(FILE, wire.read(FILE).replace(JUNK, ""));
  await wire.pass(10 * SECOND);
}

const subjects = async (wire: SimulatedWire) =>
  (await wire.agent("forge").view("inbox", {})).map(({ subject }) => subject);

const receipts = async (wire: SimulatedWire) =>
  (await wire.agent("scribe").view("sent", {})).map(({ subject, receipts: [receipt] }) => [
    subject,
    receipt?.state,
  ]);

test("what an author says after foreign lines have vanished is owed, counted and decided", async () => {
  const wire = await scene();
  await putInAndTakeOut(wire);
  const id = await propose(wire, "scribe", ["forge"], "Use tabs");
  await wire.pass(10 * SECOND);
  expect(await subjects(wire)).toEqual(["between", "Use tabs"]);
  for (const who of ["forge", "scribe"]) {
    const owed = await wire.agent(who).view("pending", undefined);
    expect(owed.map(({ event_id }) => event_id)).toEqual([id]);
  }
  await ack(wire, "forge", id);
  await wire.pass(10 * SECOND);
  for (const who of ["forge", "scribe"]) expect(await statusOf(wire, who, id)).toBe("ratified");
  await wire.pass(HOUR);
  expect(await receipts(wire)).toEqual([
    ["Use tabs", "answered"],
    ["between", "read"],
  ]);
  expect(await causesOf(wire, "forge")).toEqual([]);
  await expectSameEverywhere(wire);
});

test("again and again, with a restart and a lost checkpoint between", async () => {
  const wire = await scene();
  for (const [at, how] of (["go on", "restart", "forget", "go on"] as const).entries()) {
    await putInAndTakeOut(wire, `between ${at}`);
    if (how === "restart") {
      wire.kill("forge");
      await wire.start("forge");
    }
    if (how === "forget") {
      wire.kill("forge");
      wire.disk.process().remove(wire.paths("forge").checkpoint);
      await wire.start("forge");
    }
    await wire.send("scribe", {
      to: ["forge"],
      type: "feedback",
      subject: `after ${at}`,
      body: "x",
    });
    await wire.pass(MINUTE);
  }
  const all = [0, 1, 2, 3].flatMap((at) => [`between ${at}`, `after ${at}`]);
  expect(await subjects(wire)).toEqual(all);
  expect(await receipts(wire)).toEqual(all.toReversed().map((subject) => [subject, "delivered"]));
  await wire.agent("forge").markRead("all");
  await wire.pass(HOUR);
  expect(await receipts(wire)).toEqual(all.toReversed().map((subject) => [subject, "read"]));
});

test("an author whose daemon did not see them sees its receipts all the same", async () => {
  const wire = await scene();
  await wire.send("scribe", { to: ["forge"], type: "feedback", subject: "before", body: "x" });
  await wire.pass(10 * SECOND);
  await wire.stop("scribe");
  const whole = wire.read(FILE);
  const lines = whole.trimEnd().split("\n");
  wire.replace(FILE, `${lines.slice(0, -1).join("\n")}\n${JUNK}${lines.at(-1) ?? ""}\n`);
  await wire.pass(10 * SECOND);
  wire.replace(FILE, whole);
  await wire.pass(10 * SECOND);
  await wire.start("scribe");
  await wire.send("scribe", { to: ["forge"], type: "feedback", subject: "after", body: "x" });
  await wire.pass(10 * MINUTE);
  expect(await subjects(wire)).toEqual(["before", "after"]);
  expect(await receipts(wire)).toEqual([
    ["after", "delivered"],
    ["before", "delivered"],
  ]);
});

test("what we send after our own log was put back is ours to follow, though a foreign line was in it", async () => {
  const wire = await scene();
  await wire.send("scribe", { to: ["forge"], type: "feedback", subject: "before", body: "x" });
  wire.append(FILE, '{"torn');
  await wire.pass(SECOND);
  await wire.send("scribe", { to: ["forge"], type: "feedback", subject: "behind", body: "x" });
  await wire.pass(10 * SECOND);
  wire.replace(FILE, wire.read(FILE).slice(0, 100));
  await wire.pass(10 * SECOND);
  expect(wire.read(FILE)).not.toContain('{"torn');
  const id = await propose(wire, "scribe", ["forge"], "Use tabs");
  await wire.pass(10 * SECOND);
  await ack(wire, "forge", id);
  await wire.pass(10 * MINUTE);
  for (const who of ["forge", "scribe"]) expect(await statusOf(wire, who, id)).toBe("ratified");
  expect(await receipts(wire)).toEqual([
    ["Use tabs", "answered"],
    ["behind", "read"],
    ["before", "read"],
  ]);
  await expectSameEverywhere(wire);
});
