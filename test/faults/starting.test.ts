import { expect, test } from "vitest";
import {
  agree,
  diesTwice,
  operationsOf,
  PEER,
  testFaults,
  tick,
  VICTIM,
  type Work,
} from "../support/disk/fault-points.ts";
import { pointsOf } from "../support/amounts.ts";
import { incident, faultScene, say, send, up } from "../support/scenes/fault-scene.ts";
import { PromiseChecker } from "../support/scenes/promise-checker.ts";

const START: Work = {
  name: "starting after a power cut",
  isLong: true,
  prepare: async (scene) => {
    await agree(scene);
    await tick(scene);
    await send(scene, VICTIM, say("one"));
    await send(scene, PEER, say("two"), incident(VICTIM));
    await tick(scene);
    scene.checker.look();
    scene.wire.powerCut("tear");
    await up(scene, PEER);
    await send(scene, PEER, say("three"));
    await scene.wire.attempt(PEER, (agent) => agent.tick());
    scene.wire.give(VICTIM, scene.wire.disk.process());
  },
  run: async (scene) => {
    await up(scene, VICTIM, scene.wire.process(VICTIM));
    await tick(scene);
  },
};

testFaults([START]);

test("recovery is killed at each operation, and so is the recovery from that", async () => {
  const operations = await operationsOf(START);
  for (const at of pointsOf(operations)) {
    const again = 1 + ((at * 37) % operations);
    await diesTwice(START, at, again, (["drop", "tear", "keep"] as const)[at % 3] ?? "drop");
  }
});

test("a start that fails at any operation leaves no file open", async () => {
  const { wire } = await faultScene([VICTIM, PEER]);
  wire.kill(VICTIM);
  for (let at = 1; ; at += 1) {
    const process = wire.disk.process();
    process.failAt(at, "EIO");
    const isUp = await up({ wire, checker: new PromiseChecker(wire) }, VICTIM, process);
    if (isUp) break;
    expect(process.openFiles, `operation ${at}`).toBe(0);
  }
});
