import { afterEach, describe, expect, test } from "vitest";
import { Crashed } from "../support/memory-disk.ts";
import { roughScene, say, send, aftermath } from "../support/rough-scene.ts";
import { BEGIN_MS } from "../support/scene-folder.ts";
import { checkedScenes } from "../support/scene-checks.ts";
import type { SimulatedWire } from "../support/simulated-wire.ts";

// What clocks do to a wire: one that is wrong, one that is set, time zones, the turn of a year.

const sceneOf = checkedScenes("replay");

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const ALARMS = /log_|identity_in_use|replayed|unchained/;

interface Stamp {
  readonly timestamp: string;
  readonly seq: number;
  readonly prev?: string;
  readonly event_id: string;
  readonly type: string;
}

function lines(wire: SimulatedWire, log: string): Stamp[] {
  return wire.lines(`${log}.jsonl`).map((line) => JSON.parse(line) as Stamp);
}

function expectOneChain(wire: SimulatedWire): void {
  for (const log of ["forge_to_scribe", "scribe_to_forge"]) {
    for (const [at, { seq, prev }] of lines(wire, log).entries()) {
      expect({ log, seq }).toEqual({ log, seq: at + 1 });
      expect(prev).toBe(lines(wire, log)[at - 1]?.event_id);
    }
  }
}

async function inbox(wire: SimulatedWire, handle: string): Promise<string[]> {
  const messages = await wire.agent(handle).view("inbox", {});
  return messages.map(({ subject }) => subject);
}

async function causes(wire: SimulatedWire, handle: string): Promise<string[]> {
  return (await wire.agent(handle).view("notices", undefined)).map(({ cause }) => cause);
}

async function receipt(wire: SimulatedWire, handle: string, id: string): Promise<unknown> {
  const { receipts } = await wire.agent(handle).view("receipt", { event_id: id });
  return receipts[0];
}

function tell(wire: SimulatedWire, from: string, subject: string): Promise<string> {
  const to = from === "forge" ? "scribe" : "forge";
  return wire.send(from, { to: [to], type: "feedback", subject, body: "x" });
}

describe("a wall clock that is an hour wrong", () => {
  test.each([
    { what: "ahead", wrongMs: HOUR, refused: "forge", by: "scribe" },
    { what: "behind", wrongMs: -HOUR, refused: "scribe", by: "forge" },
  ])(
    "$what: what $refused says meanwhile is refused by name, and after it all is well",
    async ({ wrongMs, refused, by }) => {
      const wire = sceneOf(["forge", "scribe"]);
      await wire.start();
      await tell(wire, "forge", "f before");
      await tell(wire, "scribe", "s before");
      wire.setClock("forge", wrongMs);
      const during = {
        forge: await tell(wire, "forge", "f"),
        scribe: await tell(wire, "scribe", "s"),
      };
      await wire.pass(5 * MINUTE);
      wire.setClock("forge", 0);
      await wire.pass(SECOND);
      await tell(wire, "forge", "f after");
      await tell(wire, "scribe", "s after");
      await wire.pass(5 * MINUTE);

      const heard = (initial: string, isRefused: boolean): string[] =>
        isRefused
          ? [`${initial} before`, `${initial} after`]
          : [`${initial} before`, initial, `${initial} after`];
      expect(await inbox(wire, "scribe")).toEqual(heard("f", refused === "forge"));
      expect(await inbox(wire, "forge")).toEqual(heard("s", refused === "scribe"));
      const id = refused === "forge" ? during.forge : during.scribe;
      expect(await receipt(wire, refused, id)).toMatchObject({
        state: "refused",
        reason: "clock_skew",
      });
      expect(await causes(wire, by)).toContain("clock_skew");
      for (const handle of wire.roster) {
        expect((await causes(wire, handle)).filter((cause) => ALARMS.test(cause))).toEqual([]);
      }
      expectOneChain(wire);
    },
  );
});

describe("the wall clock of a host is set", () => {
  test.each([HOUR, -HOUR])("by %i ms: beats keep their pace, nothing is refused", async (byMs) => {
    const beatsOf = async (wrongMs: number): Promise<number[]> => {
      const wire = sceneOf(["forge", "scribe"]);
      await wire.start();
      await wire.pass(10 * MINUTE);
      for (const handle of wire.roster) wire.setClock(handle, wrongMs);
      await tell(wire, "forge", "hello");
      await tell(wire, "scribe", "hello yourself");
      await wire.pass(10 * MINUTE);
      expect(await inbox(wire, "forge")).toEqual(["hello yourself"]);
      expect(await inbox(wire, "scribe")).toEqual(["hello"]);
      for (const handle of wire.roster) {
        const told = await causes(wire, handle);
        expect(told.filter((cause) => ALARMS.test(cause) || cause === "clock_skew")).toEqual([]);
      }
      expectOneChain(wire);
      return ["forge_to_scribe", "scribe_to_forge"].map((log) => lines(wire, log).length);
    };
    expect(await beatsOf(byMs)).toEqual(await beatsOf(0));
  });
});

