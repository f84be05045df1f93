import { afterEach, expect, test } from "vitest";
import { ScriptedRound } from "../../collab/scripted-round.ts";
import { amount } from "../../support/amounts.ts";
import { BIN, killChildren, pause, start } from "../../support/processes/real-processes.ts";
import { randomFrom } from "../../support/random.ts";
import { isTimeUp, TIME_IS_UP } from "../../support/time-limit.ts";

// A command that is killed at any moment leaves a round that the next command goes on with.

afterEach(killChildren);

const ROUNDS = amount(40, 200);

test(`${ROUNDS} appends are killed: the next one goes on, and nothing is there twice`, async ({
  skip,
}) => {
  const random = randomFrom(20261123);
  const round = new ScriptedRound(2);
  await round.init();
  const env = { ...process.env, HOME: round.cwd };
  const at = ["collab", "append", "--folder", round.folder, "--participant", "bob"];
  const what = ["--event", "deliverable_drafted", "--reply-to", "1", "--role", "supporting"];
  const args = [BIN, ...at, ...what, "--doc", "deliverables/adr.md", "--summary", "again"];
  // Twice as long as one takes here, and then as long that half of them are killed before they write.
  const begunMs = performance.now();
  await start(process.execPath, args, { env }).ended;
  let lifeMs = 2 * (performance.now() - begunMs);
  let [taken, lost] = [0, 0];
  for (let done = 0; done < ROUNDS; done += 1) {
    skip(isTimeUp(), TIME_IS_UP);
    const before = round.lastSeq;
    const started = start(process.execPath, args, { env });
    await pause(random() * lifeMs);
    started.child.kill("SIGKILL");
    await started.ended;
    const after = round.lastSeq;
    expect(after - before).toBeLessThan(2);
    const isTaken = after > before;
    if (isTaken) taken += 1;
    else lost += 1;
    lifeMs *= isTaken ? 0.95 : 1.05;
    const next = await round.next("ann");
    expect(next.code).toBe(0);
    expect(next.stdout).toContain(`last event: seq ${after} `);
  }
  expect(Math.min(taken, lost)).toBeGreaterThan(0);
  expect(await round.validate()).toEqual({
    code: 0,
    stdout: "ACP validation passed\n",
    stderr: "",
  });
});
