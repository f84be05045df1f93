import { beforeEach, expect, test } from "vitest";
import { SimulatedWire } from "../support/scenes/simulated-wire.ts";

// Whoever may write into an author's log fills it with lines that are no messages.

let wire: SimulatedWire;
beforeEach(() => {
  wire = new SimulatedWire(["forge", "scribe"]);
});

test.each([
  ["letters", "a\n", 1],
  // What an owner may cost a day is used up after 20,000 of them, and 1,000 a minute are read from then on.
  ["objects", "{}\n", 32],
])("what is behind 50,000 lines of junk, %s, is read by itself", async (_what, junk, minutes) => {
  await wire.start("forge");
  wire.append("scribe_to_forge.jsonl", junk.repeat(50_000));
  const { line } = wire.forge("scribe", {
    subject: "behind it",
    after: "nothing",
  });
  wire.append("scribe_to_forge.jsonl", `${Buffer.from(line).toString("utf8")}\n`);
  await wire.pass(minutes * 60_000);
  const inbox = wire.read(wire.agent("forge").place.paths.inbox);
  expect(inbox).toContain("behind it");
});
