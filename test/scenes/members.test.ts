import { expect, test } from "vitest";
import { runAudit } from "../../src/audit/audit.ts";
import { wirePlan } from "../../src/audit/plan.ts";
import { loadPlace } from "../../src/agent/config/agent-config.ts";
import { moveDraft } from "../../src/setup/wire/move-draft.ts";
import {
  accept,
  leave,
  letIn,
  putOut,
  sayLeft,
  takeConfig,
} from "../support/scenes/changing-members.ts";
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
import { take } from "../support/scenes/taking-outboxes.ts";
import { verifyHere } from "../support/verify-here.ts";

const scene = checkedScenes("replay and audit");
/** Where a member writes on, an audit finds that wrong. */
const hostile = checkedScenes("replay");
const EVERYBODY = ["forge", "scribe", "mason", "quill"];
const MEMBERS = ["forge", "scribe", "mason"];

interface Said {
  readonly ratified: string;
  readonly note: string;
}

/** Three agents have agreed on something, and talked. */
async function agreed(make = scene): Promise<{ wire: SimulatedWire; said: Said }> {
  const wire = make(EVERYBODY, { layout: "outbox", members: MEMBERS });
  await wire.start(...MEMBERS);
  return { wire, said: await agreedIn(wire, ["scribe", "mason"]) };
}

/** `wire`: where its members agree on something that forge proposes to these, and mason talks. */
async function agreedIn(wire: SimulatedWire, sides: readonly string[]): Promise<Said> {
  const ratified = await propose(wire, "forge", sides, "Use tabs");
  const noted = await wire.send("mason", note(["*"], "I have looked"));
  await wire.pass(5 * SECOND);
  for (const member of sides) await ack(wire, member, ratified);
  await wire.pass(2 * MINUTE);
  return { ratified, note: noted };
}

/** What an agent is told of the past. */
async function past(wire: SimulatedWire, who: string, said: Said): Promise<object> {
  const agent = wire.agent(who);
  const decisions = await agent.view("decisions", {});
  const proposals = await agent.view("proposals", undefined);
  const threads = await Promise.all(
    [said.ratified, said.note].map((id) => agent.view("thread", { id })),
  );
  const place = loadPlace(wire.disk.process(), wire.placesOf(who), {
    wireDir: wire.wirePath,
    handle: who,
  });
  const { config, tiers, layout, store } = place;
  const plan = { config, tiers, roster: layout.roster, journal: undefined, self: who };
  const report = await runAudit(
    wirePlan(wire.disk.process(), place.wire.folder, { from: "pinned", store }, plan),
    verifyHere,
  );
  return {
    decisions: [...decisions.in_force, ...decisions.superseded].filter(
      ({ proposal_id: id }) => id === said.ratified,
    ),
    unproved: decisions.unproved,
    proposal: proposals.find(({ proposal_id: id }) => id === said.ratified),
    threads: threads.flat().map(({ messages, status, waiting_on, participants }) => ({
      messages: messages.map(({ event_id: id, from }) => ({ id, from })),
      ...{ status, waiting_on, participants },
    })),
    audited: report.decisions.filter(({ proposal_id: id }) => id === said.ratified),
    violations: report.violations,
  };
}

/** All who are members in the end are told the same of the past, live and after a replay. */
async function expectPast(wire: SimulatedWire, said: Said, before: object): Promise<void> {
  for (const member of ["forge", "scribe", "quill"]) {
    expect(await past(wire, member, said)).toEqual(before);
    await wire.expectReplayEqualsLive(member);
    expect(await past(wire, member, said)).toEqual(before);
  }
}

async function moveProposed(wire: SimulatedWire): Promise<string> {
  const { subject, body } = moveDraft("scribe");
  return propose(wire, "forge", ["scribe"], subject, { body });
}

async function joins(wire: SimulatedWire, newcomer: string): Promise<void> {
  await takeConfig(wire, newcomer);
  await wire.start(newcomer);
  await wire.pass(2 * MINUTE);
}

test("one leaves, one joins: the past is as it was, live, replayed, and for the newcomer", async () => {
  const { wire, said } = await agreed();
  const before = await past(wire, "forge", said);
  expect(before).toMatchObject({ violations: [], proposal: { status: "ratified" } });
  await leave(wire, "mason");
  for (const member of ["forge", "scribe"]) await accept(wire, member);
  expect(await past(wire, "forge", said)).toEqual(before);
  await letIn(wire, "forge", ["scribe"], "quill");
  for (const member of ["forge", "scribe"]) await accept(wire, member);
  await joins(wire, "quill");
  await expectPast(wire, said, before);
  const { roster } = await wire.agent("quill").view("members", undefined);
  expect(roster.map(({ handle, is }) => `${handle} ${is}`)).toEqual([
    "forge member",
    "scribe member",
    "mason left",
    "quill member",
  ]);
  expect(await wire.agent("quill").view("pending", undefined)).toEqual([]);
  await wire.send("quill", note(["*"], "hello"));
  expect(await subjectsOf(wire, "forge")).toContain("quill: hello");
});

