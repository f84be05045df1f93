import { expect, test } from "vitest";
import { SimulatedWire } from "../support/scenes/simulated-wire.ts";

const LOG = "scribe_to_forge";

const FAULTS = [
  ["EIO", 1],
  ["crash", 1],
  ["crash", 2],
  ["crash", 3],
  ["crash", 4],
  ["crash", 5],
] as const;

/** Hands forge a line that it refuses, and one that has others missing before it. */
function misbehave(wire: SimulatedWire): void {
  const first = wire.forge("scribe", { subject: "first", after: "nothing" });
  const head = { seq: first.message.seq ?? 1, id: first.message.id };
  const refs = Array.from({ length: 65 }, (_, n) => `docs/${n}.md`);
  const refused = wire.forge("scribe", { subject: "too many", refs, after: head });
  const text = ({ line }: typeof first): string => `${Buffer.from(line).toString("utf8")}\n`;
  wire.append(`${LOG}.jsonl`, text(first) + text(refused));
}

test("a refusal is told although we die between its verdict and the notice, wherever that is", async () => {
  // By the seed a write is torn at one place or another, between verdict and notice as well.
  for (const [fault, seed] of FAULTS) {
    for (let at = 1, isThrough = false; !isThrough; at += 1) {
      const wire = new SimulatedWire(["forge", "scribe"], { withFaults: true, seed });
      await wire.start("forge");
      misbehave(wire);
      const process = wire.process("forge");
      const before = process.operations;
      process.failAt(at, fault);
      await wire.attempt("forge", (agent) => agent.tick());
      isThrough = process.operations - before < at;
      process.heal();
      if (!wire.isUp("forge")) await wire.start("forge");
      // The next attempt is made when it is due.
      await wire.pass(40_000);
      const notices = await wire.agent("forge").view("notices", undefined);
      const told = notices.filter(({ cause }) => cause === "too_many_refs");
      expect(told, `${fault} at operation ${at}, seed ${seed}`).toHaveLength(1);
    }
  }
});
