import { expect, test } from "vitest";
import type { Fault } from "./memory-disk.ts";
import type { PowerCut } from "./memory-inode.ts";
import {
  ack,
  aftermath,
  proposal,
  roughScene,
  say,
  SECOND,
  send,
  up,
  type RoughScene,
} from "../scenes/rough-scene.ts";

export const VICTIM = "forge";
export const PEER = "scribe";

/** Work in whose every disk operation the victim's process fails or dies. */
export interface Work {
  readonly name: string;
  /** What has happened before; the victim's process does nothing of it while it is being prepared. */
  prepare?(scene: RoughScene): Promise<void>;
  run(scene: RoughScene): Promise<unknown>;
  /** What comes after takes long: each operation suffers crash or power cut, and EIO, in turn. */
  readonly isLong?: true;
  /** What is sent in lasting trouble would not be believed: one operation at a time. */
  readonly isSilent?: true;
  /** What else must be true when all is well again. */
  check?(scene: RoughScene): void | Promise<void>;
}

/** How it goes wrong: what the operation suffers, and what becomes of the host right afterwards. */
interface Trouble {
  readonly fault: Fault;
  readonly next: "go on" | PowerCut | "cut when all is well again";
  /** So many operations in a row; one if nothing is said. */
  readonly lasts?: number;
}

const PLAIN: readonly Trouble[] = [
  { fault: "crash", next: "go on" },
  { fault: "EIO", next: "go on" },
  { fault: "ENOSPC", next: "go on" },
  { fault: "EACCES", next: "go on" },
];
const WITH_POWER_CUT: readonly Trouble[] = [
  { fault: "crash", next: "drop" },
  { fault: "crash", next: "tear" },
  { fault: "crash", next: "keep" },
  { fault: "EIO", next: "drop" },
  // A failed sync, and what would cut its data off again fails as well.
  { fault: "EIO", next: "cut when all is well again", lasts: 2 },
  { fault: "ENOSPC", next: "tear", lasts: 9 },
  { fault: "EACCES", next: "drop", lasts: 3 },
  { fault: "crash", next: "cut when all is well again" },
];

/**
 * Where there are many operations, each suffers crash and EIO, the other refusals in turn with its
 * neighbours, and a quarter of the power cuts, unless asked for all.
 */
const ALL_TROUBLES = process.env["DEADDROP_CRASH_POINTS"] === "all";
const MANY = 10;
const TIMEOUT_MS = ALL_TROUBLES ? 1_200_000 : 180_000;

function troublesAt(at: number, operations: number, isLong = false): readonly Trouble[] {
  if (ALL_TROUBLES) return [...PLAIN, ...WITH_POWER_CUT];
  if (isLong)
    return [...PLAIN.slice(0, 2), ...WITH_POWER_CUT].filter((_, which) => (at + which) % 5 === 0);
  if (operations <= MANY) return [...PLAIN, ...WITH_POWER_CUT];
  const plain = PLAIN.filter((_, which) => which < 2 || (at + which) % 2 === 0);
  return [...plain, ...WITH_POWER_CUT.filter((_, which) => (at + which) % 4 === 0)];
}

/** One test for each work: each of its disk operations fails, or is the last, in every way. */
export function testFaults(works: readonly Work[]): void {
  for (const work of works) {
    test(
      `${work.name}: each disk operation fails, or is the last`,
      async () => {
        const operations = await operationsOf(work);
        expect(operations).toBeGreaterThan(1);
        for (let at = 1; at <= operations; at += 1) {
          for (const [which, trouble] of troublesAt(at, operations, work.isLong).entries()) {
            if (work.isSilent === true && trouble.lasts !== undefined) continue;
            await sufferedAt(work, at, trouble, at * 31 + which);
          }
        }
      },
      TIMEOUT_MS,
    );
  }
}

