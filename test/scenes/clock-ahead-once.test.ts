import { expect, test } from "vitest";
import { commandIn } from "../support/scenes/scene-cli.ts";
import { checkedScenes } from "../support/scenes/scene-checks.ts";
import type { SimulatedWire } from "../support/scenes/simulated-wire.ts";

// A sender whose clock was two hours ahead for a while.

const sceneOf = checkedScenes("replay");

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

async function inbox(wire: SimulatedWire): Promise<string[]> {
  return (await wire.agent("forge").view("inbox", {})).messages.map(({ subject }) => subject);
}

async function tell(wire: SimulatedWire, subject: string): Promise<void> {
  await wire.send("scribe", { to: ["forge"], type: "feedback", subject, body: "x" });
}

/** Scribe's clock is ahead while it says one thing; forge's daemon reads it then. */
async function wasAhead(): Promise<SimulatedWire> {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start("forge");
  wire.setClock("scribe", 2 * HOUR);
  await wire.start("scribe");
  await tell(wire, "wrong");
  await wire.pass(MINUTE);
  expect(await inbox(wire)).toEqual([]);
  return wire;
}

test("its right lines are delivered at once, and what it dated wrong with them, marked", async () => {
  const wire = await wasAhead();
  await wire.stop("scribe");
  wire.setClock("scribe", 0);
  await wire.start("scribe");
  await tell(wire, "right");
  await wire.pass(MINUTE);
  expect(await inbox(wire)).toEqual(["wrong", "right"]);
  const shown = await commandIn(wire, "forge", "inbox");
  expect(shown.match(/\[[^\]]*\]/g)).toEqual(["[unread, dated 2 h ahead]", "[unread]"]);
  expect(await wire.agent("forge").view("notices", undefined)).toEqual([]);
  expect((await wire.agent("forge").view("peers", undefined))[0]?.waits).toEqual([]);
  await wire.expectReplayEqualsLive("forge");
  expect(await inbox(wire)).toEqual(["wrong", "right"]);
});

test("while it is wrong, the operator sees what waits, and may let it pass", async () => {
  const wire = await wasAhead();
  const { holds } = await wire.agent("forge").view("holds", { peer: "scribe" });
  expect(holds).toMatchObject([
    { place: ["scribe", expect.any(Number), expect.any(String)], cause: "clock_skew" },
  ]);
  const troubles = await wire.agent("forge").view("troubles", undefined);
  expect(troubles.map(({ end }) => end)).toEqual([
    expect.stringContaining("to deliver what waits as it is dated: deaddrop peers reset scribe"),
  ]);
  await wire.agent("forge").resetPeer("scribe");
  await wire.pass(SECOND);
  expect(await inbox(wire)).toEqual(["wrong"]);
  await wire.expectReplayEqualsLive("forge");
  expect(await inbox(wire)).toEqual(["wrong"]);
});
