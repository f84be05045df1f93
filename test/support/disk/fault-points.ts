import { expect, test } from "vitest";
import { pointsOf } from "../amounts.ts";
import type { Fault } from "./memory-disk.ts";
import type { PowerCut } from "./memory-inode.ts";
import {
  ack,
  recoverAndCheck,
  proposal,
  faultScene,
  say,
  SECOND,
  send,
  up,
  type FaultScene,
} from "../scenes/fault-scene.ts";

// The tables of test/faults. A work is repeated once for each of its disk operations and each
// trouble: that operation fails, or the process dies there. Then the disk is well again, the agent
// goes on or is started again, and all of this must hold (`PromiseChecker`):
// - what a sender was told stays in a carrier, and no number of a chain has two lines;
// - every line for an agent is in its inbox once, in order, and the inbox is whole;
// - nobody is told of a fork, a gap or a rewritten log that does not exist;
// - a decision and an incident are in their shared files once;
// - a lost store that is filled again, and an audit, give what the agent knew while it ran.

/** The agent whose disk fails. */
export const VICTIM = "forge";
export const PEER = "scribe";

/** Something that an agent does with its disk. */
export interface Work {
  readonly name: string;
  /** What happens before, with a disk that works. */
  prepare?(scene: FaultScene): Promise<void>;
  run(scene: FaultScene): Promise<unknown>;
  /** One run of it takes long: each operation gets some of the troubles, in turn. */
  readonly isLong?: true;
  /** What an operator does again, until it succeeds, before anything is checked. */
  again?(scene: FaultScene): Promise<void>;
  /** What else must hold in the end. */
  check?(scene: FaultScene): void | Promise<void>;
}

/** How an operation fails, and what happens to the host right afterwards. */
interface Trouble {
  readonly fault: Fault;
  readonly next: "go on" | PowerCut | "cut when all is well again";
  /** How many operations in a row fail; one unless said. */
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
  // A sync fails, and so does the truncation that would take its data back.
  { fault: "EIO", next: "cut when all is well again", lasts: 2 },
  { fault: "ENOSPC", next: "tear", lasts: 9 },
  { fault: "EACCES", next: "drop", lasts: 3 },
  { fault: "crash", next: "cut when all is well again" },
];

/**
 * Where there are many operations, each gets a crash and EIO, every second one also ENOSPC or EACCES,
 * and a quarter of the power cuts, unless all are asked for.
 */
const ALL_TROUBLES = process.env["DEADDROP_CRASH_POINTS"] === "all";
const MANY = 10;

function troublesAt(at: number, operations: number, isLong = false): readonly Trouble[] {
  if (ALL_TROUBLES) return [...PLAIN, ...WITH_POWER_CUT];
  if (isLong)
    return [...PLAIN.slice(0, 2), ...WITH_POWER_CUT].filter((_, which) => (at + which) % 5 === 0);
  if (operations <= MANY) return [...PLAIN, ...WITH_POWER_CUT];
  const plain = PLAIN.filter((_, which) => which < 2 || (at + which) % 2 === 0);
  return [...plain, ...WITH_POWER_CUT.filter((_, which) => (at + which) % 4 === 0)];
}

/** One test for each work. */
export function testFaults(works: readonly Work[]): void {
  for (const work of works) {
    test(`${work.name}: each disk operation fails, or is the last`, async () => {
      const operations = await operationsOf(work);
      expect(operations).toBeGreaterThan(1);
      for (const at of pointsOf(operations)) {
        for (const [which, trouble] of troublesAt(at, operations, work.isLong).entries()) {
          await failsAt(work, at, trouble, at * 31 + which);
        }
      }
    });
  }
}

