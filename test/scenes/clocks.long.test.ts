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
    expect(await causes(wire, "scribe")).toEqual(["clock_skew"]);
    for (const handle of wire.roster) {
      expect((await causes(wire, handle)).filter((cause) => ALARMS.test(cause))).toEqual([]);
    }
    expectOneChain(wire);
  });

  test("behind, and set right within a quarter of an hour: nothing is refused", async () => {
    const wire = sceneOf(["forge", "scribe"]);
    await wire.start();
    await tell(wire, "scribe", "s before");
    wire.setClock("forge", -HOUR);
    await tell(wire, "forge", "f");
    const during = await tell(wire, "scribe", "s");
    await wire.pass(10 * MINUTE);
    expect(await inbox(wire, "forge")).toEqual(["s before"]);
    wire.setClock("forge", 0);
    await wire.pass(5 * MINUTE);
    await tell(wire, "scribe", "s after");
    await wire.pass(5 * MINUTE);
    expect(await inbox(wire, "forge")).toEqual(["s before", "s", "s after"]);
    expect(await inbox(wire, "scribe")).toEqual(["f"]);
    expect(await receipt(wire, "scribe", during)).toMatchObject({ state: "delivered" });
    for (const handle of wire.roster) expect(await causes(wire, handle)).toEqual([]);
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
      waits: [{ log: "scribe_to_forge", because: "ahead" }],
    });
    expect(peer?.waits?.[0]?.detail).toMatch(/dated \d+ s ahead of our clock/);
    // No head of ours passes a line that is held back.
    const { body } = JSON.parse(wire.lines("forge_to_scribe.jsonl").at(-1) ?? "{}") as {
      body: { heads: Record<string, { lines: number }> };
    };
    expect(body.heads["scribe_to_forge"]?.lines ?? 0).toBe(0);
    wire.setClock("forge", 0);
    await wire.pass(MINUTE);
    expect(await inbox(wire, "forge")).toEqual(["one", "two"]);
    expect(await causes(wire, "forge")).toEqual([]);
    expect((await wire.agent("forge").view("peers", undefined))[0]?.waits).toEqual([]);
  });

  test("refuses what is still ahead after a quarter of an hour, counted over restarts", async () => {
    const wire = await slowReader(2 * HOUR);
    await wire.pass(10 * MINUTE);
    await wire.expectReplayEqualsLive("forge");
    await wire.pass(4 * MINUTE);
    expect(await refused(wire)).toBe(false);
    await wire.stop("forge");
    await wire.start("forge");
    await wire.pass(2 * MINUTE);
    expect(await refused(wire)).toBe(true);
    // Others that are ahead in the same hour are refused at once.
    const second = await tell(wire, "scribe", "three");
    await wire.pass(MINUTE);
    expect(await receipt(wire, "scribe", second)).toMatchObject({ reason: "clock_skew" });
    await wire.pass(45 * MINUTE);
    const later = await tell(wire, "scribe", "four");
    await wire.pass(MINUTE);
    expect(await receipt(wire, "scribe", later)).toMatchObject({ state: "stored" });
    wire.setClock("forge", 0);
    await wire.pass(MINUTE);
    expect((await inbox(wire, "forge")).at(-1)).toBe("four");
  });

  test("holds back at most once an hour for each log, no matter who asks", async () => {
    const wire = sceneOf(["forge", "scribe"]);
    await wire.start("forge");
    const put = (subject: string, aheadMs: number): void => {
      const made = wire.forge("scribe", "scribe_to_forge", { subject, atMs: wire.nowMs + aheadMs });
      wire.append("scribe_to_forge.jsonl", `${Buffer.from(made.line).toString()}\n`);
    };
    put("held back until it is in the limit", 7 * MINUTE);
    await wire.pass(MINUTE);
    expect(await inbox(wire, "forge")).toEqual([]);
    await wire.pass(90 * SECOND);
    expect(await inbox(wire, "forge")).toEqual(["held back until it is in the limit"]);
    put("a second one", 7 * MINUTE);
    await wire.pass(SECOND);
    expect(await refused(wire)).toBe(true);
    put("right again", 0);
    await wire.pass(SECOND);
    expect((await inbox(wire, "forge")).at(-1)).toBe("right again");
  });

  test("no time to answer runs against a peer whose lines it holds back", async () => {
    const wire = sceneOf(["forge", "scribe"]);
    await wire.start();
    const draft = { to: ["scribe"], type: "proposal", subject: "p", body: {}, ackRequired: true };
    const id = await wire.send("forge", draft);
    await wire.pass(2 * SECOND);
    wire.setClock("forge", -HOUR);
    const body = { acks: id, approve: true };
    const thread = await wire.agent("scribe").view("resolve_id", { id });
    const correlationId = thread.correlation_id;
    await wire.send("scribe", { to: ["forge"], type: "ack", subject: "yes", body, correlationId });
    await wire.pass(14 * MINUTE);
    const statusOf = async () =>
      (await wire.agent("forge").view("proposals", undefined)).map(({ status }) => status);
    expect(await statusOf()).toEqual(["open"]);
    wire.setClock("forge", 0);
    await wire.pass(5 * MINUTE);
    expect(await statusOf()).toEqual(["ratified"]);
  });
});

