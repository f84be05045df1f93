import { expect, test } from "vitest";
import type { Logger } from "../../src/agent/session/world.ts";
import { silentLogger } from "../../src/agent/session/world.ts";
import { ignored, resumed } from "../support/scenes/incident-scene.ts";
import { checkedScenes } from "../support/scenes/scene-checks.ts";
import type { SimulatedWire } from "../support/scenes/simulated-wire.ts";

// What an operator who reads the daemon's log in the morning finds there.

const sceneOf = checkedScenes("replay");
const MINUTE = 60_000;

/** The warnings of forge's daemon, which runs alone when `wire` is told to. */
function logged() {
  const lines: string[] = [];
  const log: Logger = {
    ...silentLogger,
    warn: (facts, message) => {
      const { end } = facts as { end?: string };
      lines.push(end === undefined ? message : `${message} → ${end}`);
    },
  };
  return { log, lines };
}

async function safeModeBegins(wire: SimulatedWire): Promise<void> {
  await ignored(wire);
  await wire.pass(30 * MINUTE);
}

test("an escalation, safe mode, its end, and that sending goes on are each named once", async () => {
  const { log, lines } = logged();
  const wire = sceneOf(["forge", "scribe"], { log });
  await wire.start();
  await safeModeBegins(wire);
  const escalated = "an incident of forge is escalated: scribe did not ack it";
  // Both daemons of the scene write there.
  expect(lines.filter((line) => line === escalated)).toHaveLength(2);
  expect(lines.filter((line) => line.startsWith("safe mode begins")).toSorted()).toEqual([
    expect.stringMatching(
      /^safe mode begins: scribe did not ack .* → deaddrop incident ack \w{10}$/,
    ),
    expect.stringMatching(/^safe mode begins: .* → deaddrop incident resolve \w{10}$/),
  ]);
  await wire.pass(30 * MINUTE);
  const before = lines.length;
  expect(lines.filter((line) => line.startsWith("safe mode begins"))).toHaveLength(2);

  await resumed(wire);
  await wire.pass(MINUTE);
  expect(lines.slice(before)).toEqual([
    ...["safe mode ends", "sending goes on"],
    ...["safe mode ends", "sending goes on"],
  ]);
});

test("a log of ours that is closed to us, and its end, are each named once", async () => {
  const { log, lines } = logged();
  const wire = sceneOf(["forge", "scribe"], { log });
  await wire.start("forge");
  await wire.send("forge", { to: ["scribe"], type: "feedback", subject: "one", body: "x" });
  const other = wire.forge("forge", "forge_to_scribe", { subject: "not ours", to: ["scribe"] });
  wire.append("forge_to_scribe.jsonl", `${Buffer.from(other.line).toString("utf8")}\n`);
  await wire.pass(10 * MINUTE);
  const stops = () => lines.filter((line) => /sending/.test(line));
  expect(stops()).toEqual([
    expect.stringMatching(/^a stop of sending begins: .* → deaddrop reclaim$/),
  ]);
  await wire.agent("forge").reclaim();
  await wire.pass(MINUTE);
  expect(stops().slice(1)).toEqual(["a stop of sending ends", "sending goes on"]);
});
