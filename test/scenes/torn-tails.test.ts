import { Buffer } from "node:buffer";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { fromPlain } from "../../src/wire/json/json.ts";
import { checkedScenes } from "../support/scenes/scene-checks.ts";
import { SimulatedWire } from "../support/scenes/simulated-wire.ts";

// Ends of logs that are torn, and bytes in them that are no longer what they were.

const sceneOf = checkedScenes("replay");
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const LOG = "scribe_to_forge";
const FILE = `${LOG}.jsonl`;
const OWN = "forge_to_scribe.jsonl";

async function inbox(wire: SimulatedWire, handle = "forge"): Promise<string[]> {
  const messages = await wire.agent(handle).view("inbox", {});
  return messages.map(({ subject }) => subject);
}

async function causes(wire: SimulatedWire, handle = "forge"): Promise<string[]> {
  return (await wire.agent(handle).view("notices", undefined)).map(({ cause }) => cause);
}

function tell(wire: SimulatedWire, from: string, subject: string): Promise<string> {
  const to = from === "forge" ? "scribe" : "forge";
  return wire.send(from, { to: [to], type: "feedback", subject, body: "x" });
}

/** The file ends there, as after a power cut or a kill in mid-write. */
function cut(wire: SimulatedWire, name: string, bytes: number): void {
  const file = wire.disk.process().open(join(wire.wirePath, name), "append");
  file.truncate(bytes);
  file.datasync();
  file.close();
}

/** The same file with other bytes in it, as a failing disk leaves it. */
function rewrite(wire: SimulatedWire, name: string, text: string): void {
  const file = wire.disk.process().open(join(wire.wirePath, name), "append");
  file.truncate(0);
  file.append(Buffer.from(text, "utf8"));
  file.datasync();
  file.close();
}

describe("a peer heals its own tail", () => {
  test("a peer's unterminated tail, at every byte, is no line until its newline comes", async () => {
    const wire = sceneOf(["forge", "scribe"]);
    await wire.start("forge");
    const line = `${Buffer.from(wire.forge("scribe", LOG, { subject: "whole" }).line).toString()}\n`;
    for (const byte of line) {
      expect(await inbox(wire)).toEqual([]);
      wire.append(FILE, byte);
      await wire.agent("forge").tick();
    }
    expect(await inbox(wire)).toEqual(["whole"]);
    expect(await causes(wire)).toEqual([]);
  });

  test("by cutting it and writing the same bytes again: heard once, no alarm", async () => {
    const wire = sceneOf(["forge", "scribe"]);
    await wire.start();
    await tell(wire, "scribe", "one");
    await wire.stop("forge");
    // Scribe dies in mid-write of a line that it had promised; forge sees the torn end.
    const before = wire.read(FILE).length;
    await tell(wire, "scribe", "two");
    const whole = wire.read(FILE);
    wire.kill("scribe");
    cut(wire, FILE, before + 100);
    await wire.start("forge");
    await wire.pass(MINUTE);
    expect(await inbox(wire)).toEqual(["one"]);
    await wire.start("scribe");
    expect(wire.read(FILE).startsWith(whole)).toBe(true);
    await tell(wire, "scribe", "three");
    expect(await inbox(wire)).toEqual(["one", "two", "three"]);
    expect(await causes(wire)).toEqual([]);
  });

  test("by ending it with a newline, as the Python reference does: the fragment is counted, no more", async () => {
    const wire = sceneOf(["forge", "scribe"]);
    await wire.start("forge");
    const [one, two] = ["one", "two"].map((subject) => wire.forge("scribe", LOG, { subject }));
    if (one === undefined || two === undefined) throw new Error("two lines were made");
    wire.append(FILE, `${Buffer.from(one.line).toString()}\n{"timestamp":"half a li`);
    await wire.pass(MINUTE);
    expect(await inbox(wire)).toEqual(["one"]);
    const next = wire.forge("scribe", LOG, { subject: "two", after: { seq: 1, id: one.id } });
    wire.append(FILE, `\n${Buffer.from(next.line).toString()}\n`);
    await wire.pass(MINUTE);
    expect(await inbox(wire)).toEqual(["one", "two"]);
    expect(await causes(wire)).toEqual([]);
  });
});

