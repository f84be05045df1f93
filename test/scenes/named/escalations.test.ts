import { expect, test } from "vitest";
import { HOUR, MINUTE, SECOND } from "../../support/scripts/proposal-scene.ts";
import { checkedScenes } from "../../support/scenes/scene-checks.ts";
import type { Outcome, SimulatedWire } from "../../support/scenes/simulated-wire.ts";

// It holds live, and once more at its end: by a new store, and by an audit of the carriers alone.
const sceneOf = checkedScenes("replay and audit");

async function safeModeOf(wire: SimulatedWire, handle: string): Promise<Outcome["safeMode"]> {
  return (await wire.outcome(handle)).safeMode;
}

/** Forge raises an incident; the other agent reads it and does not ack it. */
async function ignored(wire: SimulatedWire, subject: string): Promise<void> {
  await wire.send("forge", {
    to: ["scribe"],
    type: "incident",
    subject,
    body: { severity: "high" },
    ackRequired: true,
  });
  await wire.agent("scribe").markRead("all");
  await wire.pass(45 * MINUTE);
}

/** Forge's operator ends the safe mode that there is. */
async function resume(wire: SimulatedWire): Promise<void> {
  const safe = await safeModeOf(wire, "forge");
  await wire.send("forge", {
    to: ["scribe"],
    type: "incident",
    subject: "resumed",
    body: { resumes: safe?.escalations, severity: "low", reason: "talked" },
  });
  await wire.pass(5 * SECOND);
}

test("two escalations within 24 hours: the second starts no safe mode, and one after the day does", async () => {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start();
  await ignored(wire, "first");
  const safe = await safeModeOf(wire, "scribe");
  expect(safe).toMatchObject({ author: "forge", of: "scribe" });
  expect(await safeModeOf(wire, "forge")).toEqual(safe);
  await resume(wire);
  expect(await safeModeOf(wire, "scribe")).toBeNull();

  await wire.pass(HOUR);
  await ignored(wire, "second");
  expect((await wire.outcome("scribe")).incidents).toMatchObject([
    { status: "escalated" },
    { status: "escalated" },
  ]);
  for (const handle of wire.roster) expect(await safeModeOf(wire, handle)).toBeNull();
  // What did not count starts no new day: this one is 24 hours after the first alone.
  wire.suspend(22 * HOUR);
  await wire.pass(HOUR);
  await ignored(wire, "third");
  const again = await safeModeOf(wire, "scribe");
  expect(again).toMatchObject({ author: "forge", of: "scribe" });
  expect(again?.escalation_id).not.toBe(safe?.escalation_id);
  expect(await safeModeOf(wire, "forge")).toEqual(again);
});
