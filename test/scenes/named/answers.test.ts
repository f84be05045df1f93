import { expect, test } from "vitest";
import { fromPlain, type JsonValue } from "../../../src/wire/json/json.ts";
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

// Each of these holds live, and once more at its end: by a new store, and by an audit of the carriers alone.
const sceneOf = checkedScenes("replay and audit");

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

test("crossing counters that ack each other are both withdrawn, and the next one can be agreed to", async () => {
  const wire = await pair();
  const { thread, lower, higher } = await crossingCounters(wire, "plan");
  const first = await ackDraft(wire, "forge", lower.author === "forge" ? higher.id : lower.id);
  const second = await ackDraft(wire, "scribe", lower.author === "scribe" ? higher.id : lower.id);
  await wire.post("forge", first);
  await wire.post("scribe", second);
  await wire.pass(2 * MINUTE);
  for (const { id } of [lower, higher]) expect(await statusOf(wire, "forge", id)).toBe("withdrawn");
  expect(wire.lines("decisions.jsonl")).toEqual([]);
  const again = await propose(wire, lower.author, [higher.author], "plan: D", { thread });
  await wire.pass(5 * SECOND);
  await ack(wire, higher.author, again);
  await wire.pass(MINUTE);
  expect((await wire.outcome("scribe")).recorded).toEqual([again]);
  await expectSameEverywhere(wire);
});

test("of crossing counters one is rejected, and the other, acked, is ratified", async () => {
  const wire = await pair();
  const { lower, higher } = await crossingCounters(wire, "plan");
  // An ack of the higher id withdraws nothing: what ends the lower one is the rejection.
  await ack(wire, higher.author, lower.id, { approve: false });
  await ack(wire, lower.author, higher.id);
  await wire.pass(2 * MINUTE);
  expect(await statusOf(wire, "forge", lower.id)).toBe("rejected");
  expect(await statusOf(wire, "forge", higher.id)).toBe("ratified");
  expect((await wire.outcome("scribe")).recorded).toEqual([higher.id]);
  await expectSameEverywhere(wire);
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
    body: { counters: (await wire.agent("scribe").view("resolve_id", { id })).place },
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

for (const approve of [true, false]) {
  test(`an unchained peer answers a request in a proposal's thread with approve: ${approve}: the proposal stays open until an ack names it`, async () => {
    const wire = sceneOf(["forge", "scribe"], { unchained: ["scribe"] });
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
    const answer = async (body: JsonValue): Promise<void> => {
      await wire.pass(5 * SECOND);
      const said = { to: ["forge"], type: "ack", correlationId: thread, body, isLoose: true };
      const { line } = wire.forge("scribe", said);
      wire.append("scribe_to_forge.jsonl", `${Buffer.from(line).toString("utf8")}\n`);
      await wire.pass(2 * MINUTE);
    };
    await answer(fromPlain({ request_id: "a1b2c3d4", approve }));
    expect(await statusOf(wire, "forge", id)).toBe("open");
    expect(wire.lines("decisions.jsonl")).toEqual([]);
    // With a second ask in the thread a bare ack may mean either.
    await answer("agreed");
    expect(await statusOf(wire, "forge", id)).toBe("open");
    await wire.expectReplayAndAuditEqualLive("forge");

    await answer(fromPlain({ acks: id }));
    expect(await statusOf(wire, "forge", id)).toBe("ratified");
    expect((await wire.outcome("forge")).recorded).toEqual([id]);
  });
}
