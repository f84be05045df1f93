import { expect, test } from "vitest";
import {
  ackDraft,
  causesOf,
  MINUTE,
  propose,
  SECOND,
} from "../../support/scripts/proposal-scene.ts";
import { say } from "../../support/scenes/fault-scene.ts";
import { checkedScenes } from "../../support/scenes/scene-checks.ts";
import type { SceneOptions, SimulatedWire } from "../../support/scenes/simulated-wire.ts";
import { PromiseChecker } from "../../support/scenes/promise-checker.ts";

// Each of these holds live, and by itself once more at its end: replayed without a checkpoint, and
// by an audit of the logs alone.
const sceneOf = checkedScenes("replay and audit");

const FILE = "forge_to_scribe.jsonl";

/** Both run, and all that they have said is durable. */
async function quiet(
  options: SceneOptions = {},
): Promise<{ wire: SimulatedWire; checker: PromiseChecker }> {
  const wire = sceneOf(["forge", "scribe"], options);
  const checker = new PromiseChecker(wire);
  await wire.start();
  await wire.post("forge", say("before"));
  await wire.pass(3 * SECOND);
  await wire.rest();
  return { wire, checker };
}

async function inboxOf(wire: SimulatedWire): Promise<string[]> {
  return (await wire.agent("scribe").view("inbox", {})).map(({ subject }) => subject);
}

/** The same bytes stand there again, forge goes on after them, and nobody has cause to complain. */
async function expectNothingLost(
  { wire, checker }: { wire: SimulatedWire; checker: PromiseChecker },
  read: string,
): Promise<void> {
  await wire.pass(5 * SECOND);
  expect(wire.read(FILE).startsWith(read)).toBe(true);
  expect(await inboxOf(wire)).toEqual(["before", "one", "two"]);
  await wire.send("forge", say("three"));
  await wire.rest();
  await wire.pass(15 * MINUTE);
  expect(await inboxOf(wire)).toEqual(["before", "one", "two", "three"]);
  for (const handle of wire.roster) {
    expect((await causesOf(wire, handle)).filter((cause) => cause !== "peer_silent")).toEqual([]);
  }
  await checker.check();
}

for (const reader of [
  "goes on",
  "restarts while they are missing",
  "restarts twice, with a checkpoint from when they were missing",
]) {
  test(`a power cut after a peer read unsynced lines, and the peer ${reader}: identical bytes go out again, no fork is seen, and the peer delivers once`, async () => {
    const { wire, checker } = await quiet();
    const durable = wire.read(FILE);
    await wire.post("forge", say("one"));
    await wire.post("forge", say("two"));
    await wire.settle();
    expect(await inboxOf(wire)).toEqual(["before", "one", "two"]);
    checker.look();
    const read = wire.read(FILE);
    expect(read.length).toBeGreaterThan(durable.length);

    // The logs are on forge's host, and scribe's is another one, whose power stays.
    wire.kill("forge");
    wire.replace(FILE, durable);
    await wire.pass(2 * MINUTE);
    if (reader !== "goes on") {
      wire.kill("scribe");
      await wire.start("scribe");
    }
    await wire.pass(2 * MINUTE);
    expect(await inboxOf(wire)).toEqual(["before", "one", "two"]);
    if (reader.includes("twice")) {
      await wire.stop("scribe");
      await wire.start("scribe");
    }

    await wire.start("forge");
    if (reader.includes("twice")) {
      await wire.pass(5 * SECOND);
      wire.kill("scribe");
      await wire.start("scribe");
    }
    await expectNothingLost({ wire, checker }, read);
  });
}

