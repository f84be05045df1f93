import { expect, test } from "vitest";
import type { Composed } from "../../src/wire/compose.ts";
import {
  ack,
  causesOf,
  expectSameEverywhere,
  HOUR,
  MINUTE,
  propose,
  SECOND,
  statusOf,
} from "../support/scripts/proposal-scene.ts";
import { checkedScenes } from "../support/scenes/scene-checks.ts";
import type { SceneOptions, SimulatedWire } from "../support/scenes/simulated-wire.ts";

const sceneOf = checkedScenes("replay");

// What others write into a peer's log proves nothing about that peer: it costs its author nothing, and
// holds none of its lines up. Spec 2.4, 3.2.

const LOG = "scribe_to_forge";
const FILE = `${LOG}.jsonl`;
const OURS = "forge_to_scribe.jsonl";
/** `x\n` three thousand times. */
const SIX_KB = "x\n".repeat(3_000);
const THREE_MB = `${"junk ".repeat(199)}\n`.repeat(3_000);

async function scene(options: SceneOptions = {}): Promise<SimulatedWire> {
  const wire = sceneOf(["forge", "scribe"], options);
  await wire.start();
  await wire.pass(10 * SECOND);
  return wire;
}

async function inbox(wire: SimulatedWire): Promise<string[]> {
  const messages = await wire.agent("forge").view("inbox", {});
  return messages.map(({ subject }) => subject);
}

const say = (wire: SimulatedWire, subject: string) =>
  wire.post("scribe", { to: ["forge"], type: "feedback", subject, body: "x" });

/** The rounds of forge's daemon until it has no more to read: time stands still meanwhile. */
async function ticksToRead(wire: SimulatedWire): Promise<number> {
  for (let ticks = 1; ; ticks += 1) {
    if (!(await wire.agent("forge").tick())) return ticks;
    expect(ticks).toBeLessThan(1_000);
  }
}

const beats = (wire: SimulatedWire) =>
  wire.lines(OURS).filter((line) => line.includes('"type":"heartbeat"')).length;

/** What forge's beats have named so far, in their order. */
function named(wire: SimulatedWire): [number, number, string][] {
  return wire.lines(OURS).flatMap((line) => {
    const { body } = JSON.parse(line) as {
      body: { heads?: Record<string, { refused: [number, number, string][] }> };
    };
    return body.heads?.[LOG]?.refused ?? [];
  });
}

async function scribe(wire: SimulatedWire) {
  const [peer] = await wire.agent("forge").view("peers", undefined);
  return peer;
}

for (const [name, junk] of [
  ["6 KB of short lines", SIX_KB],
  ["lines and blank lines in turns", "x\n\n".repeat(1_500)],
  ["lines that fail for different reasons", 'x\n{}\n{"from":"eve"}\n'.repeat(1_000)],
  ["3 MB with a NUL at the beginning", `\0\n${THREE_MB}`],
  ["3 MB with a NUL in each line", THREE_MB.replaceAll("junk\n", "jun\0\n").replaceAll("ju", "\0")],
  ["a NUL and 3 MB in one line", `\0${"x".repeat(3_000_000)}\n`],
  ["a NUL in a line that nobody has ended", "\0junk"],
] as const) {
  test(`${name} in the log of an honest peer: what it says is read in the same second`, async () => {
    const wire = await scene();
    const id = await propose(wire, "forge", ["scribe"], "Use tabs");
    await wire.pass(5 * SECOND);
    const before = beats(wire);
    await say(wire, "before");
    wire.append(FILE, junk);
    await say(wire, "after");
    wire.append(FILE, junk);
    expect(await ticksToRead(wire)).toBeLessThan(10);
    // The end of a line that nobody keeps in memory is looked for in the background.
    await wire.pass(500);
    expect(await inbox(wire)).toEqual(["before", "after"]);
    expect(beats(wire)).toBe(before);

    await ack(wire, "scribe", id);
    await wire.pass(10 * SECOND);
    expect(await statusOf(wire, "forge", id)).toBe("ratified");
    await wire.pass(HOUR);
    expect(await scribe(wire)).toMatchObject({ presence: "online", held: false });
    await expectSameEverywhere(wire);
  });
}

