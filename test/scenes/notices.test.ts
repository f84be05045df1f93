import { expect, test } from "vitest";
import { ack, MINUTE, propose, SECOND } from "../support/scripts/proposal-scene.ts";
import { commandIn } from "../support/scenes/scene-cli.ts";
import { checkedScenes } from "../support/scenes/scene-checks.ts";
import type { SimulatedWire } from "../support/scenes/simulated-wire.ts";

// What each kind says: test/agent/duties/agent-notices.test.ts.
const sceneOf = checkedScenes("replay and audit");

async function pair(): Promise<SimulatedWire> {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start();
  return wire;
}

test("status counts notices until they are marked read by their id, or with messages", async () => {
  const wire = await pair();
  const count = async (handle: string) =>
    (await wire.agent(handle).view("status", undefined)).notices;
  const id = await propose(wire, "forge", ["scribe"], "Use tabs");
  await wire.pass(5 * SECOND);
  await ack(wire, "scribe", id);
  await wire.pass(MINUTE);
  const [notice] = await wire.agent("forge").view("agent_notices", {});
  expect([await count("forge"), await count("scribe")]).toEqual([1, 1]);
  expect(await wire.agent("forge").markRead([notice?.id ?? ""])).toEqual({ read: 1 });
  expect(await wire.agent("forge").markRead([notice?.id ?? ""])).toEqual({ read: 0 });
  expect(await wire.agent("forge").view("agent_notices", { unread: true })).toEqual([]);
  await wire.agent("scribe").markRead("all");
  expect([await count("forge"), await count("scribe")]).toEqual([0, 0]);
});

test("what happened while no daemon ran is told by a command, and not once more by the daemon", async () => {
  const wire = await pair();
  const id = await propose(wire, "forge", ["scribe"], "Use tabs");
  await wire.pass(5 * SECOND);
  await wire.stop("scribe");
  await commandIn(wire, "forge", "correct", id, "--revert", "--body", "not now");
  const command = wire.command("scribe", wire.disk.process());
  const notices = await command.view("agent_notices", {});
  expect(notices).toMatchObject([{ kind: "ended", about: id }]);
  command.close();
  const heard = wire.heard.length;
  await wire.start("scribe");
  await wire.pass(MINUTE);
  expect(await wire.agent("scribe").view("agent_notices", {})).toEqual(notices);
  expect(wire.heard).toHaveLength(heard);
});
