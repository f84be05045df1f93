import { expect, test } from "vitest";
import { MINUTE } from "../support/scripts/proposal-scene.ts";
import { commandIn } from "../support/scenes/scene-cli.ts";
import { checkedScenes } from "../support/scenes/scene-checks.ts";
import { toolIn } from "../support/scenes/scene-mcp.ts";
import type { SimulatedWire } from "../support/scenes/simulated-wire.ts";

// A field of a body that its subject does not show must not decide what an answer means. Spec 3.8.
const sceneOf = checkedScenes("replay and audit");

/** What ann asks of ben with a harmless subject; answers the event id. */
async function asks(wire: SimulatedWire, type: string, fields: object): Promise<string> {
  const body = JSON.stringify({ text: "A yes is enough.", ...fields });
  const said = ["send", "--type", type, "Is the build green?", body, "--body-json"];
  await commandIn(wire, "ann", ...said);
  await wire.pass(MINUTE);
  const { messages } = await wire.agent("ben").view("inbox", {});
  return messages.findLast((each) => each.subject === "Is the build green?")?._meta.id ?? "";
}

async function started(): Promise<SimulatedWire> {
  const wire = sceneOf(["ann", "ben"]);
  await wire.start();
  await wire.pass(MINUTE);
  return wire;
}

test("accept never approves a shutdown: it names the type and the command that does", async () => {
  const wire = await started();
  const hidden = { request_id: "deadbeef02", request_type: "shutdown" };
  const id = await asks(wire, "request", hidden);
  const words = "shutdown request: an approval parks the agent";
  for (const page of [["pending"], ["inbox"], ["status"], ["catch-up"], ["thread", id]]) {
    expect(await commandIn(wire, "ben", ...page)).toContain(words);
  }
  expect(await toolIn(wire, "ben", "read", { what: "pending" })).toContain(words);
  expect(await toolIn(wire, "ben", "inbox")).toContain(words);

  const refused = "this is a shutdown request of ann: an approval parks you";
  const remedy = /deaddrop respond (<id>|deadbeef02) yes/u;
  for (const answer of [
    await commandIn(wire, "ben", "accept", id),
    await commandIn(wire, "ben", "accept", id, "--anyway"),
  ]) {
    expect(answer).toContain(refused);
    expect(answer).toMatch(remedy);
  }
  const byTool = await toolIn(wire, "ben", "answer", { id, answer: "accept" });
  expect(byTool).toContain(refused);
  expect(byTool).toContain('then: answer {"id":"deadbeef02","answer":"approve_shutdown"}');
  expect((await wire.agent("ben").view("status", undefined)).parked).toBeNull();

  expect(await commandIn(wire, "ben", "respond", "deadbeef02", "--approve")).toContain("parked");
  expect((await wire.agent("ben").view("status", undefined)).parked).not.toBeNull();
});

test("a plan or a step of one is named, and a type of the asker's own is quoted", async () => {
  const wire = await started();
  await asks(wire, "request", { request_id: "deadbeef03", request_type: "plan_approval" });
  await asks(wire, "request", { request_id: "deadbeef04", request_type: "plan_step" });
  await asks(wire, "request", { request_id: "deadbeef05", request_type: "review" });
  for (const page of [
    await commandIn(wire, "ben", "pending"),
    await toolIn(wire, "ben", "read", { what: "pending" }),
  ]) {
    expect(page).toContain("plan approval request");
    expect(page).toContain("request to do a step of a plan");
    expect(page).toContain('request of type "review"');
  }
});

test("what the daemons carry out for a proposal is named where it is accepted", async () => {
  const wire = await started();
  await asks(wire, "proposal", { action: "deactivate_key", key_id: "ann:00112233" });
  const words = "proposal that also ends a signing key of its author";
  expect(await commandIn(wire, "ben", "pending")).toContain(words);
  expect(await commandIn(wire, "ben", "inbox")).toContain(words);
  expect(await toolIn(wire, "ben", "inbox")).toContain(words);
  expect(await toolIn(wire, "ben", "read", { what: "pending" })).toContain(words);
});
