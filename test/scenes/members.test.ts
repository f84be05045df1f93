import { Buffer } from "node:buffer";
import { expect, test } from "vitest";
import { savePinned } from "../../src/storage/private/private-store.ts";
import {
  ack,
  causesOf,
  MINUTE,
  note,
  propose,
  SECOND,
  subjectsOf,
} from "../support/scripts/proposal-scene.ts";
import { checkedScenes } from "../support/scenes/scene-checks.ts";
import type { SimulatedWire } from "../support/scenes/simulated-wire.ts";

// Members change while daemons run. Spec 3.11.
const scene = checkedScenes("replay");
const MEMBERS = ["forge", "scribe", "mason"];

async function started(...running: readonly string[]): Promise<SimulatedWire> {
  const wire = scene([...MEMBERS, "quill"], { members: MEMBERS });
  await wire.start(...running);
  await wire.pass(5 * SECOND);
  return wire;
}

/** Forge proposes a change, and scribe agrees. */
async function changed(
  wire: SimulatedWire,
  change: { readonly add: string; readonly chains: boolean } | { readonly remove: string },
): Promise<void> {
  const { messages } = await wire.agent("forge").changeMembers(change);
  await wire.pass(5 * SECOND);
  await ack(wire, "scribe", messages[0]?.event_id ?? "");
  await wire.pass(5 * SECOND);
}

/** As `join` does: its operator agrees to the wire's configuration. */
async function join(wire: SimulatedWire, newcomer: string): Promise<void> {
  const config = Buffer.from(wire.read("config.json"), "utf8");
  savePinned(wire.process(newcomer), wire.paths(newcomer), "config", config);
  await wire.start(newcomer);
  await wire.pass(2 * MINUTE);
}

async function rosterOf(wire: SimulatedWire, who: string): Promise<string[]> {
  const { roster } = await wire.agent(who).view("members", undefined);
  return roster.map(({ handle, is }) => `${handle} ${is}`);
}

/** What an agent is told of a decision and its thread. */
async function past(wire: SimulatedWire, who: string, id: string): Promise<object> {
  const agent = wire.agent(who);
  const { in_force: decisions, unproved } = await agent.view("decisions", undefined);
  const threads = await agent.view("thread", { id });
  return {
    decisions: decisions.filter(({ proposal }) => proposal[2] === id),
    unproved,
    threads: threads.map(({ messages, status, waiting_on, participants }) => ({
      messages: messages.map(({ event_id: each, from }) => ({ each, from })).toSorted(byId),
      ...{ status, waiting_on, participants: participants.toSorted() },
    })),
  };
}

function byId(one: { each?: string | undefined }, other: { each?: string | undefined }): number {
  return (one.each ?? "") < (other.each ?? "") ? -1 : 1;
}

test("one leaves, one joins: the past is as it was, also for the newcomer", async () => {
  const wire = await started(...MEMBERS);
  const id = await propose(wire, "forge", ["scribe", "mason"], "Use tabs");
  await wire.pass(5 * SECOND);
  for (const party of ["scribe", "mason"]) await ack(wire, party, id);
  await wire.pass(2 * MINUTE);
  const before = await past(wire, "forge", id);
  expect(before).toMatchObject({ decisions: [{ decision: "Use tabs" }], unproved: [] });
  await wire.agent("mason").leave();
  await wire.pass(MINUTE);
  await wire.stop("mason");
  await changed(wire, { add: "quill", chains: true });
  await join(wire, "quill");
  for (const member of ["forge", "scribe", "quill"]) {
    expect(await past(wire, member, id)).toEqual(before);
    expect(await rosterOf(wire, member)).toEqual([
      ...["forge member", "scribe member", "mason left", "quill member"],
    ]);
  }
  expect(await wire.agent("quill").view("pending", undefined)).toEqual([]);
  await wire.send("quill", note(["*"], "hello"));
  expect(await subjectsOf(wire, "forge")).toContain("quill: hello");
});

test("what a member writes after its removal is refused, and what it writes when it is back is not", async () => {
  const wire = await started("forge", "scribe");
  const say = async (subject: string): Promise<void> => {
    const { line } = wire.forge("mason", { subject });
    wire.append(wire.carrier("mason"), `${Buffer.from(line).toString("utf8")}\n`);
    await wire.pass(MINUTE);
  };
  await say("before");
  await changed(wire, { remove: "mason" });
  await say("in between");
  expect(await causesOf(wire, "forge")).toEqual(["left_member"]);
  await changed(wire, { add: "mason", chains: true });
  await say("again");
  const heard = (await subjectsOf(wire, "forge")).filter((each) => each.startsWith("mason"));
  expect(heard).toEqual(["mason: before", "mason: again"]);
  const peers = await wire.agent("forge").view("peers", undefined);
  expect(peers.find(({ handle }) => handle === "mason")?.held).toBe(false);
});

test("nothing is sent to who has left, and who has left sends nothing", async () => {
  const wire = await started(...MEMBERS);
  await wire.agent("mason").leave();
  await wire.pass(MINUTE);
  await expect(wire.send("mason", note(["*"], "one thing more"))).rejects.toThrow(
    "mason has left this wire",
  );
  await expect(wire.send("forge", note(["mason"], "are you there?"))).rejects.toThrow("mason");
  await wire.send("forge", note(["*"], "two of us"));
  const [latest] = await wire.agent("forge").view("sent", {});
  expect(latest?.to).toEqual(["scribe"]);
});