async function sufferedAt(work: Work, at: number, trouble: Trouble, seed: number): Promise<void> {
  const scene = await begin(work, seed);
  try {
    await goWrong(scene, work, at, trouble);
    await afterwards(scene, work, seed % 3 === 0);
  } catch (cause) {
    const { fault, next, lasts = 1 } = trouble;
    throw new Error(`${fault} at operation ${at} (${lasts}), then ${next}`, { cause });
  }
}

async function begin(work: Work, seed: number): Promise<RoughScene> {
  const scene = await roughScene([VICTIM, PEER], { seed });
  await work.prepare?.(scene);
  return scene;
}

/** How many disk operations of the victim the work takes when nothing goes wrong. */
export async function operationsOf(work: Work): Promise<number> {
  const scene = await begin(work, 1);
  const process = scene.wire.process(VICTIM);
  const before = process.operations;
  await work.run(scene);
  const operations = process.operations - before;
  await afterwards(scene, work, true);
  return operations;
}

async function goWrong(scene: RoughScene, work: Work, at: number, trouble: Trouble): Promise<void> {
  const { wire, witness } = scene;
  for (let later = 0; later < (trouble.lasts ?? 1); later += 1) {
    wire.process(VICTIM).failAt(at + later, trouble.fault);
  }
  await work.run(scene);
  if ((trouble.lasts ?? 1) > 2) {
    await send(scene, VICTIM, say("in trouble"), say("still in trouble"));
    await wire.settle();
  }
  wire.process(VICTIM).heal();
  if (trouble.lasts !== undefined) await wire.settle();
  witness.look();
  if (trouble.next === "go on") return;
  if (trouble.next !== "cut when all is well again") {
    wire.powerCut(trouble.next);
    return;
  }
  // What was found after the trouble and acted upon was never synced by who wrote it.
  if (!wire.isUp(VICTIM)) await wire.begin(VICTIM, wire.disk.process());
  await wire.settle();
  witness.look();
  wire.powerCut("drop");
}

async function afterwards(scene: RoughScene, work: Work, compares: boolean): Promise<void> {
  await aftermath(scene);
  if (compares) {
    // The fragment that a recorder left who died in it is skipped by readers, but an audit names it.
    const isWhole = scene.wire.lines("decisions.jsonl").every((line) => /^(\{.*\})?$/.test(line));
    if (isWhole) await scene.wire.expectReplayAndAuditEqualLive(VICTIM);
    else await scene.wire.expectReplayEqualsLive(VICTIM);
    await scene.witness.check();
  }
  await work.check?.(scene);
}

/** The work dies at an operation; then who mends that dies too, and then the power goes. */
export async function diesTwice(
  work: Work,
  first: number,
  second: number,
  power: PowerCut,
): Promise<void> {
  const scene = await begin(work, first * 31 + second);
  try {
    await goWrong(scene, work, first, { fault: "crash", next: "go on" });
    // What the power cut has left of the files differs, and with it the number of operations.
    if (scene.wire.isUp(VICTIM)) scene.wire.kill(VICTIM);
    const again = scene.wire.disk.process();
    again.failAt(second, "crash");
    if (await up(scene, VICTIM, again)) await tick(scene);
    scene.witness.look();
    scene.wire.powerCut(power);
    await afterwards(scene, work, second % 3 === 0);
  } catch (cause) {
    throw new Error(`died at operations ${first} and ${second}, then ${power}`, { cause });
  }
}

/** Everything is there that a decision needs: the victim's next tick ratifies and records it. */
export async function agree(scene: RoughScene): Promise<void> {
  const id = await send(scene, VICTIM, proposal(PEER, "Use tabs"));
  await scene.wire.pass(5 * SECOND);
  await ack(scene, PEER, id ?? "");
  await tick(scene);
  // The beat that covers the ack is due.
  scene.wire.suspend(2 * SECOND);
}

export const tick = ({ wire }: RoughScene): Promise<unknown> =>
  wire.attempt(VICTIM, (agent) => agent.tick());
export const settle = ({ wire }: RoughScene): Promise<unknown> =>
  wire.attempt(VICTIM, (agent) => agent.sync());
