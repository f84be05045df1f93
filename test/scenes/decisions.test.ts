import { expect, test } from "vitest";
import {
  ack,
  expectSameEverywhere,
  HOUR,
  MINUTE,
  propose,
  SECOND,
  statusOf,
  threadOf,
} from "../support/scripts/proposal-scene.ts";
import { checkedScenes } from "../support/scenes/scene-checks.ts";
import type { SimulatedWire } from "../support/scenes/simulated-wire.ts";

const sceneOf = checkedScenes("replay and audit");
const hostileScene = checkedScenes("replay");

async function pair(): Promise<SimulatedWire> {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start();
  return wire;
}

test("a proposal that its peer acks becomes one decision, recorded once", async () => {
  const wire = await pair();
  const id = await propose(wire, "forge", ["scribe"], "Use tabs");
  await wire.pass(5 * SECOND);
  await ack(wire, "scribe", id);
  await wire.pass(5 * SECOND);
  expect(wire.transcript()).toMatchInlineSnapshot(`
    "0:00:00 forge → scribe proposal "Use tabs"
    0:00:05 forge → scribe correction "closed"
    0:00:05 scribe → forge ack "ack""
  `);
  expect(wire.lines("decisions.jsonl")).toHaveLength(1);
  expect((await wire.outcome("scribe")).recorded).toEqual([id]);
  await expectSameEverywhere(wire);
  await wire.pass(HOUR);
  expect(wire.lines("decisions.jsonl")).toHaveLength(1);
});

test("a rejection ends a proposal, and nothing is recorded", async () => {
  const wire = await pair();
  const id = await propose(wire, "forge", ["scribe"], "Use tabs");
  await wire.pass(5 * SECOND);
  await ack(wire, "scribe", id, { approve: false, reason: "no" });
  await wire.pass(MINUTE);
  expect(await statusOf(wire, "scribe", id)).toBe("rejected");
  expect(wire.lines("decisions.jsonl")).toEqual([]);
  await expectSameEverywhere(wire);
});

test("a counter that is accepted becomes the decision", async () => {
  const wire = await pair();
  const first = await propose(wire, "scribe", ["forge"], "T1 is 60 s");
  await wire.pass(5 * SECOND);
  const thread = await threadOf(wire, "forge", first);
  const counter = await propose(wire, "forge", ["scribe"], "T1 is 90 s", {
    thread,
    body: { counters: (await wire.agent("forge").view("resolve_id", { id: first })).place },
  });
  await wire.pass(5 * SECOND);
  await ack(wire, "scribe", counter);
  await wire.pass(MINUTE);
  expect((await wire.outcome("scribe")).recorded).toEqual([counter]);
  await expectSameEverywhere(wire);
});

test("a proposal that is read and not answered is ended", async () => {
  const wire = await pair();
  const id = await propose(wire, "forge", ["scribe"], "Use tabs");
  await wire.agent("scribe").markRead("all");
  await wire.pass(30 * MINUTE);
  expect(await statusOf(wire, "scribe", id)).toBe("open");
  await wire.pass(10 * MINUTE);
  expect(await statusOf(wire, "scribe", id)).toBe("reverted");
  await ack(wire, "scribe", id);
  await wire.pass(MINUTE);
  expect(await statusOf(wire, "forge", id)).toBe("reverted");
  expect(wire.lines("decisions.jsonl")).toEqual([]);
  await expectSameEverywhere(wire);
});

test("a proposal to a peer that is away waits a day, not two cadences", async () => {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start("forge");
  const id = await propose(wire, "forge", ["scribe"], "Use tabs");
  await wire.pass(23 * HOUR);
  expect(await statusOf(wire, "forge", id)).toBe("open");
  await wire.pass(2 * HOUR);
  expect(await statusOf(wire, "forge", id)).toBe("reverted");
  await wire.start("scribe");
  await expectSameEverywhere(wire);
});

