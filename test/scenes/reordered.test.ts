import { Buffer } from "node:buffer";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Composed } from "../../src/wire/compose.ts";
import { checkedScenes } from "../support/scenes/scene-checks.ts";
import { SimulatedWire } from "../support/scenes/simulated-wire.ts";

// A folder that another program synchronises shows a log as it never was, for seconds: its lines in
// another order, an older version, a hole, a torn beginning. After that it shows the true file.

const sceneOf = checkedScenes("replay");
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const LOG = "scribe_to_forge";
const FILE = `${LOG}.jsonl`;

async function inbox(wire: SimulatedWire, handle = "forge"): Promise<string[]> {
  const messages = await wire.agent(handle).view("inbox", {});
  return messages.map(({ subject }) => subject);
}

async function causes(wire: SimulatedWire, handle = "forge"): Promise<string[]> {
  return (await wire.agent(handle).view("notices", undefined)).map(({ cause }) => cause);
}

async function isHeld(wire: SimulatedWire): Promise<boolean | undefined> {
  const [peer] = await wire.agent("forge").view("peers", undefined);
  return peer?.held;
}

async function waits(wire: SimulatedWire): Promise<string[]> {
  const [peer] = await wire.agent("forge").view("peers", undefined);
  return (peer?.waits ?? []).map(({ because }) => because);
}

/** A chain of lines with these subjects. */
function chainOf(wire: SimulatedWire, ...subjects: readonly string[]): Composed[] {
  const lines: Composed[] = [];
  for (const [at, subject] of subjects.entries()) {
    const last = lines.at(-1);
    const after = last === undefined ? "nothing" : { seq: at, id: last.id };
    lines.push(wire.forge("scribe", LOG, { subject, after }));
  }
  return lines;
}

/** The lines of these numbers, from 1 on, in that order. */
function text(lines: readonly Composed[], ...order: readonly number[]): string {
  return order.map((at) => `${Buffer.from(lines[at - 1]?.line ?? []).toString("utf8")}\n`).join("");
}

const SUBJECTS = ["one", "two", "three", "four"];