describe("a bit flips before the durable offset of our own log", () => {
  // What was flipped cannot be replayed: these scenes are not checked for that.
  test.each(["while the daemon is down", "while it runs"])(
    "%s: the line is put back from our private copy, the operator is told, and we go on",
    async (when) => {
      const wire = new SimulatedWire(["forge", "scribe"], { withFaults: true });
      await wire.start();
      await tell(wire, "forge", "one");
      await tell(wire, "forge", "two");
      await wire.rest();
      // Its peer is away: what it makes of a log that changes is another scene.
      await wire.stop("scribe");
      await wire.pass(SECOND);
      const whole = wire.read(OWN);
      if (when !== "while it runs") await wire.stop("forge");
      const sound = wire.read(OWN);
      expect(sound.startsWith(whole)).toBe(true);
      const flipped = sound.replace('"one"', '"nne"');
      rewrite(wire, OWN, flipped);
      if (when !== "while it runs") await wire.start("forge");
      await wire.pass(2 * MINUTE);
      expect(await causes(wire)).toContain("log_restored");
      expect(wire.read(OWN).startsWith(sound)).toBe(true);
      await tell(wire, "forge", "three");
      await wire.start("scribe");
      expect(await inbox(wire, "scribe")).toEqual(["one", "two", "three"]);
    },
  );
});

test("a peer's log rewritten at equal size: its author is held, and what was delivered stays", async () => {
  const wire = new SimulatedWire(["forge", "scribe"]);
  await wire.start("forge");
  const one = wire.forge("scribe", LOG, { subject: "one" });
  const after = { seq: 1, id: one.id };
  const [two, six] = ["two", "six"].map((subject) => wire.forge("scribe", LOG, { subject, after }));
  const text = (...lines: (typeof one | undefined)[]): string =>
    lines.map((each) => `${Buffer.from(each?.line ?? []).toString()}\n`).join("");
  wire.append(FILE, text(one, two));
  await wire.settle();
  expect(text(one, six)).toHaveLength(text(one, two).length);
  wire.replace(FILE, text(one, six));
  await wire.pass(MINUTE);
  expect(await causes(wire)).toContain("log_rewritten");
  wire.append(FILE, text(wire.forge("scribe", LOG, { subject: "more" })));
  await wire.pass(MINUTE);
  expect(await inbox(wire)).toEqual(["one", "two"]);
});

test("a line of 1 MiB is delivered byte for byte, and one more byte is refused by name", async () => {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start("forge");
  const limit = 1_048_576;
  const sized = (bytes: number, after?: { seq: number; id: string }) => {
    const make = (padding: number) =>
      wire.forge("scribe", LOG, {
        subject: "long",
        body: fromPlain("x".repeat(padding)),
        after: after ?? "nothing",
      });
    const empty = make(0).line.length;
    return make(bytes - empty);
  };
  const longest = sized(limit);
  expect(longest.line).toHaveLength(limit);
  wire.append(FILE, `${Buffer.from(longest.line).toString()}\n${"x".repeat(limit + 1)}\n`);
  const next = wire.forge("scribe", LOG, {
    subject: "next",
    after: { seq: 1, id: longest.id },
  });
  wire.append(FILE, `${Buffer.from(next.line).toString()}\n`);
  await wire.pass(2 * MINUTE);
  expect(await inbox(wire)).toEqual(["long", "next"]);
  const delivered = wire.read(wire.paths("forge").inbox);
  expect(delivered.startsWith(`${Buffer.from(longest.line).toString()}\n`)).toBe(true);
  const quarantine = wire.read(wire.paths("forge").quarantine).trimEnd().split("\n");
  expect(quarantine.map((line) => (JSON.parse(line) as { reason: string }).reason)).toEqual([
    "oversized",
  ]);
});
