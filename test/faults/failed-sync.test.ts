import { expect, test } from "vitest";
import { agree, PEER, VICTIM } from "../support/disk/fault-points.ts";
import { recoverAndCheck, faultScene, SECOND } from "../support/scenes/fault-scene.ts";

// A failed sync loses its data although it can still be read, and a later one succeeds. What was
// left so, because it could not be cut off again either, must be written again before it counts.

/** Whole entries of decisions.jsonl. */
const decisions = (lines: readonly string[]): number =>
  lines.filter((line) => line.startsWith("{") && line.endsWith("}")).length;

test("a decision that was read before its sync failed is recorded again after the power cut", async () => {
  let isLost = false;
  for (let at = 1; at < 70 && !isLost; at += 1) {
    const scene = await faultScene([VICTIM, PEER]);
    const { wire } = scene;
    await agree(scene);
    const process = wire.process(VICTIM);
    for (const later of [0, 1]) process.failAt(at + later, "EIO");
    process.failAt(at + 2, "crash");
    await wire.attempt(VICTIM, (agent) => agent.tick());
    process.heal();
    // Both sides come to know the entry that stands there, and note that it is recorded.
    if (!wire.isUp(VICTIM)) await wire.start(VICTIM);
    await wire.pass(60 * SECOND);
    expect(decisions(wire.lines("decisions.jsonl")), `failed at ${at}`).toBe(1);
    wire.powerCut("drop");
    isLost ||= decisions(wire.lines("decisions.jsonl")) === 0;
    // The power took lines that were read before they were synced.
    await recoverAndCheck(scene, ["log_behind"]);
    expect(decisions(wire.lines("decisions.jsonl")), `failed at ${at}`).toBe(1);
  }
  expect(isLost, "the case came up").toBe(true);
});
