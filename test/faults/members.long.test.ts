import { expect, test } from "vitest";
import { applyMembership } from "../../src/agent/config/change-members.ts";
import { amount } from "../support/amounts.ts";
import { leave, letIn, putOut } from "../support/scenes/changing-members.ts";
import { membershipOf } from "../../src/cli/members/accept.ts";
import { SimulatedWire } from "../support/scenes/simulated-wire.ts";
import { ack, MINUTE, note, propose, SECOND } from "../support/scripts/proposal-scene.ts";

const EVERYBODY = ["forge", "scribe", "mason", "quill"];
const THREE = EVERYBODY.slice(0, 3);

/** Three agents have agreed on something, and a change of members is due at forge. */
async function due(change: "leaves" | "is removed" | "joins"): Promise<SimulatedWire> {
  const options = { layout: "outbox", members: THREE, withFaults: true } as const;
  const wire = new SimulatedWire(EVERYBODY, options);
  await wire.start(...THREE);
  const id = await propose(wire, "forge", ["scribe", "mason"], "Use tabs");
  await wire.pass(5 * SECOND);
  for (const member of ["scribe", "mason"]) await ack(wire, member, id);
  await wire.pass(MINUTE);
  if (change === "leaves") await leave(wire, "mason");
  else if (change === "joins") await letIn(wire, "forge", ["scribe", "mason"], "quill");
  else await putOut(wire, "forge", ["scribe"], "mason");
  return wire;
}

/** All at night, else some of them: each begins with a wire of its own. */
function samples(operations: number): readonly number[] {
  const step = Math.ceil(operations / amount(4, operations));
  return Array.from({ length: Math.ceil(operations / step) }, (_, at) => 1 + at * step);
}

async function applyHere(wire: SimulatedWire): Promise<void> {
  await wire.attempt("forge", async (agent) => {
    const { changes } = await agent.view("members", undefined);
    const [change] = changes.filter(({ due: isDue }) => isDue);
    if (change === undefined) return;
    applyMembership(wire.process("forge"), agent.place, membershipOf(change));
    await agent.reload();
    await agent.tick();
    await agent.sync();
  });
}

async function decided(wire: SimulatedWire): Promise<string[]> {
  const { in_force: all } = await wire.agent("forge").view("decisions", {});
  return all.map(({ decision }) => decision).filter((words) => words === "Use tabs");
}

test.each(["leaves", "is removed", "joins"] as const)(
  "an agent %s: killed at each operation, the change holds or is due, and nothing decided changes",
  async (change) => {
    const counted = await due(change);
    const from = counted.process("forge").operations;
    await applyHere(counted);
    const operations = counted.process("forge").operations - from;
    expect(operations).toBeGreaterThan(5);
    for (const at of samples(operations)) {
      const wire = await due(change);
      const process = wire.process("forge");
      process.failAt(process.operations + at, "crash");
      await applyHere(wire);
      if (wire.isUp("forge")) wire.kill("forge");
      await wire.start("forge");
      await applyHere(wire);
      const { roster, changes } = await wire.agent("forge").view("members", undefined);
      expect(changes).toEqual([]);
      expect(roster.filter(({ is }) => is === "member")).toHaveLength(change === "joins" ? 4 : 2);
      expect(await decided(wire)).toEqual(["Use tabs"]);
      await wire.send("forge", note(["*"], "we go on"));
      await wire.expectReplayEqualsLive("forge");
    }
  },
);