test("a power cut leaves a hole where a peer has read, and whole lines behind it: they wait for its author", async () => {
  const { wire, checker } = await quiet();
  const durable = wire.read(FILE);
  await wire.post("forge", say("one"));
  await wire.settle();
  const read = wire.read(FILE);
  await wire.stop("scribe");
  await wire.post("forge", say("two"));
  checker.look();
  const whole = wire.read(FILE);
  wire.kill("forge");
  const hole = `${"\0".repeat(read.length - durable.length - 1)}\n`;
  wire.replace(FILE, durable + hole + whole.slice(read.length));
  await wire.start("scribe");
  await wire.pass(2 * MINUTE);
  expect(await inboxOf(wire)).toEqual(["before", "one"]);

  await wire.start("forge");
  await expectNothingLost({ wire, checker }, whole);
});

test("a power cut on the one host after somebody read unsynced lines: identical bytes go out again, and the peer delivers once", async () => {
  const { wire, checker } = await quiet();
  await wire.post("forge", say("one"));
  await wire.post("forge", say("two"));
  checker.look();
  const read = wire.read(FILE);
  wire.powerCut("drop");
  expect(wire.lines(FILE).some((line) => line.includes('"one"'))).toBe(false);
  await wire.start();
  await expectNothingLost({ wire, checker }, read);
});

test("a power cut takes a line of ours that nobody has read, and others write in its place: it counts where it is now", async () => {
  const { wire } = await quiet({ violations: { malformed: 1 } });
  const id = await propose(wire, "scribe", ["forge"], "let us");
  await wire.rest();
  await wire.stop("scribe");
  await wire.post("forge", await ackDraft(wire, "forge", id, { approve: true }));
  await wire.settle();
  // The journal is durable with this, and has the line at its first place.
  await wire.agent("forge").setStatus({ state: "idle" });
  wire.powerCut("drop");
  wire.append(FILE, "not ours\n");
  await wire.start();
  await wire.pass(5 * MINUTE);
  const lines = wire.lines(FILE);
  const [junk, ack] = [
    lines.indexOf("not ours"),
    lines.findIndex((line) => line.includes(`"acks":"${id}"`)),
  ];
  expect(ack).toBe(junk + 1);
  for (const handle of wire.roster) {
    const proposals = await wire.agent(handle).view("proposals", undefined);
    expect(proposals.map(({ status }) => status)).toEqual(["ratified"]);
  }
});

test("what the agent has read stays read, although a power cut takes it back for a while", async () => {
  const { wire } = await quiet();
  const durable = wire.read(FILE);
  await wire.post("forge", say("one"));
  await wire.settle();
  wire.kill("forge");
  wire.replace(FILE, durable);
  wire.kill("scribe");
  await wire.start("scribe");
  await wire.agent("scribe").markRead("all");
  await wire.start("forge");
  await wire.pass(5 * SECOND);
  expect((await wire.outcome("scribe")).unread).toBe(0);
  await wire.post("forge", say("two"));
  await wire.settle();
  expect((await wire.outcome("scribe")).unread).toBe(1);
});

test("a power cut takes a line out of its log and out of the inbox: it is delivered when it comes back", async () => {
  const { wire } = await quiet();
  const durable = wire.read(FILE);
  const { inbox } = wire.paths("scribe");
  const delivered = wire.read(inbox);
  await wire.post("forge", say("one"));
  await wire.settle();
  wire.kill("forge");
  wire.kill("scribe");
  wire.replace(FILE, durable);
  wire.disk.process().replace(inbox, Buffer.from(delivered), 0o600);
  await wire.start("scribe");
  await wire.pass(SECOND);
  await wire.start("forge");
  await wire.pass(5 * SECOND);
  await wire.post("forge", say("two"));
  await wire.settle();
  const subjects = () =>
    wire.lines(inbox).flatMap((line) => {
      const text = line.trim();
      return text === "" ? [] : [(JSON.parse(text) as { subject: string }).subject];
    });
  expect(subjects()).toEqual(["before", "one", "two"]);
  // The same again from the journal alone, into the same places.
  const whole = wire.read(inbox);
  wire.kill("scribe");
  wire.disk.process().remove(inbox);
  await wire.start("scribe");
  expect(wire.read(inbox)).toBe(whole);
});
