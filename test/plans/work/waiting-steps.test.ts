import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import type { Client } from "../../../src/api/client.ts";
import { openClient } from "../../../src/client/open-client.ts";
import { stepRequest } from "../../../src/plans/coordinator/step-request.ts";
import { sendStep } from "../../../src/plans/run/step-messages.ts";
import { begunWork } from "../../../src/plans/work/begun-work.ts";
import { workPlans, type WorkEvent } from "../../../src/plans/work/work-plans.ts";
import { nodeDisk } from "../../../src/storage/disk/node-disk.ts";
import { makeWire, removeWires } from "../../support/processes/live-wire.ts";
import { PLAN_ADAPTER } from "../../support/processes/plan-team.ts";
import { pause, until } from "../../support/processes/real-processes.ts";
import { planOf, stepsText } from "../plan-text.ts";

afterEach(removeWires);

/** Rounds in which a worker has nothing new to learn. */
const ROUNDS = 3;

it("a worker that is busy reads a step that waits once, and a step that it works at once more", async () => {
  const { dir: wireDir, env, folder: cwd } = makeWire({ handles: ["lead", "ann"] });
  const lead = await openClient({ wireDir, handle: "lead", env });
  const ann = await openClient({ wireDir, handle: "ann", env });
  const { plan } = planOf(stepsText("a ann", "b ann"));
  for (const step of plan.steps) {
    await sendStep(lead, "ann", stepRequest("p", "0".repeat(64), step));
  }
  writeFileSync(join(cwd, "behaviour.json"), JSON.stringify({ a: "hang" }));

  let [read, rounds] = [0, 0];
  const counting: Client = {
    ...ann,
    get viaDaemon() {
      return ann.viaDaemon;
    },
    view: (name, ...args) => {
      if (name === "thread") read += 1;
      return ann.view(name, ...args);
    },
  };
  const told: WorkEvent[] = [];
  const stop = new AbortController();
  const sleep = async (): Promise<void> => {
    rounds += 1;
    await pause(1);
  };
  const outside = {
    begun: begunWork(nodeDisk(), join(cwd, "plan-work")),
    ...{ client: counting, nowMs: () => Date.now(), sleep, signal: stop.signal },
    say: (event: WorkEvent) => told.push(event),
  };
  const command = [process.execPath, PLAN_ADAPTER];
  const adapter = { command, cwd, env, timeoutMs: 600_000, allowCommands: false };
  const options = { adapter, from: undefined, maxParallel: 1, once: false };
  const work = workPlans(outside, options);
  const worked = join(cwd, "worked.log");
  await until("a is worked at", () => existsSync(worked) && told.length > 0);
  const roundsOf = async (more: number): Promise<void> => {
    const end = rounds + more;
    await until(`${more} rounds`, () => rounds >= end);
  };
  await roundsOf(2);
  const before = read;
  expect(before).toBe(3);
  await roundsOf(ROUNDS);
  expect(read).toBe(before);

  writeFileSync(join(cwd, "go-on"), "");
  await until(
    "all are reported",
    () => told.filter((one) => one.event === "reported").length === 2,
  );
  await roundsOf(ROUNDS);
  // Each once while it waits, and once with its answer.
  expect(read).toBe(4);
  expect(readFileSync(worked, "utf8")).toBe("p a 1\np b 1\n");
  stop.abort();
  await work;
  for (const client of [lead, ann]) client.close();
});
