import { expect, test } from "vitest";
import {
  accept,
  leave,
  letIn,
  lineOfChange,
  putOut,
  takeConfig,
} from "../support/scenes/changing-members.ts";
import {
  ack,
  ackDraft,
  MINUTE,
  note,
  SECOND,
  subjectsOf,
} from "../support/scripts/proposal-scene.ts";
import { checkedScenes } from "../support/scenes/scene-checks.ts";
import type { SimulatedWire } from "../support/scenes/simulated-wire.ts";

const scene = checkedScenes("replay");
const EVERYBODY = ["forge", "scribe", "mason", "quill"];
const THREE = ["forge", "scribe", "mason"];

async function running(members = THREE): Promise<SimulatedWire> {
  const wire = scene(EVERYBODY, { layout: "outbox", members });
  await wire.start(...members);
  await wire.pass(10 * SECOND);
  return wire;
}

async function membersOf(wire: SimulatedWire, who: string): Promise<string[]> {
  const { roster } = await wire.agent(who).view("members", undefined);
  return roster.filter(({ is }) => is === "member").map(({ handle }) => handle);
}

async function propose(wire: SimulatedWire, by: string, body: object): Promise<string> {
  const { changed_by: after } = await wire.agent(by).view("members", undefined);
  const required = THREE.filter((each) => each !== by && !JSON.stringify(body).includes(each));
  return wire.send(by, {
    ...{ to: required, type: "proposal", subject: "members", ackRequired: true },
    body: { after, required, ...body },
  });
}

test("two changes that cross never both hold", async () => {
  const wire = await running();
  const [one, other] = await Promise.all([
    wire.post("forge", await lineOfChange(wire, "forge", ["scribe"], "remove_member", "mason")),
    wire.post("scribe", await lineOfChange(wire, "scribe", ["mason"], "remove_member", "forge")),
  ]);
  await wire.settle();
  await expect(ack(wire, "scribe", one, { approve: true })).rejects.toThrow(
    "you have agreed to another change of members, which is open",
  );
  await ack(wire, "mason", other, { approve: true });
  await wire.pass(MINUTE);
  for (const who of ["scribe", "mason"]) await accept(wire, who);
  expect(await membersOf(wire, "mason")).toEqual(["scribe", "mason"]);
  const { changes } = await wire.agent("scribe").view("members", undefined);
  expect(changes.map(({ due, problem }) => [due, problem])).toEqual([
    [false, "another change of members was applied before it"],
  ]);
  await wire.stop("forge");
});

test("an agent proposes one change at a time, and another one when that has ended", async () => {
  const wire = await running();
  const first = await propose(wire, "forge", { action: "add_member", member: "quill" });
  await expect(propose(wire, "forge", { action: "add_member", member: "vane" })).rejects.toThrow(
    "you have agreed to another change",
  );
  await wire.send("forge", {
    ...{ to: ["scribe", "mason"], type: "correction", subject: "no" },
    body: { corrects: first, reverts: first },
    correlationId: (await wire.agent("forge").view("resolve_id", { id: first })).correlation_id,
  });
  await propose(wire, "forge", { action: "add_member", member: "vane" });
});

test("a removal is not acked once its member has said more, and others have it; beats do not count", async () => {
  const wire = await running();
  const draft = await lineOfChange(wire, "forge", ["scribe"], "remove_member", "mason");
  const id = await wire.send("forge", draft);
  await wire.pass(5 * MINUTE);
  const { proposals } = await wire.outcome("scribe");
  expect(proposals.find((each) => each.id === id)?.status).toBe("open");
  const answer = await ackDraft(wire, "scribe", id, { approve: true });
  await wire.send("mason", note(["*"], "one word more"));
  await wire.pass(5 * MINUTE);
  await expect(wire.send("scribe", answer)).rejects.toThrow("mason has written more since");
  await wire.send("scribe", { ...answer, body: { acks: id, approve: false } });
  await wire.pass(MINUTE);
  await putOut(wire, "forge", ["scribe"], "mason");
  for (const who of ["forge", "scribe"]) await accept(wire, who);
  expect(await membersOf(wire, "forge")).toEqual(["forge", "scribe"]);
  await wire.stop("mason");
});

test("no removal leaves fewer than two, nobody is added twice, nobody is left out", async () => {
  const wire = await running(["forge", "scribe"]);
  const removal = await lineOfChange(wire, "forge", [], "remove_member", "scribe");
  await expect(wire.post("forge", { ...removal, to: ["scribe"] })).rejects.toThrow(
    "a removal needs three members",
  );
  const body = { action: "add_member", member: "scribe", after: null, required: ["scribe"] };
  const draft = { to: ["scribe"], type: "proposal", subject: "x", ackRequired: true };
  await expect(wire.post("forge", { ...draft, body })).rejects.toThrow("is a member already");
  const three = await running();
  await expect(
    three.post("forge", { ...draft, body: { ...body, member: "quill" } }),
  ).rejects.toThrow("it does not ask mason");
  const old = { ...body, member: "quill", after: "0".repeat(64), required: ["scribe", "mason"] };
  await expect(three.post("forge", { ...draft, body: old })).rejects.toThrow(
    "another change of members was applied before it",
  );
});

test("it comes back with its own chain; what it wrote in between stays refused", async () => {
  const wire = await running();
  await wire.send("mason", note(["*"], "before"));
  await putOut(wire, "forge", ["scribe"], "mason");
  for (const who of ["forge", "scribe"]) await accept(wire, who);
  await wire.send("mason", note(["*"], "in between"));
  await wire.pass(2 * MINUTE);
  await wire.stop("mason");
  await letIn(wire, "forge", ["scribe"], "mason");
  for (const who of ["forge", "scribe"]) await accept(wire, who);
  await takeConfig(wire, "mason");
  await wire.start("mason");
  await wire.send("mason", note(["*"], "again"));
  await wire.pass(2 * MINUTE);
  const heard = await subjectsOf(wire, "forge");
  expect(heard.filter((each) => each.startsWith("mason"))).toEqual([
    "mason: before",
    "mason: again",
  ]);
  expect(await wire.agent("forge").view("holds", { peer: "mason" })).toMatchObject({ holds: [] });
  const peers = await wire.agent("scribe").view("peers", undefined);
  expect(peers.find(({ handle }) => handle === "mason")?.held).toBe(false);
});

test("one peer is offline for the whole of it", async () => {
  const wire = await running();
  await wire.stop("scribe");
  await leave(wire, "mason");
  await accept(wire, "forge");
  await wire.send("forge", note(["*"], "while you slept"));
  await wire.start("scribe");
  await wire.pass(2 * MINUTE);
  await accept(wire, "scribe");
  expect(await membersOf(wire, "scribe")).toEqual(["forge", "scribe"]);
  expect(await subjectsOf(wire, "scribe")).toContain("forge: while you slept");
});

test("an agent that is away sends nothing, and its last line is its last", async () => {
  const wire = await running();
  await leave(wire, "mason");
  const last = wire.lines("outbox/mason.jsonl").at(-1) ?? "";
  expect(JSON.parse(last)).toMatchObject({ type: "shutdown", body: { leaves: true } });
  for (const who of ["forge", "scribe"]) await accept(wire, who);
  await takeConfig(wire, "mason");
  const command = wire.command("mason", wire.disk.process());
  const draft = { to: ["*"], type: "feedback", subject: "x", body: "y" };
  await expect(command.send([[draft]])).rejects.toThrow("mason has left this wire");
  command.close();
});
