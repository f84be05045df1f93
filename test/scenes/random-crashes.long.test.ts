import { test } from "vitest";
import { amount } from "../support/amounts.ts";
import { randomFrom } from "../support/random.ts";
import {
  ack,
  recoverAndCheck,
  incident,
  MINUTE,
  proposal,
  faultScene,
  say,
  SECOND,
  send,
  up,
  type FaultScene,
} from "../support/scenes/fault-scene.ts";

// More of it, or one seed again: DEADDROP_CRASH_SEEDS=1000 DEADDROP_CRASH_STEPS=200,
// DEADDROP_CRASH_SEED=17.
const SEEDS = Number(process.env["DEADDROP_CRASH_SEEDS"] ?? amount(8, 40));
const STEPS = Number(process.env["DEADDROP_CRASH_STEPS"] ?? 60);
const ONE = process.env["DEADDROP_CRASH_SEED"];

const FAULTS = ["crash", "crash", "EIO", "ENOSPC"] as const;
const CUTS = ["drop", "tear", "keep"] as const;

interface Play extends FaultScene {
  readonly roster: readonly string[];
  random(): number;
  pick<T>(from: readonly T[]): T;
}

/** What may happen next, and how often. */
const EVENTS: readonly (readonly [weight: number, happen: (play: Play) => Promise<void>])[] = [
  [20, speak],
  [8, propose],
  [10, answer],
  [2, alarm],
  [14, passTime],
  [6, breakSomething],
  [3, die],
  [2, cutPower],
  [2, loseInbox],
  [2, leave],
  [8, comeBack],
];

async function speak(play: Play): Promise<void> {
  const count = 1 + Math.floor(play.random() * 3);
  const drafts = Array.from({ length: count }, (_, at) => say(`word ${at}`));
  await send(play, play.pick(play.roster), ...drafts);
}

async function propose(play: Play): Promise<void> {
  const from = play.pick(play.roster);
  const to = play.pick(play.roster.filter((handle) => handle !== from));
  await send(play, from, proposal(to, "Let us"));
}

async function answer(play: Play): Promise<void> {
  const who = play.pick(play.roster);
  const owed = await play.wire.attempt(who, (agent) => agent.view("pending", undefined));
  const mine = owed?.filter(({ owed_by: by }) => by === who) ?? [];
  if (mine.length > 0) await ack(play, who, play.pick(mine).event_id);
}

async function alarm(play: Play): Promise<void> {
  const from = play.pick(play.roster);
  await send(play, from, incident(play.pick(play.roster.filter((handle) => handle !== from))));
}

async function passTime(play: Play): Promise<void> {
  await play.wire.pass(play.pick([SECOND, 5 * SECOND, 40 * SECOND, 2 * MINUTE]));
}

async function breakSomething(play: Play): Promise<void> {
  const process = play.wire.process(play.pick(play.roster));
  process.failAt(1 + Math.floor(play.random() * 40), play.pick(FAULTS));
  return Promise.resolve();
}

async function die(play: Play): Promise<void> {
  play.wire.kill(play.pick(play.roster));
  return Promise.resolve();
}

async function cutPower(play: Play): Promise<void> {
  play.checker.look();
  play.wire.powerCut(play.pick(CUTS));
  return Promise.resolve();
}

async function loseInbox(play: Play): Promise<void> {
  const who = play.pick(play.roster);
  play.wire.kill(who);
  play.wire.disk.process().remove(play.wire.paths(who).inbox);
  return Promise.resolve();
}

async function leave(play: Play): Promise<void> {
  const who = play.pick(play.roster);
  if (!play.wire.isUp(who)) return;
  await play.wire.attempt(who, (agent) => agent.farewell());
  play.wire.kill(who);
}

async function comeBack(play: Play): Promise<void> {
  for (const who of play.roster) {
    if (play.wire.isUp(who) || play.random() < 0.3) continue;
    const process = play.wire.disk.process();
    if (play.random() < 0.3) {
      process.failAt(1 + Math.floor(play.random() * 60), play.pick(FAULTS));
    }
    if (!(await up(play, who, process))) continue;
    // What it could not write as it began it tries again after a second.
    await play.wire.pass(2_000);
    if (play.wire.isUp(who)) play.checker.checkClaims(who);
  }
}

function nextEvent(random: () => number): (play: Play) => Promise<void> {
  const total = EVENTS.reduce((sum, [weight]) => sum + weight, 0);
  let left = random() * total;
  for (const [weight, happen] of EVENTS) {
    left -= weight;
    if (left < 0) return happen;
  }
  return passTime;
}

async function play(seed: number, told: string[]): Promise<void> {
  const random = randomFrom(seed);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  const roster = ["forge", "scribe", "quill"].slice(0, seed % 3 === 0 ? 3 : 2);
  const scene = await faultScene(roster, { seed });
  const scenery: Play = { ...scene, roster, random, pick };
  for (let step = 0; step < STEPS; step += 1) {
    const happen = nextEvent(random);
    told.push(`${step} ${happen.name}`);
    await happen(scenery);
    scene.checker.look();
  }
  for (const handle of roster) scene.wire.process(handle).heal();
  await recoverAndCheck(scene);
  for (const handle of roster) await scene.wire.expectReplayEqualsLive(handle);
  await scene.checker.check();
}

const seeds = ONE === undefined ? Array.from({ length: SEEDS }, (_, at) => at + 1) : [Number(ONE)];

test.each(seeds)(`seed %i: all promises are kept over ${STEPS} random steps`, async (seed) => {
  const told: string[] = [];
  try {
    await play(seed, told);
  } catch (error) {
    const history = told.slice(-20).join(", ");
    throw new Error(`DEADDROP_CRASH_SEED=${seed} fails after: ${history}`, { cause: error });
  }
});
