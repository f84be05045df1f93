import { expect, test } from "vitest";
import { fromPlain } from "../../../src/wire/json/json.ts";
import { SimulatedWire } from "../../support/scenes/simulated-wire.ts";

/** Some eight turns of a log. */
const MESSAGES = 1_000;
const BODY = "x".repeat(2_000);

/** How many turns of the loop others had while that was done. */
async function turnsOfOthers(act: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  const again = (): void => {
    turns += 1;
    next = setImmediate(again);
  };
  let next = setImmediate(again);
  await act();
  clearImmediate(next);
  return turns;
}

test("other work of the process goes on between the turns of a long log, and within each", async () => {
  const wire = new SimulatedWire(["forge", "scribe"]);
  await wire.start("scribe");
  const draft = { to: ["forge"], type: "feedback" as const, subject: "s", body: fromPlain(BODY) };
  await wire.agent("scribe").send(Array.from({ length: MESSAGES }, () => [draft]));
  await wire.settle();
  await wire.begin("forge", wire.disk.process());
  const turns = await turnsOfOthers(async () => {
    while (await wire.agent("forge").tick());
  });
  const { unread } = await wire.agent("forge").view("status", undefined);
  expect(unread).toBe(MESSAGES);
  expect(turns).toBeGreaterThanOrEqual(16);
});
