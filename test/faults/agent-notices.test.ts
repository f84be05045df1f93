import { expect, test } from "vitest";
import { nextPoint } from "../support/amounts.ts";
import { FAULTS } from "../support/disk/faults.ts";
import { ack, MINUTE, propose, SECOND } from "../support/scripts/proposal-scene.ts";
import { SimulatedWire } from "../support/scenes/simulated-wire.ts";

function written(wire: SimulatedWire): unknown[] {
  const lines = wire.read(wire.paths("forge").notices).split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as unknown);
}

test("the end of a proposal is told once and written once, wherever the disk fails or we die", async () => {
  for (const fault of FAULTS) {
    for (let at = 1, isThrough = false; !isThrough; at = nextPoint(at)) {
      const wire = new SimulatedWire(["forge", "scribe"], { withFaults: true, seed: at });
      await wire.start();
      const id = await propose(wire, "forge", ["scribe"], "Use tabs");
      await wire.pass(5 * SECOND);
      await ack(wire, "scribe", id, { approve: true });
      const process = wire.process("forge");
      const before = process.operations;
      process.failAt(at, fault);
      await wire.pass(5 * SECOND);
      isThrough = process.operations - before < at;
      process.heal();
      if (!wire.isUp("forge")) await wire.start("forge");
      await wire.pass(MINUTE);
      const where = `${fault} at operation ${at}`;
      const told = await wire.agent("forge").view("agent_notices", {});
      expect(
        told.map(({ kind, about }) => [kind, about]),
        where,
      ).toEqual([["approved", id]]);
      expect(written(wire), where).toEqual(told.map(({ read: _read, ...notice }) => notice));
    }
  }
});