describe("a reader that knows the log", () => {
  test.each([
    ["the order", [1, 3, 2]],
    ["the order, back to front", [3, 2, 1]],
    ["the order, with a new line among them", [1, 4, 3, 2]],
    ["the order, and lacks one", [3, 1]],
    ["an older version", [1]],
    ["nothing", []],
    ["a new line before a known one", [1, 2, 4, 3]],
  ])("is shown %s for a while: nothing is held, and after it all goes on", async (_, order) => {
    const wire = sceneOf(["forge", "scribe"]);
    await wire.start("forge");
    const lines = chainOf(wire, ...SUBJECTS);
    wire.append(FILE, text(lines, 1, 2, 3));
    await wire.settle();
    wire.replace(FILE, text(lines, ...order));
    await wire.pass(MINUTE);
    expect(await isHeld(wire)).toBe(false);
    expect(await inbox(wire)).toEqual(["one", "two", "three"]);
    expect(await waits(wire)).toEqual([order.length >= 3 ? "reordered" : "behind"]);
    wire.replace(FILE, text(lines, 1, 2, 3, 4));
    await wire.pass(MINUTE);
    expect(await inbox(wire)).toEqual(SUBJECTS);
    expect(await causes(wire)).toEqual([]);
    expect(await waits(wire)).toEqual([]);
  });

  test("starts again meanwhile, without its checkpoint: it knows what it knew", async () => {
    const wire = sceneOf(["forge", "scribe"]);
    await wire.start("forge");
    const lines = chainOf(wire, ...SUBJECTS);
    wire.append(FILE, text(lines, 1, 2, 3));
    await wire.settle();
    wire.replace(FILE, text(lines, 1, 4, 3, 2));
    await wire.expectReplayEqualsLive("forge");
    await wire.pass(MINUTE);
    expect(await inbox(wire)).toEqual(["one", "two", "three"]);
    expect(await waits(wire)).toEqual(["reordered"]);
    // An inbox that is lost at that moment, too.
    wire.kill("forge");
    wire.disk.process().remove(wire.paths("forge").inbox);
    wire.disk.process().remove(wire.paths("forge").checkpoint);
    await wire.start("forge");
    expect(await inbox(wire)).toEqual(["one", "two", "three"]);
    wire.replace(FILE, text(lines, 1, 2, 3, 4));
    await wire.pass(MINUTE);
    expect(await inbox(wire)).toEqual(SUBJECTS);
    expect(await causes(wire)).toEqual([]);
  });

  test("starts while lines are missing, and then sees them in another order", async () => {
    const wire = sceneOf(["forge", "scribe"]);
    await wire.start("forge");
    const lines = chainOf(wire, ...SUBJECTS);
    wire.append(FILE, text(lines, 1, 2, 3));
    await wire.settle();
    wire.kill("forge");
    wire.disk.process().remove(wire.paths("forge").checkpoint);
    wire.replace(FILE, text(lines, 1));
    await wire.start("forge");
    await wire.pass(SECOND);
    for (const order of [
      [1, 3, 2],
      [1, 4, 2, 3],
      [1, 3],
    ]) {
      wire.replace(FILE, text(lines, ...order));
      await wire.pass(10 * SECOND);
      expect(await isHeld(wire)).toBe(false);
      expect(await inbox(wire)).toEqual(["one", "two", "three"]);
    }
    wire.replace(FILE, text(lines, 1, 2, 3, 4));
    await wire.pass(MINUTE);
    expect(await inbox(wire)).toEqual(SUBJECTS);
    expect(await causes(wire)).toEqual([]);
  });

  test("is told after ten minutes, and may let the log be read as it is", async () => {
    const wire = sceneOf(["forge", "scribe"]);
    await wire.start("forge");
    const lines = chainOf(wire, ...SUBJECTS);
    wire.append(FILE, text(lines, 1, 2, 3));
    await wire.settle();
    wire.replace(FILE, text(lines, 2, 1, 3, 4));
    await wire.pass(9 * MINUTE);
    expect(await causes(wire)).toEqual([]);
    expect((await wire.agent("forge").resetPeer("scribe")).holds).toEqual([]);
    await wire.pass(2 * MINUTE);
    expect(await causes(wire)).toEqual(["log_reordered"]);
    const { holds } = await wire.agent("forge").resetPeer("scribe");
    expect(holds).toMatchObject([{ log: LOG, cause: "log_reordered", taken_from: "beginning" }]);
    await wire.pass(MINUTE);
    expect(await inbox(wire)).toEqual(SUBJECTS);
    expect(await waits(wire)).toEqual([]);
  });

  test("may let a log go on that never gets its lines back, and takes none of them twice", async () => {
    const wire = sceneOf(["forge", "scribe"]);
    await wire.start("forge");
    const lines = chainOf(wire, ...SUBJECTS);
    wire.append(FILE, text(lines, 1, 2, 3));
    await wire.settle();
    wire.replace(FILE, text(lines, 1));
    await wire.pass(11 * MINUTE);
    expect(await causes(wire)).toEqual(["log_behind"]);
    const { holds } = await wire.agent("forge").resetPeer("scribe");
    expect(holds).toMatchObject([{ cause: "log_behind", taken_from: "beginning" }]);
    await wire.pass(MINUTE);
    wire.append(FILE, text(lines, 2, 3, 4));
    await wire.pass(MINUTE);
    expect(await inbox(wire)).toEqual(SUBJECTS);
    expect(await waits(wire)).toEqual([]);
  });

  test("holds the author of a log that lacks lines and has others, and names two ids", async () => {
    // What is gone cannot be replayed: this scene is not checked for that.
    const wire = new SimulatedWire(["forge", "scribe"]);
    await wire.start("forge");
    const lines = chainOf(wire, ...SUBJECTS);
    wire.append(FILE, text(lines, 1, 2, 3));
    await wire.settle();
    wire.replace(FILE, text(lines, 3, 1, 4));
    await wire.pass(SECOND);
    expect(await isHeld(wire)).toBe(true);
    const [notice] = await wire.agent("forge").view("notices", undefined);
    expect(notice?.cause).toBe("log_rewritten");
    expect(notice?.detail).toContain(`(first ${lines[1]?.id ?? ""})`);
    expect(notice?.detail).toContain(`(first ${lines[3]?.id ?? ""};`);
  });
});

describe("a first reader", () => {
  test.each([
    ["from the beginning", [3, 1, 2, 4]],
    ["in the middle", [1, 3, 2, 4]],
    ["at the end", [1, 2, 4, 3]],
    ["back to front", [4, 3, 2, 1]],
    ["in the middle, one of them missing", [1, 4, 2]],
  ])("of a chain that is out of order %s waits for its order", async (_, order) => {
    const wire = sceneOf(["forge", "scribe"]);
    const lines = chainOf(wire, ...SUBJECTS);
    wire.append(FILE, text(lines, ...order));
    await wire.start("forge");
    await wire.pass(MINUTE);
    const atOnce = order.findIndex((seq, at) => seq !== at + 1);
    expect(await inbox(wire)).toEqual(SUBJECTS.slice(0, atOnce));
    expect(await waits(wire)).toEqual(["order"]);
    expect(await causes(wire)).toEqual([]);
    wire.replace(FILE, text(lines, 1, 2, 3, 4));
    await wire.pass(MINUTE);
    expect(await inbox(wire)).toEqual(SUBJECTS);
    expect(await causes(wire)).toEqual([]);
    const [beat] = wire.lines("forge_to_scribe.jsonl").slice(-1);
    const { body } = JSON.parse(beat ?? "{}") as { body: { heads: Record<string, object> } };
    expect(body.heads[LOG]).toMatchObject({ lines: 4, seq: 4, event_id: lines[3]?.id });
  });

  test("of a line that is nowhere takes what follows, and says that it is missing", async () => {
    const wire = sceneOf(["forge", "scribe"]);
    const lines = chainOf(wire, ...SUBJECTS);
    // Somebody claims its place, without being able to sign.
    const claim = text(lines, 2).replace('"two"', '"tow"');
    wire.append(FILE, `${text(lines, 1, 3)}${claim}`);
    await wire.start("forge");
    expect(await inbox(wire)).toEqual(["one", "three"]);
    expect(await causes(wire)).toEqual(["log_gap"]);
    wire.append(FILE, text(lines, 2, 4));
    await wire.pass(MINUTE);
    expect(await inbox(wire)).toEqual(["one", "three", "two", "four"]);
  });

  test("is told after ten minutes, and may let the log be read as it is", async () => {
    const wire = sceneOf(["forge", "scribe"]);
    const lines = chainOf(wire, ...SUBJECTS, "five");
    wire.append(FILE, text(lines, 1, 3, 2, 5, 4));
    await wire.start("forge");
    await wire.pass(11 * MINUTE);
    expect(await causes(wire)).toEqual(["log_reordered"]);
    const { holds } = await wire.agent("forge").resetPeer("scribe");
    expect(holds).toMatchObject([{ log: LOG, cause: "log_reordered", taken_from: "here" }]);
    await wire.pass(MINUTE);
    expect(await inbox(wire)).toEqual(["one", "three", "two", "five", "four"]);
    expect(await isHeld(wire)).toBe(false);
  });
});

