import { afterEach, beforeEach, expect, test } from "vitest";
import { SimulatedWire } from "../support/scenes/simulated-wire.ts";

// Whoever may write into an author's log fills it with lines that are no messages.

let wire: SimulatedWire;
beforeEach(() => {
  wire = new SimulatedWire(["forge", "scribe"]);
});
afterEach(async () => wire.rest());

test.each([
  ["letters", "a\n", 50_000],
  ["objects", "{}\n", 50_000],
])("what is behind junk of %s is read in the same round", async (_what, junk, count) => {
  await wire.start("forge");
  wire.append("scribe_to_forge.jsonl", junk.repeat(count));
  const { line } = wire.forge("scribe", "scribe_to_forge", {
    subject: "behind it",
    after: "nothing",
  });
  wire.append("scribe_to_forge.jsonl", `${Buffer.from(line).toString("utf8")}\n`);
  await wire.agent("forge").tick();
  const inbox = wire.read(wire.agent("forge").place.paths.inbox);
  expect(inbox).toContain("behind it");
});
