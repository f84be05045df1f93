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
import type { ChainHead } from "../../../src/wire/compose.ts";
import { fromPlain } from "../../../src/wire/json/json.ts";
import { checkedScenes } from "../../support/scenes/scene-checks.ts";
import type { HandMade, SceneOptions, SimulatedWire } from "../../support/scenes/simulated-wire.ts";

// Each of these holds live, and once more at its end: by a new store, and by an audit of the carriers alone,
// which finds wrong what the scene says and nothing else.
const sceneOf = checkedScenes("replay and audit");
/** An audit knows nothing of tiers at the time. */
const replayedSceneOf = checkedScenes("replay");

const FILE = "scribe_to_forge.jsonl";
/** Spec 3.2.3. */
const REFUSALS_A_BEAT = 32;

interface Said {
  readonly heads?: Readonly<Record<string, readonly [seq: number, id: string, read: number]>>;
  readonly refused?: readonly [
    author: string,
    first: number,
    last: number,
    id: string,
    reason: string,
  ][];
}

test("many refused lines: no beat names more than 32 ranges, and no head passes a line that was not named", async () => {
  const pairs = 100;
  const tiers = { forge: { scribe: "VERIFIED" } } as const;
  const wire = replayedSceneOf(["forge", "scribe"], { tiers });
  await wire.start("forge");
  await wire.pass(5 * SECOND);
  // What is mail cannot be in one range with what is refused.
  let last: ChainHead | "nothing" = "nothing";
  const say = (draft: HandMade): string => {
    const said = wire.forge("scribe", { ...draft, after: last });
    last = { seq: said.message.seq ?? 0, id: said.id };
    return `${Buffer.from(said.line).toString("utf8")}\n`;
  };
  const claim = { type: "claim", body: fromPlain({ paths: ["src"] }) };
  const written = Array.from({ length: pairs }, (_, at) => [say(claim), say({ subject: `${at}` })]);
  wire.append(FILE, written.flat().join(""));
  await wire.pass(10 * MINUTE);
  expect(await inbox(wire)).toBe(pairs);

  const named = new Set<number>();
  let head = 0;
  for (const line of wire.lines("forge_to_scribe.jsonl")) {
    const { seq, body } = JSON.parse(line) as { seq?: number; body: Said };
    if (seq === undefined) continue;
    expect(body.refused?.length ?? 0).toBeLessThanOrEqual(REFUSALS_A_BEAT);
    for (const [author, first, to, , reason] of body.refused ?? []) {
      expect([author, to, reason]).toEqual(["scribe", first, "tier_refused"]);
      named.add(first);
    }
    head = body.heads?.["scribe"]?.[0] ?? head;
    // Every other line was refused.
    expect(named.size).toBeGreaterThanOrEqual(Math.ceil(head / 2));
  }
  expect([head, named.size]).toEqual([2 * pairs, pairs]);
});

for (const holder of ["quill", "forge"]) {
  const who = holder === "quill" ? "a third party" : "the proposer";
  test(`${who} holds an unrelated member: the decision of the others is the same to everybody`, async () => {
    const wire = sceneOf(["forge", "quill", "scribe", "vane"], {
      holds: { [holder]: ["vane"] },
    });
    await wire.start();
    const id = await propose(wire, "forge", ["scribe"], "Freeze on Friday");
    await wire.pass(5 * SECOND);
    // Vane is not asked; what it says stands among the lines that the ratifying beat covers.
    const word = { to: ["*"], correlationId: await threadOf(wire, "scribe", id) };
    await wire.send("vane", { ...word, type: "feedback", subject: "hm", body: "x" });
    const { place } = await wire.agent("vane").view("resolve_id", { id });
    const body = { acks: place, approve: false, reason: "nobody asked me" };
    await wire.send("vane", { ...word, type: "ack", subject: "no", body });
    await ack(wire, "scribe", id);
    await wire.pass(2 * MINUTE);
    for (const viewer of wire.roster) {
      expect(await statusOf(wire, viewer, id), viewer).toBe("ratified");
      expect((await wire.outcome(viewer)).recorded, viewer).toEqual([id]);
    }
    const peers = await wire.agent(holder).view("peers", undefined);
    expect(peers.filter(({ held }) => held).map(({ handle }) => handle)).toEqual(["vane"]);
    expect((await wire.agent(holder).view("inbox", {})).messages).not.toContainEqual(
      expect.objectContaining({ from: "vane" }),
    );
    await expectSameEverywhere(wire);
  });
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
  await wire.pass(40 * MINUTE);
  expect(await inbox(wire)).toBe(61);
  expect(await statusOf(wire, "forge", id)).toBe("reverted");
  expect(wire.lines("decisions.jsonl")).toEqual([]);
  await expectSameEverywhere(wire);
});

async function inbox(wire: SimulatedWire): Promise<number> {
  return (await wire.agent("forge").view("inbox", {})).messages.length;
}

test("a required party that is held: no deadline but the 24 hours runs, and what it says meanwhile counts nowhere", async () => {
  const wire = sceneOf(["forge", "scribe"], { violations: { log_forked: 1 } });
  await wire.start("forge");
  const id = await propose(wire, "forge", ["scribe"], "Use tabs");
  const { place, correlation_id: correlationId } = await wire
    .agent("forge")
    .view("resolve_id", { id });
  const first = wire.forge("scribe", { subject: "first", after: "nothing" });
  const fork = wire.forge("scribe", { subject: "another first line", after: "nothing" });
  const agreed = wire.forge("scribe", {
    type: "ack",
    body: fromPlain({ acks: place, approve: true }),
    correlationId,
    after: { seq: 1, id: first.id },
  });
  for (const { line } of [first, fork, agreed]) {
    wire.append(FILE, `${Buffer.from(line).toString("utf8")}\n`);
  }
  await wire.settle();
  expect(await causesOf(wire, "forge")).toEqual(["log_forked"]);
  await wire.pass(23 * HOUR);
  expect(await statusOf(wire, "forge", id)).toBe("open");
  await wire.pass(2 * HOUR);
  expect(await statusOf(wire, "forge", id)).toBe("reverted");
  expect(wire.lines("decisions.jsonl")).toEqual([]);
});