test("it is told once an hour, shown of the peer, and named to it as ranges", async () => {
  const wire = await scene();
  wire.append(FILE, SIX_KB);
  await wire.pass(2 * MINUTE);
  expect(await causesOf(wire, "forge")).toEqual(["foreign_lines"]);
  const [notice] = await wire.agent("forge").view("notices", undefined);
  expect(notice?.subject).toBe("the log of scribe holds 3000 lines that scribe did not sign");
  expect(await scribe(wire)).toMatchObject({ presence: "online", foreign_lines: 3_000 });
  const lines = wire.lines(FILE);
  const first = lines.indexOf("x") + 1;
  expect(named(wire)).toEqual([[first, first + 2_999, "foreign"]]);
  await wire.pass(2 * HOUR);
  expect(await causesOf(wire, "forge")).toEqual(["foreign_lines"]);
  wire.append(FILE, SIX_KB);
  await wire.pass(MINUTE);
  expect(await causesOf(wire, "forge")).toEqual(["foreign_lines", "foreign_lines"]);
  expect(await scribe(wire)).toMatchObject({ presence: "online", foreign_lines: 6_000 });
});

test("a hundred lines an hour are not told", async () => {
  const wire = await scene();
  wire.append(FILE, "x\n".repeat(100));
  await wire.pass(10 * MINUTE);
  expect(await causesOf(wire, "forge")).toEqual([]);
  expect(await scribe(wire)).toMatchObject({ foreign_lines: 100 });
});

test("junk that comes little by little costs one note in our journal", async () => {
  const wire = await scene();
  const size = () => {
    const { disk, place } = wire.agent("forge");
    return disk.stat(place.paths.journal)?.size ?? 0;
  };
  const before = size();
  for (let at = 0; at < 600; at += 1) {
    wire.append(FILE, at % 2 === 0 ? "x\n" : "\n");
    await wire.agent("forge").tick();
  }
  await say(wire, "and now");
  await ticksToRead(wire);
  expect(await inbox(wire)).toEqual(["and now"]);
  // The notice is one entry of about half a kilobyte, too.
  expect(size() - before).toBeLessThan(2_500);
});

test("copies of a peer's lines spend nothing of what it may send", async () => {
  const wire = await scene({ rateLimit: 2, tiers: { forge: { scribe: "ATTESTED" } } });
  await say(wire, "one");
  await wire.settle();
  const line = wire.lines(FILE).at(-1) ?? "";
  wire.append(FILE, `${line}\n`.repeat(500));
  await say(wire, "two");
  await ticksToRead(wire);
  expect(await inbox(wire)).toEqual(["one", "two"]);
});

test("what an author says behind a hole that has been found before is read at once, however large it is", async () => {
  const wire = await scene();
  for (const hole of ["\0\n", `\0${"x".repeat(20 * 1_048_576)}\n`]) {
    wire.append(FILE, hole);
    await wire.pass(10 * SECOND);
    await say(wire, "after");
    await ticksToRead(wire);
    await wire.pass(500);
    expect((await inbox(wire)).at(-1)).toBe("after");
    await wire.agent("forge").markRead("all");
    await say(wire, "and on");
    await ticksToRead(wire);
    await wire.pass(500);
    expect((await inbox(wire)).at(-1)).toBe("and on");
  }
});

test("a search behind a hole goes on over restarts, and over what comes meanwhile", async () => {
  const wire = await scene();
  wire.append(FILE, `\0\n${THREE_MB}`);
  for (let at = 0; at < 5; at += 1) {
    await wire.settle();
    wire.kill("forge");
    await wire.start("forge");
    wire.append(FILE, "x\n".repeat(10));
    await wire.pass(2 * SECOND);
  }
  expect(await inbox(wire)).toEqual([]);
  await say(wire, "after");
  await wire.pass(2 * SECOND);
  expect(await inbox(wire)).toEqual(["after"]);
});

