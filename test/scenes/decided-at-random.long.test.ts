import { expect, test } from "vitest";
import type { ChainHead, Composed } from "../../src/wire/compose.ts";
import { amount } from "../support/amounts.ts";
import { seeded } from "../support/disk/memory-disk.ts";
import { MINUTE } from "../support/scenes/fault-scene.ts";
import { SimulatedWire } from "../support/scenes/simulated-wire.ts";

// Whatever a peer writes and whatever the operator decides, in any order. Spec 1.6, 2.4.

const LOG = "scribe_to_forge";
const FILE = `${LOG}.jsonl`;
const STEPS = 24;
const SEEDS = amount(8, 60);

const text = ({ line }: Composed): string => `${Buffer.from(line).toString("utf8")}\n`;
const headOf = ({ message }: Composed): ChainHead => ({ seq: message.seq ?? 0, id: message.id });

class Scene {
  readonly wire = new SimulatedWire(["forge", "scribe"]);
  readonly random: () => number;
  readonly #written: Composed[] = [];
  #count = 0;

  constructor(seed: number) {
    this.random = seeded(seed);
  }

  pick<T>(items: readonly T[]): T | undefined {
    return items[Math.floor(this.random() * items.length)];
  }

  /** A line after one that was written before, most often the last: else a fork, or a late filler. */
  line(before = this.random() < 0.7 ? this.#written.at(-1) : this.pick(this.#written)): Composed {
    this.#count += 1;
    const after = before === undefined ? ("nothing" as const) : headOf(before);
    return this.wire.forge("scribe", LOG, { subject: `line ${this.#count}`, after });
  }

  async write(...lines: readonly Composed[]): Promise<void> {
    this.#written.push(...lines);
    this.wire.append(FILE, lines.map(text).join(""));
    await this.wire.settle();
  }

  async step(): Promise<void> {
    const dice = this.random();
    if (dice < 0.45) await this.write(this.line());
    else if (dice < 0.55) {
      // One is missing, and may come later.
      const missing = this.line();
      const next = this.line(missing);
      await this.write(next);
      if (this.random() < 0.5) await this.write(missing);
    } else if (dice < 0.65) {
      const again = this.pick(this.#written);
      if (again !== undefined) await this.write(again);
    } else if (dice < 0.85) await this.wire.agent("forge").resetPeer("scribe");
    else if (dice < 0.92) await this.wire.rest();
    else await this.restart(this.random() < 0.5);
    await this.wire.settle();
  }

  /** Forge's process dies and starts again, with its checkpoint or without. */
  async restart(withCheckpoint: boolean): Promise<void> {
    this.wire.kill("forge");
    if (!withCheckpoint) this.wire.disk.process().remove(this.wire.paths("forge").checkpoint);
    await this.wire.start("forge");
  }

  async holds() {
    const { holds } = await this.wire.agent("forge").view("holds", { peer: "scribe" });
    return holds.map(({ log, cause, taken_from }) => [log, cause, taken_from]);
  }

  /** What is delivered stands in the inbox once. */
  inbox(): string[] {
    const lines = this.wire.lines(this.wire.paths("forge").inbox);
    const subjects = lines.map((line) => (JSON.parse(line) as { subject: string }).subject);
    expect(new Set(subjects).size, subjects.join()).toBe(subjects.length);
    return subjects;
  }

  /** The log gets other lines in the place of some that stand in it. */
  rewrite(): void {
    const kept = this.#written.slice(0, Math.floor(this.random() * this.#written.length));
    const other = this.line(kept.at(-1));
    this.#written.splice(0, this.#written.length, ...kept, other);
    this.wire.replace(FILE, this.#written.map(text).join(""));
  }
}

test("forks, gaps, copies and resets in any order: a replay equals what was seen live", async () => {
  let decided = 0;
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const scene = new Scene(seed);
    await scene.wire.start("forge");
    for (let step = 0; step < STEPS; step += 1) await scene.step();
    const [holds, inbox] = [await scene.holds(), scene.inbox()];
    const live = await scene.wire.expectReplayEqualsLive("forge");
    expect(live, `seed ${seed}`).toBeDefined();
    expect([await scene.holds(), scene.inbox()], `seed ${seed}`).toEqual([holds, inbox]);
    const notices = await scene.wire.agent("forge").view("notices", undefined);
    decided += notices.filter(({ cause }) => cause === "reset").length;
    // What the operator takes again is taken to its end, unless it forks once more.
    await scene.wire.agent("forge").resetPeer("scribe");
    await scene.wire.pass(MINUTE);
    expect(scene.inbox().length, `seed ${seed}`).toBeGreaterThanOrEqual(inbox.length);
  }
  expect(decided).toBeGreaterThan(SEEDS / 2);
});

test("with rewritten logs among them: a hold stays until it is ended, and nothing comes twice", async () => {
  let rewritten = 0;
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const scene = new Scene(1_000 + seed);
    await scene.wire.start("forge");
    for (let round = 0; round < 3; round += 1) {
      for (let step = 0; step < STEPS / 3; step += 1) await scene.step();
      await scene.wire.agent("forge").resetPeer("scribe");
      await scene.wire.settle();
      scene.rewrite();
      await scene.wire.pass(MINUTE);
      const holds = await scene.holds();
      rewritten += holds.filter(([, cause]) => cause === "log_rewritten").length;
      await scene.restart(round === 1);
      expect(await scene.holds(), `seed ${seed}, round ${round}`).toEqual(holds);
      await scene.wire.agent("forge").resetPeer("scribe");
      await scene.wire.pass(MINUTE);
      scene.inbox();
    }
    const [holds, inbox] = [await scene.holds(), scene.inbox()];
    await scene.restart(false);
    await scene.wire.pass(MINUTE);
    expect([await scene.holds(), scene.inbox()], `seed ${seed}`).toEqual([holds, inbox]);
  }
  expect(rewritten).toBeGreaterThan(SEEDS / 2);
});