test("three agents: every required party must agree, and all see the same", async () => {
  const wire = sceneOf(["forge", "quill", "scribe"]);
  await wire.start();
  const id = await propose(wire, "forge", ["quill", "scribe"], "Freeze on Friday");
  await wire.pass(5 * SECOND);
  await ack(wire, "quill", id);
  await wire.pass(5 * SECOND);
  expect(await statusOf(wire, "scribe", id)).toBe("open");
  await ack(wire, "scribe", id);
  await wire.pass(MINUTE);
  expect((await wire.outcome("quill")).recorded).toEqual([id]);
  await expectSameEverywhere(wire);
});

test("when the proposer dies before it records, another required party does, once", async () => {
  const wire = await pair();
  const id = await propose(wire, "forge", ["scribe"], "Use tabs");
  await wire.pass(5 * SECOND);
  const holder = wire.lock("decisions.jsonl");
  await ack(wire, "scribe", id);
  await wire.pass(5 * SECOND);
  expect(await statusOf(wire, "scribe", id)).toBe("ratified");
  wire.kill("forge");
  holder.close();
  await wire.pass(MINUTE);
  expect(wire.lines("decisions.jsonl")).toEqual([]);
  await wire.pass(11 * MINUTE);
  expect((await wire.outcome("scribe")).recorded).toEqual([id]);
  expect(JSON.parse(wire.read("decisions.jsonl"))).toMatchObject({ recorded_by: "scribe" });
  await wire.start("forge");
  await wire.pass(5 * MINUTE);
  expect(wire.lines("decisions.jsonl")).toHaveLength(1);
  await expectSameEverywhere(wire);
});

/** The proposal that a line of decisions.jsonl names. */
function proposalIn(line: string): unknown {
  return (JSON.parse(line) as { readonly proposal?: readonly unknown[] }).proposal?.[2];
}

test("another agent records while we record: what it recorded is not recorded again", async () => {
  const wire = await pair();
  const holder = wire.lock("decisions.jsonl");
  const ids = [
    await propose(wire, "forge", ["scribe"], "Use tabs"),
    await propose(wire, "forge", ["scribe"], "Use spaces in tables"),
  ];
  await wire.pass(5 * SECOND);
  for (const id of ids) await ack(wire, "scribe", id);
  await wire.pass(5 * SECOND);
  expect(await statusOf(wire, "scribe", ids[1] ?? "")).toBe("ratified");
  await wire.stop("scribe");
  holder.close();
  await wire.pass(5 * SECOND);
  const [first, second] = wire.lines("decisions.jsonl");
  expect([first, second].map((line) => proposalIn(line ?? ""))).toEqual(ids);
  wire.kill("forge");
  wire.replace("decisions.jsonl", "");
  await wire.start("scribe");
  const disk = wire.process("scribe");
  const open = disk.open.bind(disk);
  let wasOpened = false;
  disk.open = (path, how, mode) => {
    if (how === "append" && path.endsWith("/decisions.jsonl") && !wasOpened) {
      wasOpened = true;
      wire.append("decisions.jsonl", `${second}\n`);
    }
    return open(path, how, mode);
  };
  await wire.pass(10 * MINUTE);
  expect((await wire.outcome("scribe")).recorded).toEqual(ids.toReversed());
  const recorded = wire.lines("decisions.jsonl").map(proposalIn);
  expect(recorded).toEqual(ids.toReversed());
});

test("an agent that is behind forgets no decision because of those that it cannot prove yet", async () => {
  const wire = hostileScene(["forge", "scribe", "mason"]);
  await wire.start("forge", "scribe");
  const id = await propose(wire, "forge", ["scribe"], "Use tabs");
  await wire.pass(5 * SECOND);
  await ack(wire, "scribe", id);
  await wire.pass(MINUTE);
  // More than are kept: an agent of the wire signs them, and no line proves any.
  const others = Array.from({ length: 4_200 }, (_, at) => {
    const name = at.toString(16).padStart(64, "0");
    return wire.sign("scribe", { proposal: ["forge", at, name], decision_id: `d-${at}` });
  });
  wire.append("decisions.jsonl", `${others.join("\n")}\n`);
  await wire.start("mason");
  await wire.pass(MINUTE);
  expect((await wire.outcome("mason")).recorded).toEqual([id]);
});
