import { afterEach, describe, expect, test } from "vitest";
import { amount, nextPoint } from "../../support/amounts.ts";
import type { AgentProcess } from "./agent-process.ts";
import type { Held } from "./held-git.ts";
import { SharedWire, WAYS } from "./shared-wire.ts";

// A daemon dies at each step of what it does with a message of its own and one of its peer: it says,
// fetches, appends, commits, pushes, takes in. In one wire, one death after the other: each begins
// with what all deaths before have left.

const TWO = [["forge"], ["scribe"]];
const VICTIMS = ["forge", "scribe"] as const;
/** In a sample, one call of git in so many is the last one; which ones, the way to die decides. */
const CALLS_APART = amount(5, 1);

let wire: SharedWire;
afterEach(() => wire.remove());

/** Both have something to push and to fetch, and the victim's process is new. */
async function prepare(victim: string, about: string): Promise<AgentProcess> {
  wire.suspend(1_000);
  const other = otherOf(victim);
  await wire.process(other).round();
  wire.kill(victim);
  const process = await wire.begin(victim, { isHeld: wire.way === "git" });
  await wire.say(other, { subject: `${other} before ${about}` });
  await wire.process(other).round();
  return process;
}

function otherOf(victim: string): string {
  return victim === "forge" ? "scribe" : "forge";
}

/** What is said here counts only when the sender was told so. */
async function work(victim: string, about: string, process: AgentProcess): Promise<void> {
  await wire.say(victim, { subject: `${victim} ${about}` });
  await process.round();
  await process.agent.sync();
}

/** Another process takes its place, both go on, and nothing is missing in the end. */
async function recover(victim: string, process: AgentProcess): Promise<void> {
  wire.isDead(victim);
  await wire.begin(victim);
  await wire.process(otherOf(victim)).round();
  await wire.process(victim).round();
  if (process.git?.isReached() === true) {
    // Its call of git goes on without it, beside what the new process does.
    await process.git.letGo();
  }
  await process.transport?.stop();
  await wire.settle();
}

describe.each(WAYS)("%s", (way) => {
  test.each(VICTIMS)("%s dies at each step with files", async (victim) => {
    wire = new SharedWire(way, TWO);
    await wire.start();
    let isReached = true;
    let steps = 0;
    for (let at = 1; isReached; at = nextPoint(at)) {
      const process = await prepare(victim, `step ${at}`);
      process.disk.dieAt(process.disk.steps + at);
      isReached = await process.diesIn(() => work(victim, `step ${at}`, process));
      if (isReached) steps = at;
      else process.kill();
      await recover(victim, process);
    }
    expect(steps).toBeGreaterThan(10);
    await wire.check();
  });

  test.for(VICTIMS)("%s dies at each call of git", async (victim, { skip }) => {
    skip(way === "folder", "a shared folder is carried by no program");
    wire = new SharedWire(way, TWO);
    await wire.start();
    let calls = 0;
    for (const [first, how] of (["before", "after", "late"] satisfies Held[]).entries()) {
      let isReached = true;
      for (let at = 1 + (first % CALLS_APART); isReached; at += CALLS_APART) {
        const process = await prepare(victim, `call ${at} ${how}`);
        process.git?.holdAt(process.git.calls() + at, how);
        isReached = await process.diesIn(() => work(victim, `call ${at} ${how}`, process));
        if (isReached) calls += 1;
        else process.kill();
        await recover(victim, process);
      }
    }
    expect(calls).toBeGreaterThan(20 / CALLS_APART);
    await wire.check();
  });
});
