import { afterEach, describe, expect, test } from "vitest";
import { Crashed } from "../support/disk/memory-disk.ts";
import { faultScene, say, send, recoverAndCheck } from "../support/scenes/fault-scene.ts";
import { BEGIN_MS } from "../support/scenes/scene-folder.ts";
import { checkedScenes } from "../support/scenes/scene-checks.ts";
import type { SimulatedWire } from "../support/scenes/simulated-wire.ts";

// What clocks do to a wire: one that is wrong, one that is set, time zones, the turn of a year.

const sceneOf = checkedScenes("replay");

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const ALARMS = /log_|identity_in_use|replayed|unchained/;

interface Stamp {
  readonly timestamp: string;
  readonly seq?: number;
  readonly prev?: string;
  readonly event_id: string;
  readonly type: string;
}

/** The chain of an agent, as its carrier has it. */
function chain(wire: SimulatedWire, handle: string): Stamp[] {
  // A process that dies leaves torn lines.
  const whole = wire.lines(wire.carrier(handle)).filter((line) => line.endsWith("}"));
  const stamps = whole.map((line) => JSON.parse(line) as Stamp);
  return stamps.filter(({ seq }) => seq !== undefined);
}

function expectOneChain(wire: SimulatedWire): void {
  for (const handle of wire.roster) {
    const stamps = chain(wire, handle);
    for (const [at, { seq, prev }] of stamps.entries()) {
      expect({ handle, seq }).toEqual({ handle, seq: at + 1 });
      expect(prev).toBe(stamps[at - 1]?.event_id);
    }
  }
}

