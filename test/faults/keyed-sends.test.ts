import { expect, test } from "vitest";
import type { SendKey } from "../../src/store/sends.ts";
import { PEER, VICTIM } from "../support/disk/fault-points.ts";
import {
  faultScene,
  recoverAndCheck,
  say,
  type FaultScene,
} from "../support/scenes/fault-scene.ts";

const key: SendKey = { name: "the only one", digest: "a".repeat(64) };

/** Everything that one call does to the disk fails, or is the last thing that the process does. */
const FAULTS = ["crash", "EIO", "ENOSPC"] as const;

function sendOnce({ wire }: FaultScene) {
  return wire.attempt(VICTIM, (agent) => agent.sendOnce([say("only once")], key));
}

function found({ wire }: FaultScene): number {
  const lines = wire.lines(`${VICTIM}_to_${PEER}.jsonl`);
  // A failed append leaves a piece of the line before the whole one.
  return lines.filter((line) => line.endsWith("}") && line.includes("only once")).length;
}

test.each(FAULTS)("a call that is repeated with its key is one line: %s", async (fault) => {
  for (let at = 1, isThrough = false; !isThrough; at += 1) {
    const scene = await faultScene([VICTIM, PEER]);
    const process = scene.wire.process(VICTIM);
    const before = process.operations;
    process.failAt(at, fault);
    const first = await sendOnce(scene);
    isThrough = first !== undefined && process.operations - before < at;
    process.heal();
    await recoverAndCheck(scene);
    const answer = await sendOnce(scene);
    expect(answer?.messages, `${fault} at operation ${at}`).toHaveLength(1);
    // What was promised is what is answered again.
    if (first !== undefined) {
      expect(answer).toMatchObject({ messages: first.messages, repeated: true });
    }
    await recoverAndCheck(scene);
    expect(await sendOnce(scene)).toMatchObject({ messages: answer?.messages, repeated: true });
    expect(found(scene), `${fault} at operation ${at}`).toBe(1);
  }
});

test("a power cut right after a keyed send, and the call again: one line", async () => {
  const scene = await faultScene([VICTIM, PEER]);
  const first = await sendOnce(scene);
  scene.wire.powerCut("drop");
  await recoverAndCheck(scene);
  expect(await sendOnce(scene)).toMatchObject({ messages: first?.messages, repeated: true });
  expect(found(scene)).toBe(1);
});

test("a key is no leave to say something else: it is refused, and nothing is sent", async () => {
  const scene = await faultScene([VICTIM, PEER]);
  await sendOnce(scene);
  const agent = scene.wire.agent(VICTIM);
  const other = { ...key, digest: "b".repeat(64) };
  await expect(agent.sendOnce([say("something else")], other)).rejects.toThrow(
    'the key "the only one" was used for something else',
  );
  await expect(agent.answered(other)).rejects.toThrow("was used for something else");
  expect(await agent.answered(key)).toMatchObject({ outcome: "sent", repeated: true });
  expect(await agent.answered({ ...key, name: "unused" })).toBeNull();
  expect(scene.wire.lines(`${VICTIM}_to_${PEER}.jsonl`).join("")).not.toContain("something else");
});
