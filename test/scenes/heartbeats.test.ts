import { expect, test } from "vitest";
import { checkedScenes } from "../support/scenes/scene-checks.ts";

const sceneOf = checkedScenes("replay and audit");

const MINUTE = 60_000;

test("idle heartbeats slow down from T1 to T2 to T3, and a message brings them back", async () => {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start();
  await wire.pass(50 * MINUTE);
  const tiers = tiersOf(wire.transcript({ beats: true }), "forge");
  expect(tiers).toEqual(["T1_active", "T2_idle", "T3_long_idle"]);

  await wire.send("scribe", { to: ["forge"], type: "feedback", subject: "hello", body: "x" });
  await wire.agent("forge").markRead("all");
  await wire.pass(2 * MINUTE);
  expect(tiersOf(wire.transcript({ beats: true }), "forge").at(-1)).toBe("T1_active");
  await wire.expectReplayAndAuditEqualLive("forge");
});

test("an hour of suspend yields one beat, not a burst", async () => {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start("forge");
  await wire.pass(5 * MINUTE);
  wire.transcript({ beats: true });
  wire.suspend(60 * MINUTE);
  await wire.settle();
  expect(wire.transcript({ beats: true }).split("\n")).toHaveLength(1);
});

test("unread mail keeps an agent at T1", async () => {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start();
  await wire.send("scribe", { to: ["forge"], type: "feedback", subject: "hello", body: "x" });
  await wire.pass(30 * MINUTE);
  expect(tiersOf(wire.transcript({ beats: true }), "forge")).toEqual(["T1_active"]);
});

/** The tiers that an agent's beats name, in order, each once. */
function tiersOf(transcript: string, handle: string): string[] {
  const rows = transcript.split("\n").filter((row) => row.includes(` ${handle} → `));
  return [...new Set(rows.flatMap((row) => /T\d_\w+/.exec(row)?.[0] ?? []))];
}
