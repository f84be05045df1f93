import { expect, test } from "vitest";
import {
  ack,
  ackDraft,
  expectSameEverywhere,
  MINUTE,
  propose,
  proposalDraft,
  SECOND,
  statusOf,
  threadOf,
} from "../../support/scripts/proposal-scene.ts";
import { checkedScenes } from "../../support/scenes/scene-checks.ts";
import type { SimulatedWire } from "../../support/scenes/simulated-wire.ts";

// Each of these holds live, and by itself once more at its end: replayed without a checkpoint, and
// by an audit of the logs alone.
const sceneOf = checkedScenes("replay and audit");

/** Ids are hashes: among so many pairs of siblings either is the lower one at times. */
const TRIES = 8;

async function pair(): Promise<SimulatedWire> {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start();
  return wire;
}

interface Siblings {
  readonly thread: string;
  readonly lower: { readonly id: string; readonly author: string };
  readonly higher: { readonly id: string; readonly author: string };
}

/** Two counters in one thread, each written before its author has read the other. */
async function crossingCounters(wire: SimulatedWire, subject: string): Promise<Siblings> {
  const root = await propose(wire, "forge", ["scribe"], `${subject}: root`);
  const thread = await threadOf(wire, "scribe", root);
  await wire.pass(5 * SECOND);
  await ack(wire, "scribe", root, { approve: false });
  await wire.pass(5 * SECOND);
  const mine = await wire.post("forge", proposalDraft(["scribe"], `${subject}: B`, { thread }));
  const theirs = await wire.post("scribe", proposalDraft(["forge"], `${subject}: C`, { thread }));
  await wire.settle();
  const forges = { id: mine, author: "forge" };
  const scribes = { id: theirs, author: "scribe" };
  return mine < theirs
    ? { thread, lower: forges, higher: scribes }
    : { thread, lower: scribes, higher: forges };
}

test("crossing counters that ack each other: the lower id is ratified, the higher is withdrawn", async () => {
  const lowerWas = new Set<string>();
  for (let at = 1; at <= TRIES; at += 1) {
    const wire = await pair();
    const { lower, higher } = await crossingCounters(wire, `plan ${at}`);
    lowerWas.add(lower.author);
    const first = await ackDraft(wire, "forge", lower.author === "forge" ? higher.id : lower.id);
    const second = await ackDraft(wire, "scribe", lower.author === "scribe" ? higher.id : lower.id);
    await wire.post("forge", first);
    await wire.post("scribe", second);
    await wire.pass(2 * MINUTE);
    expect(await statusOf(wire, "forge", lower.id)).toBe("ratified");
    expect(await statusOf(wire, "forge", higher.id)).toBe("withdrawn");
    expect((await wire.outcome("scribe")).recorded).toEqual([lower.id]);
    await expectSameEverywhere(wire);
  }
  expect(lowerWas).toEqual(new Set(["forge", "scribe"]));
});

test("a rejection of the lower sibling: it is rejected, and the higher, acked, is ratified", async () => {
  const lowerWas = new Set<string>();
  for (let at = 1; at <= TRIES; at += 1) {
    const wire = await pair();
    const { lower, higher } = await crossingCounters(wire, `plan ${at}`);
    lowerWas.add(lower.author);
    // An ack of the higher id withdraws nothing: what ends the lower one is the rejection.
    await ack(wire, higher.author, lower.id, { approve: false });
    await ack(wire, lower.author, higher.id);
    await wire.pass(2 * MINUTE);
    expect(await statusOf(wire, "forge", lower.id)).toBe("rejected");
    expect(await statusOf(wire, "forge", higher.id)).toBe("ratified");
    expect((await wire.outcome("scribe")).recorded).toEqual([higher.id]);
    await expectSameEverywhere(wire);
  }
  expect(lowerWas).toEqual(new Set(["forge", "scribe"]));
});

/** A proposal of forge that scribe has acked and that a beat of forge has ratified. */
async function ratified(): Promise<{ wire: SimulatedWire; id: string; by: unknown }> {
  const wire = await pair();
  const id = await propose(wire, "forge", ["scribe"], "Use tabs");
  await wire.pass(5 * SECOND);
  await ack(wire, "scribe", id);
  await wire.pass(5 * SECOND);
  const { ratified: all } = await wire.outcome("forge");
  expect(all).toMatchObject([{ id }]);
  return { wire, id, by: all };
}

test("an ack repeated after ratification changes nothing", async () => {
  const { wire, id, by } = await ratified();
  const recorded = wire.lines("decisions.jsonl");
  expect(recorded).toHaveLength(1);
  await ack(wire, "scribe", id);
  await wire.pass(10 * MINUTE);
  expect((await wire.outcome("scribe")).ratified).toEqual(by);
  expect(wire.lines("decisions.jsonl")).toEqual(recorded);
  await expectSameEverywhere(wire);
});

test("a counter after ratification is a proposal of its own, and the decision stays", async () => {
  const { wire, id, by } = await ratified();
  const thread = await threadOf(wire, "scribe", id);
  const counter = await propose(wire, "scribe", ["forge"], "Use spaces", {
    thread,
    body: { counters: id },
  });
  await wire.pass(MINUTE);
  expect((await wire.outcome("scribe")).ratified).toEqual(by);
  expect(await statusOf(wire, "forge", counter)).toBe("open");
  expect(wire.lines("decisions.jsonl")).toHaveLength(1);
  await ack(wire, "forge", counter);
  await wire.pass(MINUTE);
  expect(await statusOf(wire, "scribe", id)).toBe("ratified");
  expect(await statusOf(wire, "scribe", counter)).toBe("ratified");
  expect((await wire.outcome("forge")).recorded).toEqual([id, counter]);
  await expectSameEverywhere(wire);
});

/** A line as a peer appends it that neither signs nor chains. */
function appendPlain(wire: SimulatedWire, fields: object): Promise<void> {
  const line = {
    timestamp: new Date(wire.nowMs).toISOString(),
    from: "scribe",
    to: ["forge"],
    subject: "by hand",
    ...fields,
  };
  wire.append("scribe_to_forge.jsonl", `${JSON.stringify(line)}\n`);
  return wire.settle();
}

for (const approve of [true, false]) {
  test(`an unchained peer answers a request in a proposal's thread with approve: ${approve}: the proposal stays open, until a bare ack of it`, async () => {
    const signing = { enforce_signed: true, allow_unsigned_from: ["scribe"] };
    const wire = sceneOf(["forge", "scribe"], { signing });
    await wire.start("forge");
    const id = await propose(wire, "forge", ["scribe"], "Use tabs");
    const thread = await threadOf(wire, "forge", id);
    await wire.send("forge", {
      to: ["scribe"],
      type: "request",
      subject: "may I merge first?",
      body: { request_id: "a1b2c3d4", request_type: "plan_approval", plan: "merge" },
      ackRequired: true,
      correlationId: thread,
    });
    await wire.pass(5 * SECOND);
    const inThread = { type: "ack", correlation_id: thread };
    await appendPlain(wire, { ...inThread, body: { request_id: "a1b2c3d4", approve } });
    await wire.pass(2 * MINUTE);
    expect(await statusOf(wire, "forge", id)).toBe("open");
    expect(wire.lines("decisions.jsonl")).toEqual([]);
    await wire.expectReplayAndAuditEqualLive("forge");

    await appendPlain(wire, { ...inThread, body: "agreed" });
    await wire.pass(MINUTE);
    expect(await statusOf(wire, "forge", id)).toBe("ratified");
    expect((await wire.outcome("forge")).recorded).toEqual([id]);
  });
}