async function failsAt(work: Work, at: number, trouble: Trouble, seed: number): Promise<void> {
  const scene = await begin(work, seed);
  try {
    await runWithTrouble(scene, work, at, trouble);
    // The power takes what was read although its sync had failed.
    const isTaken = trouble.fault !== "crash" && trouble.next !== "go on";
    await afterwards(scene, work, seed % 3 === 0, isTaken ? ["log_behind"] : []);
  } catch (cause) {
    const { fault, next, lasts = 1 } = trouble;
    throw new Error(`${fault} at operation ${at} (${lasts}), then ${next}`, { cause });
  }
}

async function begin(work: Work, seed: number): Promise<FaultScene> {
  const scene = await faultScene([VICTIM, PEER], { seed });
  await work.prepare?.(scene);
  return scene;
}

/** How many disk operations the work takes when nothing fails. */
export async function operationsOf(work: Work): Promise<number> {
  const scene = await begin(work, 1);
  const process = scene.wire.process(VICTIM);
  const before = process.operations;
  await work.run(scene);
  const operations = process.operations - before;
  await afterwards(scene, work, true);
  return operations;
}

async function runWithTrouble(
  scene: FaultScene,
  work: Work,
  at: number,
  trouble: Trouble,
): Promise<void> {
  const { wire, checker } = scene;
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
  checker.look();
  if (trouble.next === "go on") return;
  if (trouble.next !== "cut when all is well again") {
    wire.powerCut(trouble.next);
    return;
  }
  // The next process acts on data that the one before never synced.
  if (!wire.isUp(VICTIM)) await wire.begin(VICTIM, wire.disk.process());
  await wire.settle();
  checker.look();
  wire.powerCut("drop");
}

async function afterwards(
  scene: FaultScene,
  work: Work,
  compares: boolean,
  trueAlarms: readonly string[] = [],
): Promise<void> {
  if (work.again !== undefined) {
    for (const handle of [VICTIM, PEER]) if (!scene.wire.isUp(handle)) await up(scene, handle);
    await work.again(scene);
  }
  await recoverAndCheck(scene, trueAlarms);
  // A store that was lost does not know what stands in no carrier.
  await work.check?.(scene);
  if (compares) {
    if (hasOnlyWholeLines(scene)) await scene.wire.expectReplayAndAuditEqualLive(VICTIM);
    else await scene.wire.expectReplayEqualsLive(VICTIM);
    await scene.checker.check(trueAlarms);
  }
}

/** Readers skip the piece of a line that a failed write has left; an audit names it. */
function hasOnlyWholeLines({ wire }: FaultScene): boolean {
  const files = ["decisions.jsonl", ...wire.roster.map((handle) => wire.carrier(handle))];
  return files.every((file) => wire.lines(file).every((line) => /^(\{.*\})?$/.test(line)));
}

/** The process dies at an operation, the one that recovers dies as well, and then the power goes. */
export async function diesTwice(
  work: Work,
  first: number,
  second: number,
  power: PowerCut,
): Promise<void> {
  const scene = await begin(work, first * 31 + second);
  try {
    await runWithTrouble(scene, work, first, { fault: "crash", next: "go on" });
    // How many operations there are depends on what the power cut has left of the files.
    if (scene.wire.isUp(VICTIM)) scene.wire.kill(VICTIM);
    const again = scene.wire.disk.process();
    again.failAt(second, "crash");
    if (await up(scene, VICTIM, again)) await tick(scene);
    scene.checker.look();
    scene.wire.powerCut(power);
    await afterwards(scene, work, second % 3 === 0);
  } catch (cause) {
    throw new Error(`died at operations ${first} and ${second}, then ${power}`, { cause });
  }
}

/** The victim's next tick takes the last answer in, closes and records the decision. */
export async function agree(scene: FaultScene): Promise<void> {
  const id = await send(scene, VICTIM, proposal(PEER, "Use tabs"));
  await scene.wire.pass(5 * SECOND);
  await ack(scene, PEER, id ?? "");
}

export const tick = ({ wire }: FaultScene): Promise<unknown> =>
  wire.attempt(VICTIM, (agent) => agent.tick());
