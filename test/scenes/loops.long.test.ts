import { describe, expect, test } from "vitest";
import { fromPlain } from "../../src/wire/json/json.ts";
import { checkedScenes } from "../support/scenes/scene-checks.ts";
import type { SimulatedWire } from "../support/scenes/simulated-wire.ts";

// What two daemons, or two agents that answer everything, could do to each other forever.

const honestScene = checkedScenes("replay and audit");
const hostileScene = checkedScenes("replay");

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const PAIR = ["forge", "scribe"] as const;

interface Line {
  readonly from: string;
  readonly type: string;
  readonly timestamp: string;
  readonly body: { readonly cause?: string };
}

function parsed(wire: SimulatedWire, name: string): Line[] {
  return wire.lines(name).flatMap((line) => {
    try {
      return [JSON.parse(line) as Line];
    } catch {
      return []; // junk that a scene put there
    }
  });
}

function spoken(wire: SimulatedWire): Line[] {
  const lines = PAIR.flatMap((handle) => parsed(wire, `${handle}_to_${peerOf(handle)}.jsonl`));
  return lines.filter(({ type }) => type !== "heartbeat");
}

function peerOf(handle: string): string {
  return handle === "forge" ? "scribe" : "forge";
}

async function quiet(wire: SimulatedWire): Promise<void> {
  for (const handle of PAIR) await wire.agent(handle).markRead("all");
  await wire.pass(2 * HOUR);
}

describe("two daemons raising incidents about each other", () => {
  test("by their own account: to their operators only, six an hour and a summary, and no answer", async () => {
    const wire = hostileScene(PAIR);
    await wire.start();
    // Each finds something new and grave in the other's file, again and again, for two hours.
    const perHour = 10;
    for (let at = 0; at < 2 * perHour; at += 1) {
      for (const handle of PAIR) {
        const log = `${handle}_to_${peerOf(handle)}`;
        const far = { seq: 1_000 * (at + 1), id: "00".repeat(32) };
        const line = wire.forge(handle, {
          after: far,
          type: "heartbeat",
          body: fromPlain({}),
        });
        wire.append(`${log}.jsonl`, `${Buffer.from(line.line).toString()}\n`);
      }
      await wire.pass(HOUR / perHour);
    }
    await wire.pass(HOUR);
    expect(spoken(wire)).toEqual([]);
    const mirrored = parsed(wire, "incident_log.jsonl");
    for (const handle of PAIR) {
      const notices = await wire.agent(handle).view("notices", undefined);
      expect(notices.length).toBeGreaterThan(0);
      const about = notices.filter(({ peer }) => peer === peerOf(handle));
      expect(about.length).toBeLessThanOrEqual(3 * 7);
      expect(mirrored.filter(({ from }) => from === handle).length).toBeLessThanOrEqual(3 * 6);
      expect((await wire.agent(handle).view("inbox", {})).messages).toEqual([]);
      expect(await wire.agent(handle).view("pending", undefined)).toEqual([]);
      expect((await wire.outcome(handle)).safeMode).toBeNull();
    }
    const before = mirrored.length;
    await wire.pass(HOUR);
    expect(parsed(wire, "incident_log.jsonl")).toHaveLength(before);
  });

  test("by escalations: each incident is escalated once, and no escalation is", async () => {
    const wire = honestScene(PAIR);
    await wire.start();
    for (const handle of PAIR) {
      await wire.send(handle, {
        to: [peerOf(handle)],
        type: "incident",
        subject: `${handle} is alarmed`,
        body: { severity: "high" },
        ackRequired: true,
      });
    }
    for (const handle of PAIR) await wire.agent(handle).markRead("all");
    await wire.pass(HOUR);
    expect(wire.transcript()).toMatchInlineSnapshot(`
      "0:00:00 forge → scribe incident "forge is alarmed"
      0:00:00 scribe → forge incident "scribe is alarmed"
      0:10:14 forge → scribe incident "no answer"
      0:10:14 scribe → forge incident "no answer""
    `);
  });
});

