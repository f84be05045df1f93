import { expect, test } from "vitest";
import type { Composed } from "../../src/wire/compose.ts";
import { nextPoint } from "../support/amounts.ts";
import { SimulatedWire } from "../support/scenes/simulated-wire.ts";
import {
  ack,
  recoverAndCheck,
  incident,
  MINUTE,
  proposal,
  faultScene,
  say,
  SECOND,
  send,
  up,
  type FaultScene,
} from "../support/scenes/fault-scene.ts";

// What an agent keeps for itself is lost, and a peer's file is damaged. Spec 4.1, 4.8.

const PAIR = ["forge", "scribe"];
const FILE = "scribe_to_forge.jsonl";

/** Some of everything has happened between forge and scribe. */
async function busyScene(): Promise<FaultScene> {
  const scene = await faultScene(PAIR);
  const { wire } = scene;
  const id = await send(scene, "forge", proposal("scribe", "Use tabs"));
  await wire.pass(5 * SECOND);
  await ack(scene, "scribe", id ?? "");
  await send(scene, "scribe", say("one"), incident("forge"));
  await wire.pass(5 * SECOND);
  await send(scene, "scribe", say("two"));
  await send(scene, "forge", say("three"));
  await wire.pass(5 * SECOND);
  return scene;
}

const textOf = (...lines: readonly Composed[]): string =>
  lines.map(({ line }) => `${Buffer.from(line).toString("utf8")}\n`).join("");

for (const lost of ["store", "inbox"]) {
  test(`the ${lost} is lost: all of it is there again, nothing twice`, async () => {
    const scene = await busyScene();
    const { wire, checker } = scene;
    wire.kill("forge");
    if (lost === "store") wire.loseStore("forge");
    else wire.disk.process().remove(wire.paths("forge").inbox);
    await recoverAndCheck(scene);
    await wire.expectReplayAndAuditEqualLive("forge");
    await checker.check();
  });
}

test("after its store was lost the daemon dies at each operation: nothing comes twice", async () => {
  for (let at = 1; ; at = nextPoint(at)) {
    const scene = await busyScene();
    const { wire } = scene;
    wire.kill("forge");
    wire.loseStore("forge");
    const process = wire.disk.process();
    process.failAt(at, "crash");
    if (await up(scene, "forge", process)) await wire.attempt("forge", (agent) => agent.tick());
    const died = !wire.isUp("forge");
    process.heal();
    await recoverAndCheck(scene);
    if (!died) return;
  }
});

test("what is sent right after a restart is dated after all that was sent before", async () => {
  const scene = await faultScene(PAIR);
  await send(scene, "forge", say("one"), say("two"));
  scene.wire.kill("forge");
  await up(scene, "forge");
  await send(scene, "forge", say("three"));
  await recoverAndCheck(scene);
  const stamps = scene.wire
    .lines("forge_to_scribe.jsonl")
    .filter((line) => line.includes('"seq":'))
    .map((line) => (JSON.parse(line) as { timestamp: string }).timestamp);
  expect(stamps).toEqual([...new Set(stamps)].toSorted());
});

test("an inbox that is made again holds no bytes that were never verified", async () => {
  const wire = new SimulatedWire(PAIR);
  await wire.start("forge");
  const honest = textOf(wire.forge("scribe", { subject: "honest" }));
  wire.append(FILE, honest);
  await wire.settle();
  wire.kill("forge");
  wire.disk.process().remove(wire.paths("forge").inbox);
  wire.replace(FILE, honest.replace("honest", "forged"));
  await wire.start("forge");
  expect(wire.read(wire.paths("forge").inbox)).toBe(honest);
});

test("a line that a power cut left as a hole is waited for, and told as nothing else", async () => {
  const scene = await faultScene(PAIR);
  const { wire } = scene;
  wire.kill("forge");
  const id = await send(scene, "scribe", say("one"));
  wire.kill("scribe");
  const whole = wire.read(FILE);
  wire.replace(FILE, `${whole.slice(0, -300)}${"\0".repeat(200)}${whole.slice(-100)}`);
  await up(scene, "forge");
  await wire.pass(2 * MINUTE);
  wire.replace(FILE, whole);
  await recoverAndCheck(scene);
  const { receipts } = await wire.agent("scribe").view("receipt", { event_id: id ?? "" });
  expect(receipts).not.toContainEqual(expect.objectContaining({ state: "refused" }));
});

test("a fork is told once and is in incident_log.jsonl at most once, wherever we die", async () => {
  for (let at = 1; ; at += 1) {
    const wire = new SimulatedWire(PAIR, { withFaults: true });
    await wire.start("forge");
    wire.append(FILE, textOf(wire.forge("scribe", {}), wire.forge("scribe", { subject: "other" })));
    wire.process("forge").failAt(at, "crash");
    await wire.attempt("forge", (agent) => agent.tick());
    const died = !wire.isUp("forge");
    wire.process("forge").heal();
    if (died) await wire.start("forge");
    await wire.pass(MINUTE);
    // A torn line is none.
    const whole = wire.lines("incident_log.jsonl").filter((line) => line.endsWith("}"));
    const told = whole.filter((line) => line.includes("log_forked"));
    expect(told.length, `died at operation ${at}`).toBeLessThanOrEqual(1);
    const notices = await wire.agent("forge").view("notices", undefined);
    const causes = notices.map(({ cause }) => cause).filter((cause) => cause === "log_forked");
    expect(causes, `died at operation ${at}`).toHaveLength(1);
    const peers = await wire.agent("forge").view("peers", undefined);
    expect(peers[0]?.held, `died at operation ${at}`).toBe(true);
    wire.close();
    if (!died) return;
  }
});
