import { raise, resumed } from "../support/scenes/incident-scene.ts";
import { expect, test } from "vitest";
import type { AgentNoticeView } from "../../src/api/views.ts";
import { ack, MINUTE, propose, SECOND, threadOf } from "../support/scripts/proposal-scene.ts";
import { checkedScenes } from "../support/scenes/scene-checks.ts";
import type { SceneOptions, SimulatedWire } from "../support/scenes/simulated-wire.ts";

const sceneOf = checkedScenes("replay and audit");
/** An audit is made by one agent's pins, and finds wrong what a hostile one writes. */
const replayedSceneOf = checkedScenes("replay");

async function pair(make = sceneOf, options: SceneOptions = {}): Promise<SimulatedWire> {
  const wire = make(["forge", "scribe"], options);
  await wire.start();
  return wire;
}

function noticesOf(wire: SimulatedWire, handle: string): Promise<AgentNoticeView[]> {
  return wire.agent(handle).view("agent_notices", {});
}

/** Kind and words of all notices of an agent; ids are cut out of the words. */
async function told(wire: SimulatedWire, handle: string): Promise<string[]> {
  return (await noticesOf(wire, handle)).map(
    ({ kind, text }) => `${kind}: ${text.replaceAll(/\b[0-9a-f]{10}\b/gu, "<id>")}`,
  );
}

