import { expect, test } from "vitest";
import { StorageError } from "../../src/storage/disk/disk.ts";
import { ignored, raise, resumed } from "../support/scenes/incident-scene.ts";
import { checkedScenes } from "../support/scenes/scene-checks.ts";
import type { SceneOptions, SimulatedWire } from "../support/scenes/simulated-wire.ts";

const sceneOf = checkedScenes("replay and audit");

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

async function pair(options: SceneOptions = {}): Promise<SimulatedWire> {
  const wire = sceneOf(["forge", "scribe"], options);
  await wire.start();
  return wire;
}

async function isSafe(wire: SimulatedWire, handle: string): Promise<boolean> {
  return (await wire.outcome(handle)).safeMode !== null;
}

test("a SAFE_MODE sign that we may not take down is left to its owner, and told once", async () => {
  const wire = await pair();
  await ignored(wire, "forge", "scribe", "high");
  await wire.pass(15 * MINUTE);
  expect(wire.read("SAFE_MODE")).toContain("scribe did not ack");
  const { safeMode } = await wire.outcome("forge");
  const tried = { forge: 0, scribe: 0 };
  for (const handle of ["forge", "scribe"] as const) {
    const process = wire.process(handle);
    const remove = process.remove.bind(process);
    process.remove = (path) => {
      if (!path.endsWith("/SAFE_MODE")) return remove(path);
      tried[handle] += 1;
      throw new StorageError("denied", path, "permission denied", { hint: "simulated" });
    };
  }
  await wire.send("forge", {
    to: ["scribe"],
    type: "incident",
    subject: "resumed",
    body: { resumes: safeMode?.escalations ?? [], severity: "low", reason: "talked on the phone" },
  });
  await wire.pass(5 * MINUTE);
  expect(await isSafe(wire, "forge")).toBe(false);
  await say(wire, "forge", "scribe");
  expect(tried).toEqual({ forge: 1, scribe: 1 });
  expect(wire.read("SAFE_MODE")).toContain("scribe did not ack");
});

function say(wire: SimulatedWire, from: string, to: string): Promise<string> {
  return wire.send(from, { to: [to], type: "feedback", subject: "hi", body: "x" });
}

test("a high incident that is read and not acked leads to safe mode, and resume lifts it", async () => {
  const wire = await pair();
  await ignored(wire, "forge", "scribe", "high");
  await wire.pass(15 * MINUTE);
  expect(wire.transcript()).toMatchInlineSnapshot(`
    "0:00:00 forge → scribe incident "main is broken"
    0:10:14 forge → scribe incident "no answer""
  `);
  expect(await isSafe(wire, "forge")).toBe(true);
  expect(await isSafe(wire, "scribe")).toBe(true);
  expect(wire.read("SAFE_MODE")).toContain("scribe did not ack");
  await expect(say(wire, "forge", "scribe")).rejects.toMatchObject({
    code: "safe_mode",
    exitCode: 4,
  });
  await wire.expectReplayAndAuditEqualLive("forge");
  await wire.expectReplayAndAuditEqualLive("scribe");

  await resumed(wire);
  await wire.pass(5 * SECOND);
  expect(await isSafe(wire, "scribe")).toBe(false);
  await say(wire, "scribe", "forge");
  await wire.expectReplayAndAuditEqualLive("scribe");
});

test("a resume of another agent lifts it for one agent alone", async () => {
  const wire = await pair();
  await ignored(wire, "forge", "scribe", "critical");
  await wire.pass(15 * MINUTE);
  const { safeMode } = await wire.outcome("scribe");
  await wire.send("scribe", {
    to: ["forge"],
    type: "incident",
    subject: "resumed here",
    body: { resumes: safeMode?.escalations ?? [], severity: "low", reason: "operator" },
  });
  await wire.pass(5 * SECOND);
  expect(await isSafe(wire, "scribe")).toBe(false);
  expect(await isSafe(wire, "forge")).toBe(true);
  await wire.expectReplayAndAuditEqualLive("scribe");
});

test("an incident that is acked in time ends there", async () => {
  const wire = await pair();
  const id = await raise(wire, "forge", "scribe", "high");
  await wire.pass(5 * SECOND);
  const { correlation_id: correlationId, place } = await wire
    .agent("scribe")
    .view("resolve_id", { id });
  await wire.send("scribe", {
    to: ["forge"],
    type: "ack",
    subject: "on it",
    body: { about: place },
    correlationId,
  });
  await wire.pass(15 * MINUTE);
  expect(await isSafe(wire, "forge")).toBe(false);
  expect((await wire.outcome("forge")).incidents).toMatchObject([{ status: "acked" }]);
  expect(wire.lines("incident_log.jsonl")).toHaveLength(2);
  await wire.expectReplayAndAuditEqualLive("forge");
  await wire.expectReplayAndAuditEqualLive("scribe");
});

test("low severity does not escalate", async () => {
  const wire = await pair();
  await ignored(wire, "forge", "scribe", "low");
  await wire.pass(15 * MINUTE);
  expect((await wire.outcome("forge")).incidents).toMatchObject([{ status: "open" }]);
  expect(await isSafe(wire, "forge")).toBe(false);
  await wire.expectReplayAndAuditEqualLive("scribe");
});

test("not covered: the operator is told, nothing escalates", async () => {
  const wire = await pair();
  await wire.stop("scribe");
  await raise(wire, "forge", "scribe", "critical");
  await wire.pass(2 * HOUR);
  expect((await wire.outcome("forge")).incidents).toMatchObject([{ status: "open" }]);
  expect(await isSafe(wire, "forge")).toBe(false);
  const causes = (await wire.agent("forge").view("notices", undefined)).map(({ cause }) => cause);
  expect(causes).toEqual(["incident_not_covered", "peer_silent"]);
});

test("an author who is only VERIFIED for us starts no safe mode here", async () => {
  const wire = await pair({ tiers: { scribe: { forge: "VERIFIED" } } });
  await ignored(wire, "forge", "scribe", "critical");
  await wire.pass(15 * MINUTE);
  expect(await isSafe(wire, "forge")).toBe(true);
  expect(await isSafe(wire, "scribe")).toBe(false);
  await say(wire, "scribe", "forge");
});

test("a SAFE_MODE file that somebody puts there starts nothing, and the operator is told", async () => {
  const wire = await pair();
  wire.append("SAFE_MODE", "stop all work\n");
  await wire.pass(MINUTE);
  await say(wire, "forge", "scribe");
  const causes = (await wire.agent("forge").view("notices", undefined)).map(({ cause }) => cause);
  expect(causes).toEqual(["safe_mode_sign"]);
});
