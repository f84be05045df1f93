import { expect, test } from "vitest";
import { checkedScenes } from "../support/scene-checks.ts";
import type { SimulatedWire } from "../support/simulated-wire.ts";

const sceneOf = checkedScenes("replay");

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

async function pair(): Promise<SimulatedWire> {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start();
  return wire;
}

function propose(
  wire: SimulatedWire,
  from: string,
  to: readonly string[],
  subject: string,
  more: { thread?: string; body?: object } = {},
): Promise<string> {
  return wire.send(from, {
    to,
    type: "proposal",
    subject,
    body: { required: to, ...more.body },
    ackRequired: true,
    ...(more.thread === undefined ? {} : { correlationId: more.thread }),
  });
}

async function threadOf(wire: SimulatedWire, who: string, id: string): Promise<string> {
  return (await wire.agent(who).view("resolve_id", { id })).correlation_id;
}

async function ack(
  wire: SimulatedWire,
  from: string,
  id: string,
  body: object = {},
): Promise<string> {
  const { correlation_id: correlationId, from: to } = await wire
    .agent(from)
    .view("resolve_id", { id });
  return wire.send(from, {
    to: [to],
    type: "ack",
    subject: "ack",
    body: { acks: id, ...body },
    correlationId,
  });
}

async function statusOf(wire: SimulatedWire, who: string, id: string): Promise<string | undefined> {
  const { proposals } = await wire.outcome(who);
  return proposals.find((each) => each.id === id)?.status;
}

async function expectSameEverywhere(wire: SimulatedWire): Promise<void> {
  const [first, ...others] = await Promise.all(wire.roster.map((each) => wire.outcome(each)));
  for (const other of others) {
    expect(other.proposals).toEqual(first?.proposals);
    expect(other.recorded).toEqual(first?.recorded);
  }
  for (const handle of wire.roster) await wire.expectReplayAndAuditEqualLive(handle);
}

test("a proposal that its peer acks becomes one decision, recorded once", async () => {
  const wire = await pair();
  const id = await propose(wire, "forge", ["scribe"], "Use tabs");
  await wire.pass(5 * SECOND);
  await ack(wire, "scribe", id);
  await wire.pass(5 * SECOND);
  expect(wire.transcript()).toMatchInlineSnapshot(`
    "0:00:00 forge → scribe proposal "Use tabs"
    0:00:05 scribe → forge ack "ack""
  `);
  expect(wire.lines("decisions.jsonl")).toHaveLength(1);
  expect((await wire.outcome("scribe")).recorded).toEqual([id]);
  await expectSameEverywhere(wire);
  await wire.pass(HOUR);
  expect(wire.lines("decisions.jsonl")).toHaveLength(1);
});

test("an ack said again, or a counter, after ratification changes nothing", async () => {
  const wire = await pair();
  const id = await propose(wire, "forge", ["scribe"], "Use tabs");
  await wire.pass(5 * SECOND);
  await ack(wire, "scribe", id);
  await wire.pass(5 * SECOND);
  await ack(wire, "scribe", id);
  const thread = await threadOf(wire, "scribe", id);
  await propose(wire, "scribe", ["forge"], "Use spaces", { thread, body: { counters: id } });
  await wire.pass(MINUTE);
  expect(await statusOf(wire, "forge", id)).toBe("ratified");
  expect(wire.lines("decisions.jsonl")).toHaveLength(1);
  await expectSameEverywhere(wire);
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
    body: { counters: first },
  });
  await wire.pass(5 * SECOND);
  await ack(wire, "scribe", counter);
  await wire.pass(MINUTE);
  expect((await wire.outcome("scribe")).recorded).toEqual([counter]);
  await expectSameEverywhere(wire);
});

test("of crossing counters that ack each other, one stands", async () => {
  const wire = await pair();
  const root = await propose(wire, "forge", ["scribe"], "plan A");
  await wire.pass(5 * SECOND);
  const thread = await threadOf(wire, "forge", root);
  await ack(wire, "scribe", root, { approve: false });
  await wire.pass(5 * SECOND);
  const b = await propose(wire, "forge", ["scribe"], "plan B", { thread });
  const c = await propose(wire, "scribe", ["forge"], "plan C", { thread });
  await ack(wire, "forge", c);
  await ack(wire, "scribe", b);
  await wire.pass(2 * MINUTE);
  const { recorded } = await wire.outcome("forge");
  expect(recorded).toEqual([b < c ? b : c]);
  expect(await statusOf(wire, "forge", b < c ? c : b)).toBe("withdrawn");
  await expectSameEverywhere(wire);
});

test("a proposal that is seen and not answered is reverted, and its operator is told", async () => {
  const wire = await pair();
  const id = await propose(wire, "forge", ["scribe"], "Use tabs");
  await wire.pass(10 * MINUTE);
  expect(await statusOf(wire, "scribe", id)).toBe("reverted");
  const causes = (await wire.agent("forge").view("notices", undefined)).map(({ cause }) => cause);
  expect(causes).toEqual(["proposal_silent"]);
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
  const wire = sceneOf(["forge", "quill", "scribe"], { layout: "outbox" });
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
  await wire.pass(5 * MINUTE);
  expect((await wire.outcome("scribe")).recorded).toEqual([id]);
  expect(JSON.parse(wire.read("decisions.jsonl"))).toMatchObject({ recorded_by: "scribe" });
  await wire.start("forge");
  await wire.pass(5 * MINUTE);
  expect(wire.lines("decisions.jsonl")).toHaveLength(1);
  await expectSameEverywhere(wire);
});

test("an unterminated last line of decisions.jsonl is ended, kept and passed over", async () => {
  const wire = await pair();
  wire.append("decisions.jsonl", '{"torn":');
  const id = await propose(wire, "forge", ["scribe"], "Use tabs");
  await wire.pass(5 * SECOND);
  await ack(wire, "scribe", id);
  await wire.pass(5 * SECOND);
  expect(wire.lines("decisions.jsonl")[0]).toBe('{"torn":');
  expect((await wire.outcome("scribe")).recorded).toEqual([id]);
});

test("a forged entry in decisions.jsonl is never shown as canonical", async () => {
  const wire = await pair();
  const id = await propose(wire, "forge", ["scribe"], "Use tabs");
  wire.append(
    "decisions.jsonl",
    `${JSON.stringify({ decision_id: "use-tabs", proposal_id: id, proposer: "forge", decision: "Use tabs", canonical: true })}\n`,
  );
  await wire.pass(5 * SECOND);
  const view = await wire.agent("scribe").view("decisions", {});
  expect(view.in_force).toEqual([]);
  expect(view.unproved).toHaveLength(1);
  expect(await statusOf(wire, "scribe", id)).toBe("open");
});