describe("two agents woken by each other", () => {
  test("a message brings one beat forward on each side, and those beats bring none", async () => {
    const wire = honestScene(PAIR);
    await wire.start();
    await quiet(wire);
    const before = PAIR.map((handle) => beats(wire, handle));
    await wire.send("forge", { to: ["scribe"], type: "feedback", subject: "hello", body: "x" });
    await wire.pass(20 * SECOND);
    const early = PAIR.map((handle, at) => beats(wire, handle) - (before[at] ?? 0));
    expect(early[1]).toBe(1);
    expect(early[0]).toBeLessThanOrEqual(1);
    // Nor has anything but the message been said, to an agent that would be woken by it.
    expect(spoken(wire)).toHaveLength(1);
    expect((await wire.agent("forge").view("inbox", {})).messages).toEqual([]);
  });

  test("agents that answer every message at once cost six early beats a minute, not one a message", async () => {
    const wire = honestScene(PAIR);
    await wire.start();
    await quiet(wire);
    const before = PAIR.map((handle) => beats(wire, handle));
    await wire.send("forge", { to: ["scribe"], type: "feedback", subject: "0", body: "x" });
    for (let round = 1; round <= 120; round += 1) {
      const from = round % 2 === 0 ? "forge" : "scribe";
      const to = [peerOf(from)];
      await wire.send(from, { to, type: "feedback", subject: `${round}`, body: "x" });
      await wire.pass(SECOND);
    }
    // Two minutes: six a minute brought forward, and those that were due anyway.
    for (const [at, handle] of PAIR.entries()) {
      expect(beats(wire, handle) - (before[at] ?? 0)).toBeLessThanOrEqual(2 * 6 + 4);
    }
  });
});

function beats(wire: SimulatedWire, handle: string): number {
  const lines = parsed(wire, `${handle}_to_${peerOf(handle)}.jsonl`);
  return lines.filter(({ type }) => type === "heartbeat").length;
}

describe("acks of acks", () => {
  test("owe nobody anything: the daemons are silent, however long the agents go on", async () => {
    const wire = honestScene(PAIR);
    await wire.start();
    const ask = { to: ["scribe"], type: "feedback", subject: "seen?", body: "x" };
    let id = await wire.send("forge", { ...ask, ackRequired: true });
    expect(await wire.agent("forge").view("pending", undefined)).toHaveLength(1);
    const { correlation_id: correlationId } = await wire.agent("forge").view("resolve_id", { id });
    for (let round = 0; round < 20; round += 1) {
      const from = round % 2 === 0 ? "scribe" : "forge";
      const { place } = await wire.agent(from).view("resolve_id", { id });
      const ack = { to: [peerOf(from)], type: "ack", subject: "ack", body: { about: place } };
      id = await wire.send(from, { ...ack, correlationId });
      for (const handle of PAIR) {
        expect(await wire.agent(handle).view("pending", undefined)).toEqual([]);
      }
    }
    await wire.pass(HOUR);
    expect(spoken(wire)).toHaveLength(21);
    expect(wire.lines("incident_log.jsonl")).toEqual([]);
  });

  test("that ask for an ack are owed by the agent alone: no daemon answers, escalates or asks again", async () => {
    const wire = honestScene(PAIR);
    await wire.start();
    const ask = { to: ["scribe"], type: "feedback", subject: "seen?", body: "x" };
    const first = await wire.send("forge", { ...ask, ackRequired: true });
    const { place, correlation_id: correlationId } = await wire
      .agent("scribe")
      .view("resolve_id", { id: first });
    const ack = { to: ["forge"], type: "ack", subject: "ack me", body: { about: place } };
    await wire.send("scribe", { ...ack, correlationId, ackRequired: true });
    await wire.pass(HOUR);
    expect(spoken(wire)).toHaveLength(2);
    for (const handle of PAIR) {
      const owed = await wire.agent(handle).view("pending", undefined);
      expect(owed.map(({ owed_by: by, type }) => ({ by, type }))).toEqual([
        { by: "forge", type: "ack" },
      ]);
      expect((await wire.outcome(handle)).safeMode).toBeNull();
    }
  });
});