test("a peer that leaves its log out of order keeps a proposal open for a day, and no longer", async () => {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start();
  await wire.send("scribe", { to: ["forge"], type: "feedback", subject: "a", body: "x" });
  await wire.send("scribe", { to: ["forge"], type: "feedback", subject: "b", body: "x" });
  const draft = { to: ["scribe"], type: "proposal", subject: "p", body: {}, ackRequired: true };
  await wire.send("forge", draft);
  await wire.pass(SECOND);
  await wire.stop("scribe");
  const lines = wire.read(FILE).split("\n").slice(0, -1);
  wire.replace(FILE, `${lines.toReversed().join("\n")}\n`);
  await wire.pass(2 * HOUR);
  const statusOf = async () =>
    (await wire.agent("forge").view("proposals", undefined)).map(({ status }) => status);
  expect(await statusOf()).toEqual(["open"]);
  wire.suspend(23 * HOUR);
  await wire.pass(MINUTE);
  expect(await statusOf()).toEqual(["reverted"]);
  expect(await causes(wire)).not.toContain("log_rewritten");
});

/** What a sync program may show of six lines while it works, and what happens to the reader. */
const views = fc.array(
  fc.oneof(
    // The whole chain, or its beginning, in some order.
    fc.record({
      show: fc.constant("order" as const),
      order: fc.integer({ min: 1, max: 6 }).chain((count) => {
        const all = Array.from({ length: count }, (_, at) => at + 1);
        return fc.shuffledSubarray(all, { minLength: count });
      }),
    }),
    fc.record({
      show: fc.constant("cut" as const),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
    fc.record({
      show: fc.constant("hole" as const),
      from: fc.double({ min: 0, max: 1, noNaN: true }),
      bytes: fc.integer({ min: 1, max: 900 }),
    }),
    fc.record({ show: fc.constant("restart" as const), hasCheckpoint: fc.boolean() }),
  ),
  { minLength: 1, maxLength: 6 },
);

test("whatever is shown for a while, in the end each line came once, in order, and nobody was accused", async () => {
  await fc.assert(
    fc.asyncProperty(views, async (steps) => {
      const wire = new SimulatedWire(["forge", "scribe"]);
      const subjects = ["1", "2", "3", "4", "5", "6"];
      const lines = chainOf(wire, ...subjects);
      const whole = text(lines, 1, 2, 3, 4, 5, 6);
      await wire.start("forge");
      for (const step of steps) {
        if (step.show === "restart") {
          await wire.rest();
          wire.kill("forge");
          if (!step.hasCheckpoint) wire.disk.process().remove(wire.paths("forge").checkpoint);
          await wire.start("forge");
        } else wire.replace(FILE, shown(whole, lines, step));
        await wire.pass(3 * SECOND);
      }
      wire.replace(FILE, whole);
      await wire.pass(MINUTE);
      expect(await inbox(wire)).toEqual(subjects);
      expect(await causes(wire)).toEqual([]);
      expect(await isHeld(wire)).toBe(false);
      await wire.expectReplayEqualsLive("forge");
    }),
    { numRuns: 60 },
  );
});

type Shown =
  | { readonly show: "order"; readonly order: readonly number[] }
  | { readonly show: "cut"; readonly share: number }
  | { readonly show: "hole"; readonly from: number; readonly bytes: number };

function shown(whole: string, lines: readonly Composed[], step: Shown): string {
  if (step.show === "order") return text(lines, ...step.order);
  if (step.show === "cut") return whole.slice(0, Math.floor(step.share * whole.length));
  const from = Math.floor(step.from * (whole.length - step.bytes));
  return whole.slice(0, from) + "\0".repeat(step.bytes) + whole.slice(from + step.bytes);
}