/** What notices.jsonl of an agent holds. */
function written(wire: SimulatedWire, handle: string): Record<string, unknown>[] {
  return wire
    .read(wire.paths(handle).notices)
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

test("proposer and required party learn that a proposal was ratified, and that one was rejected", async () => {
  const wire = await pair();
  const first = await propose(wire, "forge", ["scribe"], "Use tabs");
  await wire.pass(5 * SECOND);
  await ack(wire, "scribe", first);
  const second = await propose(wire, "forge", ["scribe"], 'Use "one" wire');
  await wire.pass(5 * SECOND);
  await ack(wire, "scribe", second, { approve: false, reason: "no" });
  await wire.pass(MINUTE);
  expect(await told(wire, "forge")).toEqual([
    'ratified: Your proposal "Use tabs" is ratified: every required party agreed.',
    `rejected: Your proposal "Use 'one' wire" is rejected by scribe.`,
  ]);
  expect(await told(wire, "scribe")).toEqual([
    'ratified: forge\'s proposal "Use tabs", which needed your answer, is ratified: every required party agreed.',
    `rejected: forge's proposal "Use 'one' wire", which needed your answer, is rejected by you.`,
  ]);
  expect((await noticesOf(wire, "forge")).map(({ about }) => about)).toEqual([first, second]);
});

test("a proposer learns why its proposal was reverted; the other side where it finds that", async () => {
  const wire = await pair();
  await propose(wire, "forge", ["scribe"], "Use tabs");
  await wire.pass(5 * SECOND);
  await wire.agent("scribe").markRead("all");
  await wire.pass(45 * MINUTE);
  const [mine] = await told(wire, "forge");
  expect(mine).toMatch(/^reverted: Your proposal "Use tabs" is reverted: .*scribe.* time/u);
  expect(await told(wire, "scribe")).toEqual([
    'reverted: forge\'s proposal "Use tabs", which needed your answer, was reverted by forge: `deaddrop thread <id>` shows why.',
  ]);
});

test("superseded and withdrawn are ends, too", async () => {
  const wire = await pair();
  const first = await propose(wire, "forge", ["scribe"], "one");
  const thread = await threadOf(wire, "forge", first);
  const second = await propose(wire, "forge", ["scribe"], "two", { thread });
  const counter = await propose(wire, "scribe", ["forge"], "three", {
    thread,
    body: { counters: second },
  });
  await wire.pass(5 * SECOND);
  const [lower, higher] = [second, counter].toSorted();
  const withdraws = lower === second ? "scribe" : "forge";
  await ack(wire, withdraws, lower ?? "", { approve: true });
  await wire.pass(MINUTE);
  const all = await told(wire, "forge");
  expect(all).toContain(
    'superseded: Your proposal "one" is superseded by your next one in the same thread.',
  );
  const ends = await noticesOf(wire, withdraws);
  expect(ends.find(({ about }) => about === higher)).toMatchObject({
    kind: "withdrawn",
    text: expect.stringContaining("you agreed to another one in its thread") as string,
  });
});

test("a proposal that another one replaces says which one, to both", async () => {
  const wire = await pair();
  let [first, counter] = ["", ""];
  // Of two crossing proposals the one with the higher id is withdrawn; here the counter has to be it.
  for (let round = 0; round < 32 && counter <= first; round += 1) {
    first = await propose(wire, "forge", ["scribe"], `tabs ${round}`);
    const thread = await threadOf(wire, "forge", first);
    counter = await propose(wire, "scribe", ["forge"], `spaces ${round}`, {
      thread,
      body: { counters: first },
    });
  }
  await wire.pass(5 * SECOND);
  await ack(wire, "forge", counter, { approve: true });
  await wire.pass(MINUTE);
  const textOf = async (handle: string) =>
    (await noticesOf(wire, handle)).find(({ about }) => about === first)?.text;
  expect((await textOf("forge"))?.replaceAll(/\d+/gu, "N")).toBe(
    'Your proposal "tabs N" is replaced by scribe\'s proposal "spaces N": you agreed to that one, and it is ratified.',
  );
  expect((await textOf("scribe"))?.replaceAll(/\d+/gu, "N")).toBe(
    'forge\'s proposal "tabs N", which needed your answer, is replaced by your proposal "spaces N": forge agreed to that one, and it is ratified.',
  );
});

test("a notice is in the file, is heard of once, and is marked read with messages", async () => {
  const wire = await pair();
  const id = await propose(wire, "forge", ["scribe"], "Use tabs");
  await wire.pass(5 * SECOND);
  await ack(wire, "scribe", id);
  await wire.pass(MINUTE);
  const [notice] = await noticesOf(wire, "forge");
  if (notice === undefined) throw new Error("forge was told nothing");
  const { read, ...rest } = notice;
  expect(read).toBe(false);
  expect(rest.id).toMatch(/^n-[0-9a-f]{12}$/u);
  expect(written(wire, "forge")).toEqual([rest]);
  expect(wire.heard.filter(({ handle }) => handle === "forge")).toEqual([
    { handle: "forge", notice: rest },
  ]);
  expect(await wire.agent("forge").view("status", undefined)).toMatchObject({ notices: 1 });
  expect(await wire.agent("forge").markRead([notice.id])).toEqual({ read: 1 });
  expect(await wire.agent("forge").markRead([notice.id])).toEqual({ read: 0 });
  expect(await wire.agent("forge").view("agent_notices", { unread: true })).toEqual([]);
  expect(await wire.agent("forge").view("status", undefined)).toMatchObject({ notices: 0 });
  await wire.agent("scribe").markRead("all");
  expect(await wire.agent("scribe").view("status", undefined)).toMatchObject({ notices: 0 });
});

test("the file is made again from the journal, and no restart tells anything twice", async () => {
  const wire = await pair();
  for (const subject of ["one", "two"]) {
    const id = await propose(wire, "forge", ["scribe"], subject);
    await wire.pass(5 * SECOND);
    await ack(wire, "scribe", id);
    await wire.pass(MINUTE);
  }
  const before = written(wire, "forge");
  const heard = wire.heard.length;
  expect(before).toHaveLength(2);
  wire.kill("forge");
  const process = wire.disk.process();
  const file = process.open(wire.paths("forge").notices, "append");
  file.truncate(20);
  file.close();
  process.remove(wire.paths("forge").checkpoint);
  await wire.start("forge");
  expect(written(wire, "forge")).toEqual(before);
  process.remove(wire.paths("forge").notices);
  await wire.rest();
  expect(written(wire, "forge")).toEqual(before);
  expect(wire.heard).toHaveLength(heard);
});

test("what happened while no daemon ran is told at its start; a command tells it, too", async () => {
  const wire = await pair();
  const id = await propose(wire, "forge", ["scribe"], "Use tabs");
  await wire.pass(5 * SECOND);
  await wire.stop("scribe");
  await wire.send("forge", {
    to: ["scribe"],
    type: "correction",
    subject: "reverted",
    body: { reverts: id },
    correlationId: await threadOf(wire, "forge", id),
  });
  const command = wire.command("scribe", wire.disk.process());
  const notices = await command.view("agent_notices", {});
  expect(notices).toMatchObject([{ kind: "reverted", about: id }]);
  command.close();
  await wire.start("scribe");
  expect(await noticesOf(wire, "scribe")).toEqual(notices);
});

test("a sender learns what a peer refused, one notice for a beat, and what to do", async () => {
  const wire = await pair(replayedSceneOf, { tiers: { scribe: { forge: "VERIFIED" } } });
  for (const path of ["one", "two"]) {
    const body = { paths: [path], mode: "exclusive" };
    await wire.post("forge", { to: ["scribe"], type: "claim", subject: path, body });
  }
  await wire.pass(MINUTE);
  const remedy =
    "your tier there is too low for this type; ask its operator to raise it " +
    "(deaddrop peers shows how far scribe trusts you), then send it again";
  expect(await told(wire, "forge")).toEqual([
    `refused: scribe refused your claim "one" and 1 more of your messages (tier_refused): ${remedy}.`,
  ]);
});

test("a sender learns that its mail waits for the comparison of digits, once", async () => {
  const wire = await pair(replayedSceneOf, { tiers: { scribe: { forge: "UNTRUSTED" } } });
  for (const subject of ["one", "two"]) {
    await wire.post("forge", { to: ["scribe"], type: "feedback", subject, body: "x" });
  }
  await wire.pass(MINUTE);
  expect(await told(wire, "forge")).toEqual([
    'mail_waits: Your feedback "one" and 1 more of your messages will reach scribe when the digits are ' +
      "compared: your operator runs deaddrop trust sas scribe, its operator does the same with you.",
  ]);
});

test("a silent peer is told while something is owed, and that it is back", async () => {
  const wire = await pair();
  await wire.pass(MINUTE);
  await wire.stop("scribe");
  await wire.start("scribe");
  wire.kill("scribe");
  await wire.pass(30 * MINUTE);
  expect(await told(wire, "forge")).toEqual([]);
  await wire.start("scribe");
  await wire.send("forge", { to: ["scribe"], type: "request", subject: "review", body: "x" });
  await wire.pass(MINUTE);
  wire.kill("scribe");
  await wire.pass(30 * MINUTE);
  await wire.start("scribe");
  await wire.pass(MINUTE);
  const words = (await told(wire, "forge")).map((each) =>
    each.replace(/2026[-0-9T:.]*Z/u, "<time>"),
  );
  expect(words).toEqual([
    "peer_silent: scribe is silent, its last heartbeat came at <time>, and it owes you 1 answer.",
    "peer_back: scribe is back, and it owes you 1 answer.",
  ]);
});

test("a held peer is told while something is owed", async () => {
  const wire = await pair(replayedSceneOf);
  await wire.send("scribe", { to: ["forge"], type: "request", subject: "review", body: "x" });
  const line = wire.forge("scribe", "scribe_to_forge", { after: { seq: 1, id: "0".repeat(64) } });
  wire.append("scribe_to_forge.jsonl", `${Buffer.from(line.line).toString("utf8")}\n`);
  await wire.pass(MINUTE);
  expect(await told(wire, "forge")).toEqual([
    "peer_held: Nothing more of scribe is taken in until your operator decides (deaddrop peer show scribe), and you owe it 1 answer.",
  ]);
});

test("safe mode is told when it begins, with who ends it, and when it ends", async () => {
  const wire = await pair();
  await raise(wire);
  await wire.pass(5 * SECOND);
  await wire.agent("scribe").markRead("all");
  await wire.pass(45 * MINUTE);
  await resumed(wire);
  await wire.pass(MINUTE);
  const begun =
    "safe_mode_begun: Safe mode has begun, because scribe did not ack an incident of forge in time: most messages are not sent; ";
  const ended = "safe_mode_ended: Safe mode has ended: all messages are sent again.";
  expect(await told(wire, "scribe")).toEqual([
    `${begun}it ends when you acknowledge incident <id> (deaddrop incident ack <id>), when forge resolves it, or, for scribe alone, when your operator resumes sending.`,
    ended,
  ]);
  expect(await told(wire, "forge")).toEqual([
    'escalated: Your incident was escalated ("not acked by scribe: main is broken"): scribe has read it and did not ack it in time.',
    `${begun}it ends when scribe acknowledges incident <id>, when you resolve it (deaddrop incident resolve <id>), or when your operator resumes sending.`,
    ended,
  ]);
});
