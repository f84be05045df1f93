import { expect, test } from "vitest";
import { PEER, VICTIM } from "../support/disk/fault-points.ts";
import {
  recoverAndCheck,
  faultScene,
  say,
  SECOND,
  send,
  type FaultScene,
} from "../support/scenes/fault-scene.ts";

async function delivered(...subjects: readonly string[]): Promise<FaultScene> {
  const scene = await faultScene([VICTIM, PEER]);
  for (const subject of subjects) await send(scene, PEER, say(subject));
  await scene.wire.pass(3 * SECOND);
  return scene;
}

function subjects(text: string): string[] {
  const lines = text.split("\n").filter((line) => line !== "");
  return lines.map((line) => (JSON.parse(line) as { subject: string }).subject);
}

test("a deleted inbox is written again in the next round, without another line", async () => {
  const scene = await delivered("one", "two");
  const { inbox } = scene.wire.paths(VICTIM);
  scene.wire.disk.process().remove(inbox);
  await scene.wire.settle();
  expect(subjects(scene.wire.read(inbox))).toEqual(["before", "one", "two"]);
  await recoverAndCheck(scene);
});

test("a deleted inbox is written again at the next start, without another line", async () => {
  const scene = await delivered("one", "two");
  const { inbox } = scene.wire.paths(VICTIM);
  scene.wire.kill(VICTIM);
  scene.wire.disk.process().remove(inbox);
  await scene.wire.begin(VICTIM, scene.wire.disk.process());
  await scene.wire.settle();
  expect(subjects(scene.wire.read(inbox))).toEqual(["before", "one", "two"]);
  await recoverAndCheck(scene);
});