test("the same after the operators say that a member is gone", async () => {
  const { wire, said } = await agreed();
  const before = await past(wire, "forge", said);
  wire.kill("mason");
  await wire.pass(2 * MINUTE);
  await sayLeft(wire, "forge", "mason");
  await takeConfig(wire, "scribe");
  await letIn(wire, "scribe", ["forge"], "quill");
  for (const member of ["forge", "scribe"]) await accept(wire, member);
  await joins(wire, "quill");
  await expectPast(wire, said, before);
  const peers = await wire.agent("forge").view("peers", undefined);
  expect(peers.map(({ handle }) => handle)).toEqual(["scribe", "quill"]);
});

test("one leaves a wire of pairs, the others move to outboxes, and one joins: the past is as it was", async () => {
  const wire = scene(EVERYBODY, { layout: "pairwise", members: MEMBERS });
  await wire.start(...MEMBERS);
  const said = await agreedIn(wire, ["mason"]);
  const before = await past(wire, "forge", said);
  expect(before).toMatchObject({ violations: [], proposal: { status: "ratified" } });
  await leave(wire, "mason");
  for (const member of ["forge", "scribe"]) await accept(wire, member);
  expect(await past(wire, "forge", said)).toEqual(before);
  await ack(wire, "scribe", await moveProposed(wire));
  await wire.pass(2 * MINUTE);
  await take(wire, "forge", "scribe");
  await wire.pass(2 * MINUTE);
  for (const member of ["forge", "scribe"]) expect(await past(wire, member, said)).toEqual(before);
  await letIn(wire, "forge", ["scribe"], "quill");
  for (const member of ["forge", "scribe"]) await accept(wire, member);
  await joins(wire, "quill");
  await expectPast(wire, said, before);
  await wire.send("quill", note(["*"], "hello"));
  for (const member of ["forge", "scribe"]) {
    expect(await subjectsOf(wire, member)).toContain("quill: hello");
  }
});

test("what one that came back wrote before an operator accepted that is read again when he does", async () => {
  const { wire } = await agreed();
  await leave(wire, "mason");
  for (const member of ["forge", "scribe"]) await accept(wire, member);
  await letIn(wire, "forge", ["scribe"], "mason");
  await accept(wire, "forge");
  await joins(wire, "mason");
  const asked = await wire.send("mason", {
    ...note(["scribe"], "I am back"),
    ackRequired: true,
  });
  await wire.pass(2 * MINUTE);
  expect(await subjectsOf(wire, "scribe")).not.toContain("mason: I am back");
  expect(await causesOf(wire, "scribe")).toContain("left_member");
  await accept(wire, "scribe");
  await wire.pass(2 * MINUTE);
  expect((await subjectsOf(wire, "scribe")).filter((each) => each === "mason: I am back")).toEqual([
    "mason: I am back",
  ]);
  const owed = await wire.agent("scribe").view("pending", undefined);
  expect(owed.map(({ event_id: id }) => id)).toEqual([asked]);
  for (const member of ["forge", "scribe", "mason"]) await wire.expectReplayEqualsLive(member);
});

test("what a member writes after its removal is refused and kept, and nobody is held", async () => {
  const { wire } = await agreed(hostile);
  await putOut(wire, "forge", ["scribe"], "mason");
  for (const member of ["forge", "scribe"]) await accept(wire, member);
  await wire.send("mason", note(["*"], "I am still here"));
  await wire.pass(MINUTE);
  expect(await subjectsOf(wire, "forge")).not.toContain("mason: I am still here");
  expect(await causesOf(wire, "forge")).toContain("left_member");
  await wire.stop("mason");
});

test("nothing is sent to who has left, and the wire's daemons are not started again", async () => {
  const { wire } = await agreed();
  const pid = wire.process("forge");
  await leave(wire, "mason");
  for (const member of ["forge", "scribe"]) await accept(wire, member);
  await expect(wire.send("forge", note(["mason"], "are you there?"))).rejects.toThrow(
    'not sent to "mason": it has left this wire',
  );
  expect(wire.process("forge")).toBe(pid);
  const sent = await wire.agent("forge").view("sent", {});
  await wire.send("forge", note(["*"], "two of us"));
  const [latest] = await wire.agent("forge").view("sent", {});
  expect(latest?.to).toEqual(["scribe"]);
  expect(sent.length).toBeGreaterThan(0);
});