test("a line dated in the year 9999 is refused, and does not date what its author says next", async () => {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start("forge");
  const atMs = Date.UTC(9999, 11, 31, 23, 59, 59);
  const far = wire.forge("scribe", "scribe_to_forge", { atMs, subject: "far" });
  wire.append("scribe_to_forge.jsonl", `${Buffer.from(far.line).toString()}\n`);
  await wire.settle();
  expect(await inbox(wire, "forge")).toEqual([]);
  expect(await causes(wire, "forge")).toEqual(["clock_skew"]);
  // Its own daemon finds that line in its log; a clock that was mended is believed again.
  await wire.start("scribe");
  await tell(wire, "scribe", "now");
  await wire.pass(2 * MINUTE);
  expect(await inbox(wire, "forge")).toEqual(["now"]);
  expect(lines(wire, "scribe_to_forge").at(-1)?.timestamp).toMatch(/^2026-/);
});

describe("time zones", () => {
  const zone = process.env["TZ"];
  afterEach(() => {
    process.env["TZ"] = zone;
  });

  /** The bytes of all logs, from half an hour before these moments to an hour after. */
  async function logsIn(timeZone: string, turns: readonly number[]): Promise<string> {
    process.env["TZ"] = timeZone;
    const wire = sceneOf(["forge", "scribe"]);
    await wire.start();
    for (const turn of turns) {
      wire.suspend(turn - 30 * MINUTE - BEGIN_MS - wire.elapsedMs);
      for (const subject of ["before", "about", "after"]) {
        await tell(wire, "forge", subject);
        await wire.pass(30 * MINUTE);
      }
    }
    const stamps = lines(wire, "forge_to_scribe").map(({ timestamp }) => timestamp);
    expect(stamps).toEqual(stamps.toSorted());
    for (const stamp of stamps) expect(stamp).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    return wire.read("forge_to_scribe.jsonl") + wire.read("scribe_to_forge.jsonl");
  }

  test("daylight saving time begins and ends: the same bytes as in UTC", async () => {
    // Central Europe turns at these moments; Lord Howe Island by half an hour at others nearby.
    const turns = [Date.UTC(2026, 9, 25, 1), Date.UTC(2027, 2, 28, 1)];
    const utc = await logsIn("UTC", turns);
    for (const timeZone of ["Europe/Berlin", "Australia/Lord_Howe"]) {
      expect(await logsIn(timeZone, turns)).toBe(utc);
    }
    process.env["TZ"] = "Europe/Berlin";
    const offsets = turns.map((turn) => [
      new Date(turn - 1).getTimezoneOffset(),
      new Date(turn).getTimezoneOffset(),
    ]);
    expect(offsets, "this process has no time zones").toEqual([
      [-120, -60],
      [-60, -120],
    ]);
  });
});

test("the year ends in mid-append, and the process with it at any operation: one chain over both years", async () => {
  const yearEnd = Date.UTC(2027, 0, 1);
  let at = 1;
  for (let isThrough = false; !isThrough; at += 1) {
    const scene = await roughScene(["forge", "scribe"], { seed: at });
    const { wire, witness } = scene;
    wire.suspend(yearEnd - 1 - BEGIN_MS - wire.elapsedMs);
    await send(scene, "forge", say("last of the year"));
    const process = wire.process("forge");
    const before = process.operations;
    process.failAt(at, "crash");
    try {
      await send(scene, "forge", say("one"), say("two"));
    } catch (error) {
      if (!(error instanceof Crashed)) throw error;
    }
    isThrough = process.operations - before < at;
    process.heal();
    witness.look();
    wire.suspend(1);
    if (!wire.isUp("forge")) await wire.start("forge");
    await send(scene, "forge", say("first of the year"));
    await aftermath(scene);
    const years = lines(wire, "forge_to_scribe").map(({ timestamp }) => timestamp.slice(0, 4));
    expect(new Set(years)).toEqual(new Set(["2026", "2027"]));
  }
  expect(at).toBeGreaterThan(5);
});
