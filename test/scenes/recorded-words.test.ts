import { expect, test } from "vitest";
import { MINUTE } from "../support/scripts/proposal-scene.ts";
import { commandIn } from "../support/scenes/scene-cli.ts";
import { checkedScenes } from "../support/scenes/scene-checks.ts";
import { toolIn } from "../support/scenes/scene-mcp.ts";
import type { SimulatedWire } from "../support/scenes/simulated-wire.ts";

// What is recorded are the words of --decision, else the subject; never the body. Both sides read them
// before anything is agreed. Spec 3.4.1, "Asking" and "The record".
const sceneOf = checkedScenes("replay and audit");

async function started(): Promise<SimulatedWire> {
  const wire = sceneOf(["ann", "ben"]);
  await wire.start();
  await wire.pass(MINUTE);
  return wire;
}

async function newestProposal(wire: SimulatedWire, handle: string): Promise<string> {
  await wire.pass(MINUTE);
  const { messages } = await wire.agent(handle).view("inbox", {});
  return messages.findLast(({ type }) => type === "proposal")?._meta.id ?? "";
}

/** The texts in force, once the newest proposal that `handle` holds has been accepted. */
async function recordedAfterAccept(wire: SimulatedWire, handle: string): Promise<string[]> {
  await commandIn(wire, handle, "accept", await newestProposal(wire, handle));
  await wire.pass(MINUTE);
  const { in_force: inForce } = await wire.agent(handle).view("decisions", undefined);
  return inForce.map(({ decision }) => decision);
}

test.each([
  [["propose", "Use pnpm", "It is faster than npm"], "Use pnpm"],
  [["propose", "Use pnpm"], "Use pnpm"],
  [["propose", "packages", "It is fast", "--decision", "We use pnpm."], "We use pnpm."],
  [["propose", "Use pnpm", '{"text":"fast","cost":"none"}', "--body-json"], "Use pnpm"],
  [["send", "--type", "proposal", "Use pnpm", "It is faster than npm"], "Use pnpm"],
  [["send", "--type", "proposal", "Use pnpm", '{"why":"fast"}', "--body-json"], "Use pnpm"],
])("%j records %j", async (args, recorded) => {
  const wire = await started();
  const answer = await commandIn(wire, "ann", ...args);
  expect(answer).toContain(`Recorded when all have agreed:\n  │ ${recorded}`);
  expect(await recordedAfterAccept(wire, "ben")).toEqual([recorded]);
});

test("what the guide says of counter records the other proposal, not its reason", async () => {
  const wire = await started();
  await commandIn(wire, "ann", "propose", "Tabs everywhere");
  const id = await newestProposal(wire, "ben");
  const answer = await commandIn(
    wire,
    "ben",
    "counter",
    id,
    "We indent with two spaces",
    "Tabs look bad in diffs",
  );
  expect(answer).toContain("Recorded when all have agreed:\n  │ We indent with two spaces");
  expect(await recordedAfterAccept(wire, "ann")).toEqual(["We indent with two spaces"]);
});

test("an empty decision is refused", async () => {
  const wire = await started();
  expect(await commandIn(wire, "ann", "propose", "Use pnpm", "--decision", " ")).toContain(
    "the decision is empty, so nothing was sent",
  );
});

test("every page from which a proposal is accepted quotes what will be recorded", async () => {
  const wire = await started();
  await commandIn(wire, "ann", "propose", "packages", "It is fast", "--decision", "We use pnpm.");
  const id = await newestProposal(wire, "ben");
  const quoted = "│ decides: We use pnpm.";
  for (const page of [["pending"], ["proposals"], ["inbox", id], ["thread", id]]) {
    expect(await commandIn(wire, "ben", ...page)).toContain(quoted);
  }
  expect(await toolIn(wire, "ben", "read", { what: "pending" })).toContain("decides: We use pnpm.");
  expect(await toolIn(wire, "ben", "inbox")).toContain("│ 1. packages — decides: We use pnpm.");
  expect(await toolIn(wire, "ben", "read", { id })).toContain(quoted);
  expect(await commandIn(wire, "ben", "accept", id)).toContain(
    "You agree that this is recorded:\n  │ We use pnpm.",
  );
});

test("a proposal that was written by hand, with text as its body, is shown as it is recorded", async () => {
  const wire = await started();
  const written = { to: ["ben"], type: "proposal", subject: "packages", body: "We use pnpm." };
  await wire.agent("ann").send([[{ ...written, ackRequired: true }]]);
  const id = await newestProposal(wire, "ben");
  expect(await commandIn(wire, "ben", "pending")).toContain("│ decides: We use pnpm.");
  expect(await commandIn(wire, "ben", "inbox", id)).toContain("│ decides: We use pnpm.");
  expect(await recordedAfterAccept(wire, "ben")).toEqual(["We use pnpm."]);
});

test("MCP: propose and counter answer with the words that are recorded", async () => {
  const wire = await started();
  const asked = { subject: "packages", decision: "We use pnpm.", reasons: "It is fast." };
  expect(JSON.parse(await toolIn(wire, "ann", "propose", asked))).toMatchObject({
    recorded_when_all_agree: "We use pnpm.",
  });
  const id = await newestProposal(wire, "ben");
  const decision = `We use npm, ${"and say so, ".repeat(40)}`;
  const countered = await toolIn(wire, "ben", "propose", {
    ...{ counters: id, decision, reasons: "It is there." },
  });
  expect(JSON.parse(countered)).toMatchObject({ recorded_when_all_agree: decision });
  expect(await recordedAfterAccept(wire, "ann")).toEqual([decision]);
});
