import { expect, test } from "vitest";
import { MINUTE } from "../support/scripts/proposal-scene.ts";
import { commandIn } from "../support/scenes/scene-cli.ts";
import { checkedScenes } from "../support/scenes/scene-checks.ts";
import { toolIn } from "../support/scenes/scene-mcp.ts";
import type { SimulatedWire } from "../support/scenes/simulated-wire.ts";

// A proposal supersedes a decision that is in force, or it is not sent: with a name that nothing has,
// both would stay in force. Spec 3.4.7, "Proved, pending, unproved".
const sceneOf = checkedScenes("replay and audit");

async function inForce(wire: SimulatedWire, handle = "ann") {
  return (await wire.agent(handle).view("decisions", undefined)).in_force;
}

/** Proposed by ann, accepted by all others. */
async function decided(wire: SimulatedWire, words: string, ...flags: string[]): Promise<void> {
  expect(await commandIn(wire, "ann", "propose", words, ...flags)).toContain("sent");
  await accepted(wire);
}

async function accepted(wire: SimulatedWire): Promise<void> {
  await wire.pass(MINUTE);
  for (const handle of wire.roster.filter((each) => each !== "ann")) {
    const proposals = await wire.agent(handle).view("proposals", undefined);
    const open = proposals.findLast(({ status }) => status === "open");
    if (open?.required.includes(handle) !== true) continue;
    await commandIn(wire, handle, "accept", open.proposal_id);
  }
  await wire.pass(MINUTE);
}

async function started(...roster: string[]): Promise<SimulatedWire> {
  const wire = sceneOf(roster.length === 0 ? ["ann", "ben"] : roster);
  await wire.start();
  await wire.pass(MINUTE);
  return wire;
}

test("a decision is superseded by its id, a prefix of it, its proposal's id, or a prefix of that", async () => {
  const wire = await started();
  await decided(wire, "Use pnpm");
  const names = [
    (id: string) => id,
    () => "use-",
    (_id: string, proposal: string) => proposal,
    (_id: string, proposal: string) => proposal.slice(0, 6),
  ];
  for (const [round, nameOf] of names.entries()) {
    const [first] = await inForce(wire);
    const name = nameOf(first?.decision_id ?? "", first?.proposal[2] ?? "");
    await decided(wire, `Use npm, version ${round}`, "--supersedes", name);
    expect((await inForce(wire)).map(({ decision }) => decision)).toEqual([
      `Use npm, version ${round}`,
    ]);
  }
});

test("what no decision in force is named is refused with what is nearest", async () => {
  const wire = await started();
  await decided(wire, "Use pnpm");
  const [old] = await inForce(wire);
  const propose = (name: string): Promise<string> =>
    commandIn(wire, "ann", "propose", "Use npm", "--supersedes", name);
  for (const [name, hint] of [
    ["use-pmpm", 'did you mean "use-pnpm-'],
    ["tabs", 'in force: "use-pnpm-'],
    ["", 'in force: "use-pnpm-'],
  ] as const) {
    const said = await propose(name);
    expect(said).toContain(`not sent: no decision in force is named "${name}"`);
    expect(said).toContain(hint);
  }
  const body = '{"supersedes":"tabs"}';
  expect(
    await commandIn(wire, "ann", "send", "--type", "proposal", "Use npm", body, "--body-json"),
  ).toContain('no decision in force is named "tabs"');
  const asked = { subject: "npm", decision: "Use npm", supersedes: "tabs" };
  expect(await toolIn(wire, "ann", "propose", asked)).toContain(
    'no decision in force is named "tabs"',
  );
  expect((await wire.agent("ann").view("proposals", undefined)).length).toBe(1);

  await decided(wire, "Use npm", "--supersedes", "use-pnpm");
  expect(await propose(old?.decision_id ?? "")).toContain("has been superseded");
});

test("a prefix that two decisions have is refused with both", async () => {
  const wire = await started();
  await decided(wire, "Use pnpm");
  await decided(wire, "Use tabs");
  const said = await commandIn(wire, "ann", "propose", "Use npm", "--supersedes", "use");
  expect(said).toContain('not sent: "use" could mean:\n  use-pnpm-');
  expect(said).toContain("\n  use-tabs-");
});

test("a proposal that leaves out a party of the decision is refused with the flag that adds it", async () => {
  const wire = await started("ann", "ben", "cid");
  await decided(wire, "Use pnpm", "--required", "ben", "--required", "cid");
  const args = ["propose", "Use npm", "--supersedes", "use-pnpm", "--required", "ben"];
  expect(await commandIn(wire, "ann", ...args)).toContain("it needs them too: --required cid");
  await commandIn(wire, "ann", ...args, "--required", "cid");
  await accepted(wire);
  expect((await inForce(wire)).map(({ decision }) => decision)).toEqual(["Use npm"]);
});
