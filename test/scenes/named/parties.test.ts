import { expect, test } from "vitest";
import {
  ack,
  ackDraft,
  causesOf,
  expectSameEverywhere,
  HOUR,
  MINUTE,
  propose,
  SECOND,
  statusOf,
  threadOf,
} from "../../support/proposal-scene.ts";
import { fromPlain } from "../../../src/wire/json.ts";
import { checkedScenes } from "../../support/scene-checks.ts";
import type { SceneOptions, SimulatedWire } from "../../support/simulated-wire.ts";

// Each of these holds live, and by itself once more at its end: replayed without a checkpoint, and
// by an audit of the logs alone, which finds wrong what the scene says and nothing else.
const sceneOf = checkedScenes("replay and audit");

const LOG = "scribe_to_forge";
const FILE = `${LOG}.jsonl`;
/** Spec 3.2. */
const REFUSALS_A_BEAT = 32;

interface Head {
  readonly lines: number;
  readonly refused: readonly [line: number, reason: string][];
}

/** What forge's beats say of scribe's log, in their order. */
function headsOfForge(wire: SimulatedWire): { id: string; head: Head }[] {
  return wire.lines("forge_to_scribe.jsonl").flatMap((line) => {
    const { event_id: id, body } = JSON.parse(line) as {
      event_id: string;
      body: { heads?: Record<string, Head> };
    };
    const head = body.heads?.[LOG];
    return head === undefined ? [] : [{ id, head }];
  });
}

test("a full refusal list: heads pass no refusal that is not named, and the ack behind it ratifies in the beat that covers it", async () => {
  const junk = 1_000;
  const wire = sceneOf(["forge", "scribe"], { violations: { malformed: junk } });
  await wire.start();
  const id = await propose(wire, "forge", ["scribe"], "Use tabs");
  await wire.pass(5 * SECOND);
  wire.append(FILE, "junk\n".repeat(junk));
  const ackId = await ack(wire, "scribe", id);
  await wire.pass(4 * MINUTE);
  // The log is not read past what the beats have named, so the ack has not arrived. Twice scribe's
  // cadence is over, and it is not late.
  expect(await wire.agent("forge").view("inbox", {})).toEqual([]);
  expect(await statusOf(wire, "forge", id)).toBe("open");
  await wire.pass(10 * MINUTE);

  const named = new Set<number>();
  const lines = wire.lines(FILE);
  const ackLine = lines.findIndex((line) => line.includes(`"event_id":"${ackId}"`)) + 1;
  const beats = headsOfForge(wire);
  for (const { head } of beats) {
    expect(head.refused.length).toBeLessThanOrEqual(REFUSALS_A_BEAT);
    for (const [line] of head.refused) named.add(line);
    const covered = lines.slice(0, head.lines);
    expect(covered.findIndex((line, at) => line === "junk" && !named.has(at + 1))).toBe(-1);
  }
  expect(named.size).toBe(junk);
  const full = beats.filter(({ head }) => head.refused.length === REFUSALS_A_BEAT);
  expect(full).toHaveLength(Math.floor(junk / REFUSALS_A_BEAT));
  const covering = beats.find(({ head }) => head.lines >= ackLine);
  expect((await wire.outcome("scribe")).ratified).toEqual([{ id, by: covering?.id }]);
  expect(wire.lines("decisions.jsonl")).toHaveLength(1);
  await expectSameEverywhere(wire);
});

for (const holder of ["quill", "forge"]) {
  const who = holder === "quill" ? "a third party" : "the proposer";
  test(`${who} holds an unrelated member: the decision of the others is the same to everybody`, async () => {
    const wire = sceneOf(["forge", "quill", "scribe", "vane"], {
      layout: "outbox",
      holds: { [holder]: ["vane"] },
    });
    await wire.start();
    const id = await propose(wire, "forge", ["scribe"], "Freeze on Friday");
    await wire.pass(5 * SECOND);
    // Vane is not asked; what it says stands among the lines that the ratifying beat covers.
    const word = { to: ["*"], correlationId: await threadOf(wire, "scribe", id) };
    await wire.send("vane", { ...word, type: "feedback", subject: "hm", body: "x" });
    await wire.send("vane", { ...word, type: "ack", subject: "no", body: reject(id) });
    await ack(wire, "scribe", id);
    await wire.pass(2 * MINUTE);
    for (const viewer of wire.roster) {
      expect(await statusOf(wire, viewer, id), viewer).toBe("ratified");
      expect((await wire.outcome(viewer)).recorded, viewer).toEqual([id]);
    }
    const peers = await wire.agent(holder).view("peers", undefined);
    expect(peers.filter(({ held }) => held).map(({ handle }) => handle)).toEqual(["vane"]);
    expect(await wire.agent(holder).view("inbox", {})).not.toContainEqual(
      expect.objectContaining({ from: "vane" }),
    );
    await expectSameEverywhere(wire);
  });
}

