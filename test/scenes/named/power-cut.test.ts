import { expect, test } from "vitest";
import { causesOf, MINUTE, SECOND } from "../../support/scripts/proposal-scene.ts";
import { say } from "../../support/scenes/fault-scene.ts";
import { checkedScenes } from "../../support/scenes/scene-checks.ts";
import type { SimulatedWire } from "../../support/scenes/simulated-wire.ts";
import { PromiseChecker } from "../../support/scenes/promise-checker.ts";

// Each of these holds live, and once more at its end: by a new store, and by an audit of the carriers alone.
const sceneOf = checkedScenes("replay and audit");

const FILE = "forge_to_scribe.jsonl";

/** Both run, and all that they have said is durable. */
async function quiet(): Promise<{ wire: SimulatedWire; checker: PromiseChecker }> {
  const wire = sceneOf(["forge", "scribe"]);
  const checker = new PromiseChecker(wire);
  await wire.start();
  await wire.post("forge", say("before"));
  await wire.pass(3 * SECOND);
  return { wire, checker };
}

async function inboxOf(wire: SimulatedWire): Promise<string[]> {
  return (await wire.agent("scribe").view("inbox", {})).messages.map(({ subject }) => subject);
}

/** What a file has of its author's chain. */
const chainIn = (text: string): string[] =>
  text.split("\n").filter((line) => line.includes('"seq":'));

/** The same bytes stand there again, forge goes on after them, and nobody has cause to complain. */
async function expectNothingLost(
  { wire, checker }: { wire: SimulatedWire; checker: PromiseChecker },
  read: string,
): Promise<void> {
  await wire.pass(5 * SECOND);
  const chain = chainIn(read);
  expect(chainIn(wire.read(FILE)).slice(0, chain.length)).toEqual(chain);
  expect(await inboxOf(wire)).toEqual(["before", "one", "two"]);
  await wire.send("forge", say("three"));
  await wire.pass(15 * MINUTE);
  expect(await inboxOf(wire)).toEqual(["before", "one", "two", "three"]);
  for (const handle of wire.roster) {
    const told = new Set(await causesOf(wire, handle));
    expect(["peer_silent", "log_behind"]).toEqual(expect.arrayContaining([...told]));
  }
  checker.look();
}

for (const reader of ["goes on", "restarts while they are missing"]) {
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
    await wire.start("forge");
    await expectNothingLost({ wire, checker }, read);
  });
}

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
  // The same again from the store alone.
  const whole = wire.read(inbox);
  wire.kill("scribe");
  wire.disk.process().remove(inbox);
  await wire.start("scribe");
  expect(wire.read(inbox)).toBe(whole);
});