async function inbox(wire: SimulatedWire, handle: string): Promise<string[]> {
  const { messages } = await wire.agent(handle).view("inbox", {});
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

describe("a wall clock that is wrong", () => {
  test("ahead: what its owner says meanwhile is refused by name, and after it all is well", async () => {
    const wire = sceneOf(["forge", "scribe"]);
    await wire.start();
    await tell(wire, "forge", "f before");
    wire.setClock("forge", HOUR);
    const during = await tell(wire, "forge", "f");
    await tell(wire, "scribe", "s");
    await wire.pass(16 * MINUTE);
    wire.setClock("forge", 0);
    await wire.pass(SECOND);
    await tell(wire, "forge", "f after");
    await tell(wire, "scribe", "s after");
    await wire.pass(5 * MINUTE);
    expect(await inbox(wire, "scribe")).toEqual(["f before", "f after"]);
    expect(await inbox(wire, "forge")).toEqual(["s", "s after"]);
    expect(await receipt(wire, "forge", during)).toMatchObject({
      state: "refused",
      reason: "clock_skew",
    });
    // A beat that is dated ahead is no sign of life, and its author is not silent either.
    expect(await causes(wire, "scribe")).toEqual(["clock_skew", "clock_skew"]);
    for (const handle of wire.roster) {
      expect((await causes(wire, handle)).filter((cause) => ALARMS.test(cause))).toEqual([]);
    }
    expectOneChain(wire);
  });

  test("behind, and set right before what waits is refused: it is delivered", async () => {
    const wire = sceneOf(["forge", "scribe"]);
    await wire.start();
    await tell(wire, "scribe", "s before");
    wire.setClock("forge", -10 * MINUTE);
    await tell(wire, "forge", "f");
    const during = await tell(wire, "scribe", "s");
    await wire.pass(3 * MINUTE);
    expect(await inbox(wire, "forge")).toEqual(["s before"]);
    wire.setClock("forge", 0);
    await wire.pass(5 * MINUTE);
    await tell(wire, "scribe", "s after");
    await wire.pass(5 * MINUTE);
    expect(await inbox(wire, "forge")).toEqual(["s before", "s", "s after"]);
    expect(await inbox(wire, "scribe")).toEqual(["f"]);
    expect(await receipt(wire, "scribe", during)).toMatchObject({ state: "delivered" });
    for (const handle of wire.roster) {
      const told = await wire.agent(handle).view("notices", undefined);
      const isAlarm = ({ cause, subject }: (typeof told)[number]) =>
        ALARMS.test(cause) || subject.includes("refused");
      expect(told.filter(isAlarm)).toEqual([]);
    }
    expectOneChain(wire);
  });
});

describe("a reader whose clock is slow when it starts", () => {
  async function slowReader(byMs: number): Promise<SimulatedWire> {
    const wire = sceneOf(["forge", "scribe"]);
    await wire.start("forge");
    wire.setClock("forge", -byMs);
    await wire.start("scribe");
    await tell(wire, "scribe", "one");
    await tell(wire, "scribe", "two");
    return wire;
  }

  async function refused(wire: SimulatedWire): Promise<boolean> {
    return (await causes(wire, "forge")).includes("clock_skew");
  }

  test("holds right lines back, says why, and takes them in when it is right", async () => {
    const wire = await slowReader(10 * MINUTE);
    await wire.pass(4 * MINUTE);
    expect(await inbox(wire, "forge")).toEqual([]);
    const [peer] = await wire.agent("forge").view("peers", undefined);
    expect(peer).toMatchObject({
      held: false,
      waits: [{ code: "clock_skew" }],
    });
    expect(peer?.waits?.[0]?.detail).toMatch(/dated \S+, ahead of ours/);
    // No head of ours passes a line that is held back.
    const heads = wire
      .lines("forge_to_scribe.jsonl")
      .map(
        (line) => (JSON.parse(line) as { body: { heads?: Record<string, [number]> } }).body.heads,
      );
    expect(heads.map((each) => each?.["scribe"]?.[0] ?? 0)).not.toContain(
      chain(wire, "scribe").length,
    );
    wire.setClock("forge", 0);
    await wire.pass(MINUTE);
    expect(await inbox(wire, "forge")).toEqual(["one", "two"]);
    expect(await causes(wire, "forge")).toEqual([]);
    expect((await wire.agent("forge").view("peers", undefined))[0]?.waits).toEqual([]);
  });

  test("refuses what is still ahead after a quarter of an hour, counted over restarts", async () => {
    const wire = await slowReader(2 * HOUR);
    await wire.pass(14 * MINUTE);
    expect(await refused(wire)).toBe(false);
    await wire.stop("forge");
    await wire.start("forge");
    await wire.pass(2 * MINUTE);
    expect(await refused(wire)).toBe(true);
  });

  test("an answer that is held back counts all the same", async () => {
    const wire = sceneOf(["forge", "scribe"]);
    await wire.start();
    const draft = { to: ["scribe"], type: "proposal", subject: "p", body: {}, ackRequired: true };
    const id = await wire.send("forge", draft);
    await wire.pass(2 * SECOND);
    wire.setClock("forge", -HOUR);
    const { place, correlation_id: correlationId } = await wire
      .agent("scribe")
      .view("resolve_id", { id });
    const body = { acks: place, approve: true };
    await wire.send("scribe", { to: ["forge"], type: "ack", subject: "yes", body, correlationId });
    await wire.pass(SECOND);
    expect(await inbox(wire, "forge")).toEqual([]);
    const [proposal] = await wire.agent("forge").view("proposals", undefined);
    expect(proposal?.status).toBe("ratified");
  });
});

describe("a clock that jumps a day ahead and back", () => {
  const DAY = 24 * HOUR;

  async function presence(wire: SimulatedWire): Promise<string | undefined> {
    return (await wire.agent("forge").view("peers", undefined))[0]?.presence;
  }

  /** Forge's clock is a day ahead for a while, in which it hears its peer. */
  async function jumped(): Promise<SimulatedWire> {
    const wire = sceneOf(["forge", "scribe"]);
    await wire.start();
    await wire.pass(5 * MINUTE);
    wire.setClock("forge", DAY);
    await tell(wire, "scribe", "s");
    await wire.pass(5 * MINUTE);
    wire.setClock("forge", 0);
    return wire;
  }

  test("hides no dead peer: it is late, and silent, when it would have been", async () => {
    const wire = await jumped();
    wire.kill("scribe");
    await wire.pass(MINUTE);
    expect(await presence(wire)).toBe("online");
    const [peer] = await wire.agent("forge").view("peers", undefined);
    expect(Date.parse(peer?.last_seen_at ?? "")).toBeLessThanOrEqual(wire.nowMs);
    await wire.pass(3 * MINUTE);
    expect(await presence(wire)).toBe("late");
    await wire.pass(16 * MINUTE);
    expect(await presence(wire)).toBe("silent");
    expect(await causes(wire, "forge")).toContain("peer_silent");
  });

  test("is corrected, and no message was received in the future", async () => {
    const wire = await jumped();
    await wire.pass(2 * MINUTE);
    const {
      messages: [message],
    } = await wire.agent("forge").view("inbox", {});
    expect(Date.parse(message?._meta.received_at ?? "")).toBeLessThanOrEqual(wire.nowMs);
  });

  test("lets no deadline wait until that day has come", async () => {
    const wire = sceneOf(["forge", "scribe"]);
    await wire.start();
    await wire.pass(MINUTE);
    const draft = { to: ["scribe"], type: "proposal", subject: "p", body: {}, ackRequired: true };
    await wire.post("forge", draft);
    await wire.agent("scribe").tick();
    await wire.agent("scribe").markRead("all");
    wire.setClock("forge", 12 * HOUR);
    // The beat from which the time to answer runs.
    await wire.pass(8 * SECOND);
    wire.setClock("forge", 0);
    await wire.pass(2 * HOUR);
    expect((await wire.agent("forge").view("proposals", undefined))[0]?.status).toBe("reverted");
  });

  test("uses up no limit of an hour that is yet to come", async () => {
    const wire = sceneOf(["forge", "scribe"]);
    await wire.start("forge");
    const put = (line: Uint8Array): void => {
      wire.append("scribe_to_forge.jsonl", `${Buffer.from(line).toString()}\n`);
    };
    const claim = (): void => {
      put(wire.forge("scribe", { refs: Array.from({ length: 99 }, () => "x") }).line);
    };
    wire.setClock("forge", DAY);
    claim();
    await wire.pass(SECOND);
    expect(await causes(wire, "forge")).toEqual(["too_many_refs"]);
    wire.setClock("forge", 0);
    await wire.pass(MINUTE);
    claim();
    await wire.pass(SECOND);
    expect(await causes(wire, "forge")).toEqual(["too_many_refs", "too_many_refs"]);
  });
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
      return wire.roster.map((handle) => wire.lines(wire.carrier(handle)).length);
    };
    expect(await beatsOf(byMs)).toEqual(await beatsOf(0));
  });
});