test("a forged line behind a hole does not end the wait for its author", async () => {
  const wire = await scene();
  await wire.stop("scribe");
  const whole = wire.read(FILE);
  const one = wire.forge("scribe", LOG, { subject: "one" });
  const two = wire.forge("scribe", LOG, { subject: "two", after: { seq: seqOf(one), id: one.id } });
  // Eve knows the place in the chain, and cannot sign for scribe.
  const forged = textOf(one).replace("by hand", "x").replace('"one"', '"eve"');
  const hole = `${"\0".repeat(textOf(one).length)}\n`;
  wire.replace(FILE, `${whole}${hole}${textOf(two)}\n${THREE_MB}${forged}\n`);
  await wire.pass(10 * SECOND);
  expect(await inbox(wire)).toEqual([]);
  wire.replace(FILE, `${whole}${textOf(one)}\n${textOf(two)}\n${THREE_MB}${forged}\n`);
  await wire.pass(10 * SECOND);
  expect(await inbox(wire)).toEqual(["one", "two"]);
  expect(await causesOf(wire, "forge")).toEqual(["foreign_lines"]);
});

test("a hole of more than 1 MiB is waited for, too, and nothing is counted wrong", async () => {
  const wire = await scene();
  await wire.stop("scribe");
  const whole = wire.read(FILE);
  const lines: Composed[] = [];
  for (let at = 0; at < 30; at += 1) {
    const last = lines.at(-1);
    const after = last === undefined ? {} : { after: { seq: seqOf(last), id: last.id } };
    lines.push(wire.forge("scribe", LOG, { subject: `${at}`, body: "x".repeat(60_000), ...after }));
  }
  const fixed = lines.map((line) => `${textOf(line)}\n`);
  const [first = "", ...others] = fixed;
  const lost = others.slice(0, -1).join("");
  const hole = `${"\0".repeat(lost.length - 1)}\n`;
  wire.replace(FILE, `${whole}${first}${hole}${fixed.at(-1) ?? ""}`);
  await wire.pass(MINUTE);
  expect(await inbox(wire)).toEqual(["0"]);
  wire.replace(FILE, `${whole}${fixed.join("")}`);
  await wire.pass(MINUTE);
  expect(await inbox(wire)).toEqual(fixed.map((_, at) => `${at}`));
  expect(await causesOf(wire, "forge")).toEqual([]);
});

test("a hole of more than 1 MiB over lines that were read is no rewriting, whatever is behind it", async () => {
  const wire = await scene();
  await wire.stop("scribe");
  const whole = wire.read(FILE);
  const lines: Composed[] = [];
  for (let at = 0; at < 31; at += 1) {
    const last = lines.at(-1);
    const after = last === undefined ? {} : { after: { seq: seqOf(last), id: last.id } };
    lines.push(wire.forge("scribe", LOG, { subject: `${at}`, body: "x".repeat(60_000), ...after }));
  }
  const texts = lines.map((line) => `${textOf(line)}\n`);
  const [read, unread] = [texts.slice(0, -1).join(""), texts.at(-1) ?? ""];
  wire.replace(FILE, `${whole}${read}`);
  await wire.pass(10 * SECOND);
  expect(await inbox(wire)).toHaveLength(30);
  wire.replace(FILE, `${whole}${"\0".repeat(read.length - 1)}\n${unread}`);
  await wire.pass(MINUTE);
  expect(await scribe(wire)).toMatchObject({ held: false });
  wire.replace(FILE, `${whole}${read}${unread}`);
  await wire.pass(MINUTE);
  expect(await inbox(wire)).toEqual(texts.map((_, at) => `${at}`));
  expect(await causesOf(wire, "forge")).toEqual([]);
});

function textOf({ line }: Composed): string {
  return Buffer.from(line).toString("utf8");
}

function seqOf(composed: Composed): number {
  return composed.message.seq ?? 0;
}