/** The names of all fields that hold a moment after that one. */
function timesAfter(value: unknown, afterMs: number, name = ""): string[] {
  if (typeof value === "number") return value > afterMs && value < 2 * afterMs ? [name] : [];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, each]) =>
    timesAfter(each, afterMs, Array.isArray(value) ? name : key),
  );
}

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
    await wire.expectReplayEqualsLive("forge");
    expect(await presence(wire)).toBe("late");
    await wire.pass(16 * MINUTE);
    expect(await presence(wire)).toBe("silent");
    const notices = await wire.agent("forge").view("notices", undefined);
    const told = notices.findLast(({ cause }) => cause === "peer_silent")?.at ?? "";
    expect(wire.nowMs - Date.parse(told)).toBeLessThan(16 * MINUTE);
  });

  test("is corrected once, and no message was received in the future", async () => {
    const wire = await jumped();
    await wire.pass(2 * MINUTE);
    const [message] = await wire.agent("forge").view("inbox", {});
    expect(Date.parse(message?._meta.received_at ?? "")).toBeLessThanOrEqual(wire.nowMs);
    const entries = wire.read(wire.paths("forge").journal).split("\n");
    expect(entries.filter((entry) => entry.includes('"set_back"'))).toHaveLength(1);
  });

  test("leaves nothing behind that is of that day, whatever it did and heard meanwhile", async () => {
    const wire = sceneOf(["forge", "scribe"]);
    await wire.start();
    await wire.pass(MINUTE);
    wire.setClock("forge", DAY);
    const both = async (draft: Parameters<SimulatedWire["send"]>[1]): Promise<string[]> => [
      await wire.send("scribe", { ...draft, to: ["forge"] }),
      await wire.send("forge", { ...draft, to: ["scribe"] }),
    ];
    await both({ to: [], type: "feedback", subject: "s", body: "x" });
    const [asked = ""] = await both({
      ...{ to: [], type: "proposal", subject: "p", body: {}, ackRequired: true },
    });
    const [raised = ""] = await both({
      ...{ to: [], type: "incident", subject: "i", body: { severity: "high" } },
    });
    for (const [id, type] of [
      [asked, "proposal"],
      [raised, "incident"],
    ] as const) {
      const { correlation_id: correlationId } = await wire
        .agent("forge")
        .view("resolve_id", { id });
      const body = { acks: id, approve: true };
      await wire.send("forge", { to: ["scribe"], type: "ack", subject: type, body, correlationId });
    }
    await wire.agent("forge").setStatus({ state: "busy", headsDown: true });
    const refused = wire.forge("scribe", "scribe_to_forge", {
      refs: Array(99).fill("x") as string[],
    });
    wire.append("scribe_to_forge.jsonl", `rubbish\n${Buffer.from(refused.line).toString()}\n`);
    await wire.pass(3 * MINUTE);
    wire.setClock("forge", 0);
    await wire.pass(SECOND);
    await wire.stop("forge");
    const [first = "", ...rest] = wire.read(wire.paths("forge").checkpoint).split("\n");
    const later = [first, ...rest.filter((line) => line !== "")].flatMap((line) =>
      timesAfter(JSON.parse(line) as unknown, wire.nowMs + SECOND),
    );
    // What lines say of their own time is theirs.
    expect(new Set(later)).toEqual(new Set(["timestampMs", "lastTimestampMs"]));
    await wire.start("forge");
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

  test("uses up no limit of an hour or a day that is yet to come", async () => {
    const wire = sceneOf(["forge", "scribe"]);
    await wire.start("forge");
    const put = (line: Uint8Array): void => {
      wire.append("scribe_to_forge.jsonl", `${Buffer.from(line).toString()}\n`);
    };
    const claim = (): void => {
      put(
        wire.forge("scribe", "scribe_to_forge", { refs: Array.from({ length: 99 }, () => "x") })
          .line,
      );
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
    wire.suspend(DAY);
    claim();
    await wire.pass(SECOND);
    expect(await causes(wire, "forge")).toHaveLength(3);
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
  expect(await causes(wire, "forge")).toEqual([]);
  await wire.pass(16 * MINUTE);
  expect(await inbox(wire, "forge")).toEqual([]);
  expect(await causes(wire, "forge")).toEqual(["clock_skew"]);
  // Its own daemon finds that line in its log; a clock that was fixed is believed again.
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
    const years = lines(wire, "forge_to_scribe").map(({ timestamp }) => timestamp.slice(0, 4));
    expect(new Set(years)).toEqual(new Set(["2026", "2027"]));
  }
  expect(at).toBeGreaterThan(5);
});

test("a line that is given back after our clock was set back is judged by when it came first", async () => {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start();
  await tell(wire, "scribe", "early");
  await wire.pass(5 * SECOND);
  const whole = wire.read("scribe_to_forge.jsonl");
  wire.kill("scribe");
  wire.kill("forge");
  wire.replace("scribe_to_forge.jsonl", "");
  await wire.start("forge");
  wire.setClock("forge", -HOUR);
  await wire.pass(MINUTE);
  wire.replace("scribe_to_forge.jsonl", whole);
  await wire.pass(20 * MINUTE);
  expect(await inbox(wire, "forge")).toEqual(["early"]);
  expect(await causes(wire, "forge")).not.toContain("clock_skew");
});
