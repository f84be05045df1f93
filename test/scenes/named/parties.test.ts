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
} from "../../support/scripts/proposal-scene.ts";
import { fromPlain } from "../../../src/wire/json/json.ts";
import { checkedScenes } from "../../support/scenes/scene-checks.ts";
import type { SceneOptions, SimulatedWire } from "../../support/scenes/simulated-wire.ts";

// Each of these holds live, and by itself once more at its end: replayed without a checkpoint, and
// by an audit of the logs alone, which finds wrong what the scene says and nothing else.
const sceneOf = checkedScenes("replay and audit");

const LOG = "scribe_to_forge";
const FILE = `${LOG}.jsonl`;
const ELSEWHERE = "ffff000011112222";
/** Spec 3.2. */
const REFUSALS_A_BEAT = 32;

interface Head {
  readonly lines: number;
  readonly refused: readonly [first: number, last: number, reason: string][];
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
  const pairs = 100;
  const wire = sceneOf(["forge", "scribe"], { violations: { wrong_wire: pairs } });
  await wire.start();
  const id = await propose(wire, "forge", ["scribe"], "Use tabs");
  const thread = await threadOf(wire, "forge", id);
  await wire.pass(5 * SECOND);
  await wire.stop("scribe");
  await wire.pass(5 * SECOND);
  const before = headsOfForge(wire).length;
  // What scribe writes itself cannot be joined to one range over what is taken in.
  let last = wire.head(LOG);
  const say = (draft: Parameters<typeof wire.forge>[2]) => {
    const said = wire.forge("scribe", LOG, { ...draft, ...(last && { after: last }) });
    if (draft.wireId === undefined) last = { seq: said.message.seq ?? 0, id: said.id };
    return Buffer.from(said.line).toString("utf8");
  };
  const written = Array.from({ length: pairs }, (_, at) => [
    say({ wireId: ELSEWHERE }),
    say({ subject: `${at}` }),
  ]).flat();
  const agreed = say({
    type: "ack",
    correlationId: thread,
    body: fromPlain({ acks: id, approve: true }),
  });
  wire.append(FILE, [...written, agreed].map((line) => `${line}\n`).join(""));
  await wire.settle();
  // The log is not read past what the next beat can name.
  expect(await inbox(wire)).toBe(REFUSALS_A_BEAT - 1);
  expect(await statusOf(wire, "forge", id)).toBe("open");
  // Three lists are full, and each brings the next beat forward.
  await wire.pass(8 * SECOND);
  expect(await inbox(wire)).toBe(pairs + 1);
  expect(await statusOf(wire, "forge", id)).toBe("ratified");

  const lines = wire.lines(FILE);
  const named = new Set<number>();
  const beats = headsOfForge(wire).slice(before);
  for (const { head } of beats) {
    expect(head.refused.length).toBeLessThanOrEqual(REFUSALS_A_BEAT);
    for (const [first, to, reason] of head.refused) {
      expect([to, reason]).toEqual([first, "wrong_wire"]);
      named.add(first);
    }
    const covered = lines.slice(0, head.lines);
    expect(covered.findIndex((line, at) => line.includes(ELSEWHERE) && !named.has(at + 1))).toBe(
      -1,
    );
  }
  expect(named.size).toBe(pairs);
  const full = beats.filter(({ head }) => head.refused.length === REFUSALS_A_BEAT);
  expect(full).toHaveLength(Math.floor(pairs / REFUSALS_A_BEAT));
  const covering = beats.find(({ head }) => head.lines === lines.length);
  expect(wire.lines("decisions.jsonl")).toHaveLength(1);
  expect(wire.lines("decisions.jsonl")[0]).toContain(covering?.id);
  await wire.start("scribe");
  await wire.expectReplayAndAuditEqualLive("forge");
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
