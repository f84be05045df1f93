import { expect, test } from "vitest";
import { fromPlain } from "../../../src/wire/json/json.ts";
import { ack, HOUR, MINUTE, SECOND } from "../../support/scripts/proposal-scene.ts";
import { checkedScenes } from "../../support/scenes/scene-checks.ts";
import type { Outcome, SimulatedWire } from "../../support/scenes/simulated-wire.ts";

// Each of these holds live, and by itself once more at its end: replayed without a checkpoint, and
// by an audit of the logs alone.
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
    body: { resumes: safe?.escalation_id, severity: "low", reason: "talked" },
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

/** Forge's member writes an incident and, in the same millisecond, that scribe did not ack it. */
async function inOneBreath(): Promise<{ wire: SimulatedWire; id: string }> {
  const wire = sceneOf(["forge", "quill", "scribe"], { layout: "outbox" });
  await wire.start("quill", "scribe");
  const incident = wire.forge("forge", "forge", {
    to: ["scribe"],
    type: "incident",
    subject: "main is broken",
    body: fromPlain({ severity: "critical" }),
    ackRequired: true,
  });
  const escalation = wire.forge("forge", "forge", {
    to: ["scribe"],
    type: "incident",
    subject: "not acked",
    body: fromPlain({ escalates: incident.id, of: "scribe", severity: "critical" }),
    correlationId: incident.message.correlationId,
    after: { seq: 1, id: incident.id },
  });
  expect(escalation.message.timestampMs).toBe(incident.message.timestampMs);
  const lines = [incident, escalation].map(({ line }) => `${Buffer.from(line).toString("utf8")}\n`);
  wire.append("outbox/forge.jsonl", lines.join(""));
  await wire.settle();
  return { wire, id: incident.id };
}

const LISTENERS = ["quill", "scribe"];

test("an escalation in the same breath as its incident: the addressee still has its cadence, and an ack in it ends the matter", async () => {
  const { wire, id } = await inOneBreath();
  await wire.pass(80 * SECOND);
  for (const handle of LISTENERS) expect(await safeModeOf(wire, handle), handle).toBeNull();
  await ack(wire, "scribe", id);
  await wire.pass(HOUR);
  for (const handle of LISTENERS) {
    expect(await safeModeOf(wire, handle), handle).toBeNull();
    const { incidents } = await wire.outcome(handle);
    expect(incidents).toMatchObject([{ addressees: [{ handle: "scribe", acked: true }] }]);
  }
});

test("an escalation in the same breath as its incident: when ten minutes are over without an ack, safe mode begins with the second beat", async () => {
  const { wire } = await inOneBreath();
  await wire.agent("scribe").markRead("all");
  await wire.pass(10 * MINUTE);
  for (const handle of LISTENERS) expect(await safeModeOf(wire, handle), handle).toBeNull();
  await wire.pass(10 * MINUTE);
  const safe = await safeModeOf(wire, "quill");
  expect(safe).toMatchObject({ author: "forge", of: "scribe" });
  expect(await safeModeOf(wire, "scribe")).toEqual(safe);
  const beats = wire.lines("outbox/scribe.jsonl").map(
    (line) =>
      JSON.parse(line) as {
        timestamp: string;
        body: { next_eta: string; heads?: { forge?: { lines: number; read_lines: number } } };
      },
  );
  const reading = beats.findIndex(({ body }) => body.heads?.forge?.read_lines === 2);
  const dueMs = Date.parse(beats[reading]?.timestamp ?? "") + 10 * MINUTE;
  const second = beats.slice(reading + 1).find(({ timestamp }) => Date.parse(timestamp) >= dueMs);
  expect(Date.parse(safe?.since ?? "")).toBe(Date.parse(second?.timestamp ?? ""));
});