function reject(id: string): object {
  return { acks: id, approve: false, reason: "nobody asked me" };
}

/** Scribe has seen the proposal, and its ack stands behind sixty words of which two a minute are taken. */
async function flooded(): Promise<{ wire: SimulatedWire; id: string }> {
  const options: SceneOptions = { tiers: { forge: { scribe: "ATTESTED" } }, rateLimit: 2 };
  const wire = sceneOf(["forge", "scribe"], options);
  await wire.start();
  const id = await propose(wire, "forge", ["scribe"], "Use tabs");
  await wire.pass(5 * SECOND);
  const agreed = await ackDraft(wire, "scribe", id);
  for (let at = 1; at <= 60; at += 1) {
    await wire.post("scribe", { to: ["forge"], type: "feedback", subject: `${at}`, body: "x" });
  }
  await wire.post("scribe", agreed);
  return { wire, id };
}

test("a required party that floods: no deadline runs while its lines are held back, and its ack counts when it is reached", async () => {
  const { wire, id } = await flooded();
  await wire.pass(20 * MINUTE);
  expect(await statusOf(wire, "forge", id)).toBe("open");
  expect(wire.lines("decisions.jsonl")).toEqual([]);
  await wire.pass(20 * MINUTE);
  expect(await statusOf(wire, "forge", id)).toBe("ratified");
  expect((await wire.outcome("scribe")).recorded).toEqual([id]);
  expect(await causesOf(wire, "forge")).toEqual([]);
  await expectSameEverywhere(wire);
});

test("a required party that floods for a day: the proposal is reverted then, and the ack behind the flood comes too late", async () => {
  const { wire, id } = await flooded();
  await wire.pass(5 * MINUTE);
  expect(await statusOf(wire, "forge", id)).toBe("open");
  wire.suspend(24 * HOUR);
  await wire.settle();
  expect(await inbox(wire)).toBeLessThan(60);
  await wire.pass(SECOND);
  expect(await statusOf(wire, "forge", id)).toBe("reverted");
  expect(await causesOf(wire, "forge")).toContain("proposal_silent");
  await wire.pass(40 * MINUTE);
  expect(await inbox(wire)).toBe(61);
  expect(await statusOf(wire, "forge", id)).toBe("reverted");
  expect(wire.lines("decisions.jsonl")).toEqual([]);
  await expectSameEverywhere(wire);
});

async function inbox(wire: SimulatedWire): Promise<number> {
  return (await wire.agent("forge").view("inbox", {})).length;
}

test("a required party that is held: no deadline but the 24 hours runs, and what it says meanwhile counts nowhere", async () => {
  const wire = sceneOf(["forge", "scribe"], { violations: { log_forked: 1 } });
  await wire.start("forge");
  const id = await propose(wire, "forge", ["scribe"], "Use tabs");
  const thread = await threadOf(wire, "forge", id);
  const { seq, id: last } = wire.head("forge_to_scribe") ?? { seq: 0, id: "" };
  const head = { lines: seq, seq, event_id: last, read_lines: 0, refused: [] };
  const beat = wire.forge("scribe", LOG, {
    type: "heartbeat",
    body: fromPlain({ state: "idle", heads: { forge_to_scribe: head } }),
  });
  const fork = wire.forge("scribe", LOG, { subject: "another first line", correlationId: thread });
  const agreed = wire.forge("scribe", LOG, {
    type: "ack",
    body: fromPlain({ acks: id }),
    correlationId: thread,
    after: { seq: 1, id: beat.id },
  });
  for (const { line } of [beat, fork, agreed]) {
    wire.append(FILE, `${Buffer.from(line).toString("utf8")}\n`);
  }
  await wire.settle();
  expect(await causesOf(wire, "forge")).toEqual(["log_forked"]);
  await wire.pass(23 * HOUR);
  expect(await statusOf(wire, "forge", id)).toBe("open");
  await wire.expectReplayAndAuditEqualLive("forge");
  await wire.pass(2 * HOUR);
  expect(await statusOf(wire, "forge", id)).toBe("reverted");
  expect(await causesOf(wire, "forge")).toContain("proposal_silent");
  expect(wire.lines("decisions.jsonl")).toEqual([]);
});