test("a line dated in the year 9999 is refused, and does not date what its author says next", async () => {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start("forge");
  const atMs = Date.UTC(9999, 11, 31, 23, 59, 59);
  const far = wire.forge("scribe", { atMs, subject: "far" });
  wire.append("scribe_to_forge.jsonl", `${Buffer.from(far.line).toString()}\n`);
  await wire.settle();
  expect(await causes(wire, "forge")).toEqual([]);
  await wire.pass(16 * MINUTE);
  expect(await inbox(wire, "forge")).toEqual([]);
  expect(await causes(wire, "forge")).toEqual(["clock_skew"]);
  // Its own daemon did not sign it; its operator takes it over, and a clock that is right is believed again.
  await wire.start("scribe");
  await wire.agent("scribe").reclaim();
  await tell(wire, "scribe", "now");
  await wire.pass(2 * MINUTE);
  expect(await inbox(wire, "forge")).toEqual(["now"]);
  expect(chain(wire, "scribe").at(-1)?.timestamp).toMatch(/^2026-/);
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
    const stamps = chain(wire, "forge").map(({ timestamp }) => timestamp);
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
    const scene = await faultScene(["forge", "scribe"], { seed: at });
    const { wire, checker } = scene;
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
    checker.look();
    wire.suspend(1);
    if (!wire.isUp("forge")) await wire.start("forge");
    await send(scene, "forge", say("first of the year"));
    await recoverAndCheck(scene);
    const years = chain(wire, "forge").map(({ timestamp }) => timestamp.slice(0, 4));
    expect(new Set(years)).toEqual(new Set(["2026", "2027"]));
  }
  expect(at).toBeGreaterThan(5);
});
