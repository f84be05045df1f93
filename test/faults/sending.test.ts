import { expect, test } from "vitest";
import { PEER, testFaults, tick, VICTIM } from "../support/disk/fault-points.ts";
import { recoverAndCheck, faultScene, say, send } from "../support/scenes/fault-scene.ts";

testFaults([
  {
    name: "sending one line",
    run: async (scene) => {
      await send(scene, VICTIM, say("one"));
      await tick(scene);
    },
  },
  {
    name: "sending a group, and one more",
    run: async (scene) => {
      await send(scene, VICTIM, say("one"), say("two"));
      await send(scene, VICTIM, say("three"));
      await tick(scene);
    },
  },
]);

test("a disk that is full for a while, however long, makes us no stranger to our own words", async () => {
  for (let lasts = 1; lasts <= 16; lasts += 1) {
    const scene = await faultScene([VICTIM, PEER]);
    await send(scene, VICTIM, say("one"), say("two"));
    for (let later = 1; later <= lasts; later += 1) {
      scene.wire.process(VICTIM).failAt(later, "ENOSPC");
    }
    await send(scene, VICTIM, say("in trouble"));
    await send(scene, VICTIM, say("still in trouble"));
    await recoverAndCheck(scene);
  }
});

test("a command that sends says so when the line is promised, whatever fails afterwards", async () => {
  for (let at = 1, isThrough = false; !isThrough; at += 1) {
    const scene = await faultScene([VICTIM, PEER]);
    const { wire } = scene;
    wire.kill(VICTIM);
    const process = wire.disk.process();
    const agent = wire.command(VICTIM, process);
    const before = process.operations;
    process.failAt(at, "EIO");
    const isSent = await agent.send([[say("only once")]]).then(
      () => true,
      () => false,
    );
    isThrough = process.operations - before < at;
    process.heal();
    await recoverAndCheck(scene);
    // A failed append leaves a piece of the line before the whole one.
    const whole = wire.lines(wire.carrier(VICTIM)).filter((line) => line.endsWith("}"));
    const found = whole.filter((line) => line.includes("only once"));
    expect(found.length, `failed at operation ${at}`).toBe(isSent ? 1 : 0);
  }
});
