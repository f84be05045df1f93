import { describe, expect, test } from "vitest";
import { eventId } from "../../support/scripts/event-id.ts";
import type { HeartbeatBody } from "../../../src/protocol/effects.ts";
import { newBeatTimers, planBeats } from "../../../src/protocol/heartbeats/beat-timers.ts";
import { lastBeats } from "../../../src/protocol/heartbeats/beats.ts";
import { paceOf, readersOf } from "../../../src/protocol/heartbeats/heartbeats.ts";
import { MAX_T0_BEATS } from "../../../src/protocol/heartbeats/pace.ts";
import { mayInitiate } from "../../../src/protocol/startup.ts";
import { toPlain } from "../../../src/wire/json/json.ts";
import { makeLayout } from "../../../src/wire/layout.ts";
import { moment, runUntil, ScriptedAgent } from "../../support/scripts/scripted-agent.ts";
import {
  hours,
  lineEvent,
  minutes,
  NOON,
  scriptEnv,
  seconds,
  WireScript,
  type ScriptLine,
} from "../../support/scripts/wire-script.ts";

function pair(): { script: WireScript; forge: ScriptedAgent; scribe: ScriptedAgent } {
  const script = new WireScript("pairwise", ["forge", "scribe"]);
  const forge = new ScriptedAgent(script, scriptEnv(script.layout, "forge"));
  const scribe = new ScriptedAgent(script, scriptEnv(script.layout, "scribe"));
  return { script, forge, scribe };
}

const bodyOf = (line: ScriptLine): HeartbeatBody => toPlain(line.message.body) as HeartbeatBody;

/** `12:01:30 T1_active` for every beat of that log. */
function transcript(beats: readonly ScriptLine[], log: string): string[] {
  return beats
    .filter((line) => line.log === log)
    .map((line) => `${new Date(line.at).toISOString().slice(11, 19)} ${bodyOf(line).tier}`);
}

describe("tiers", () => {
  test("idle: three cycles to T2, nine more to T3; a message brings back T1", () => {
    const { forge, scribe } = pair();
    forge.fold({ kind: "started", at: NOON });
    const idle = runUntil([forge], NOON, NOON + hours(1));
    expect(transcript(idle, "forge_to_scribe")).toEqual([
      "12:00:00 T1_active",
      "12:01:30 T1_active",
      "12:03:00 T1_active",
      "12:04:30 T2_idle",
      "12:09:00 T2_idle",
      "12:13:30 T2_idle",
      "12:18:00 T2_idle",
      "12:22:30 T2_idle",
      "12:27:00 T2_idle",
      "12:31:30 T2_idle",
      "12:36:00 T2_idle",
      "12:40:30 T2_idle",
      "12:45:00 T3_long_idle",
    ]);
    const at = NOON + hours(1) + minutes(1);
    scribe.say("scribe_to_forge", moment(at), { type: "feedback" });
    const woken = runUntil([forge], at, at + minutes(4));
    expect(transcript(woken, "forge_to_scribe")).toEqual([
      "13:01:01 T1_active",
      "13:02:31 T1_active",
      "13:04:01 T1_active",
    ]);
  });

  test("nothing is idle while something waits unread", () => {
    const { forge, scribe } = pair();
    scribe.say("scribe_to_forge", moment(NOON), { type: "feedback" });
    const beats = runUntil([forge], NOON, NOON + hours(1));
    expect(new Set(beats.map((line) => bodyOf(line).tier))).toEqual(new Set(["T1_active"]));
    expect(bodyOf(beats.at(-1) as ScriptLine).inbox_unread_count).toBe(1);
    forge.fold({ kind: "read", ids: "all", at: NOON + hours(1) });
    const later = runUntil([forge], NOON + hours(1), NOON + hours(1) + minutes(10));
    expect(bodyOf(later.at(-1) as ScriptLine).tier).toBe("T2_idle");
  });

  test("the peers of one agent stand at different tiers, each in its own log", () => {
    const script = new WireScript("pairwise", ["ada", "bob", "eve"]);
    const ada = new ScriptedAgent(script, scriptEnv(script.layout, "ada"));
    const beats: ScriptLine[] = [];
    for (let at = NOON; at < NOON + minutes(30); at += minutes(2)) {
      ada.say("ada_to_bob", moment(at), { type: "feedback" });
      beats.push(...runUntil([ada], at, at + minutes(2) - 1));
    }
    const last = (log: string) => bodyOf(beats.findLast((line) => line.log === log) as ScriptLine);
    expect(last("ada_to_bob").tier).toBe("T1_active");
    expect(last("ada_to_eve").tier).toBe("T2_idle");
    expect(beats.filter((line) => line.log === "ada_to_bob").length).toBeGreaterThanOrEqual(19);
    expect(beats.filter((line) => line.log === "ada_to_eve")).toHaveLength(9);
  });

  test("in one outbox we beat at the fastest of them", () => {
    const script = new WireScript("outbox", ["ada", "bob", "eve"]);
    const ada = new ScriptedAgent(script, scriptEnv(script.layout, "ada"));
    const beats: ScriptLine[] = [];
    for (let at = NOON; at < NOON + minutes(60); at += minutes(4)) {
      ada.say("ada", moment(at), { type: "feedback", to: ["bob"] });
      beats.push(...runUntil([ada], at, at + minutes(4) - 1));
    }
    expect(new Set(beats.map((line) => bodyOf(line).tier))).toEqual(new Set(["T1_active"]));
    expect(ada.heartbeats.paces.get("eve")?.tier).toBe("T3_long_idle");
  });

  test("an early beat is no idle cycle, and costs none", () => {
    const { forge } = pair();
    const tierAt = (at: number) => {
      forge.say("forge_to_scribe", moment(at), { type: "heartbeat" });
      return forge.heartbeats.paces.get("scribe")?.tier;
    };
    expect(tierAt(NOON)).toBe("T1_active");
    for (let n = 1; n <= 26; n += 1) expect(tierAt(NOON + n * seconds(10))).toBe("T1_active");
    expect(tierAt(NOON + seconds(270))).toBe("T2_idle");
  });

  test("a message in between starts the count again", () => {
    const { forge } = pair();
    runUntil([forge], NOON, NOON + minutes(4));
    forge.say("forge_to_scribe", moment(NOON + minutes(4)), { type: "feedback" });
    const beats = runUntil([forge], NOON + minutes(4), NOON + minutes(10));
    expect(transcript(beats, "forge_to_scribe")).toEqual([
      "12:04:30 T1_active",
      "12:06:00 T1_active",
      "12:07:30 T1_active",
      "12:09:00 T2_idle",
    ]);
  });

  test("cadences and transitions are those of the pinned file", () => {
    const script = new WireScript("pairwise", ["forge", "scribe"]);
    const env = scriptEnv(
      script.layout,
      "forge",
      {},
      {
        cadences: { T0_HEADS_DOWN: 1_000, T1_active: 5_000, T2_idle: 7_000, T3_long_idle: 9_000 },
        transitions: [{ from: ["T1_active"], to: "T3_long_idle", when: "idle_cycles", count: 1 }],
      },
    );
    const forge = new ScriptedAgent(script, env);
    const beats = runUntil([forge], NOON, NOON + seconds(30));
    expect(transcript(beats, "forge_to_scribe")).toEqual([
      "12:00:00 T1_active",
      "12:00:05 T3_long_idle",
      "12:00:14 T3_long_idle",
      "12:00:23 T3_long_idle",
    ]);
    forge.say("forge_to_scribe", moment(NOON + seconds(31)), { type: "feedback" });
    expect(forge.heartbeats.paces.get("scribe")?.tier).toBe("T3_long_idle");
  });

  test("a message that we refuse, or that is not for us, is no traffic", () => {
    const { script, forge } = pair();
    runUntil([forge], NOON, NOON + minutes(10));
    const line = script.say("scribe_to_forge", NOON + minutes(10), { type: "claim" });
    forge.fold(lineEvent(line, "forge", { refused: "tier_refused" }));
    const other = script.say("scribe_to_forge", NOON + minutes(10), { type: "ship", to: ["eve"] });
    forge.fold(lineEvent(other, "forge"));
    expect(forge.heartbeats.paces.get("scribe")?.tier).toBe("T2_idle");
  });

  test("heads down by hand lasts until the next word of state, or twenty beats", () => {
    const { forge } = pair();
    forge.fold({ kind: "started", at: NOON });
    forge.fold({ kind: "status", at: NOON, state: "busy", headsDown: true });
    const beats = runUntil([forge], NOON, NOON + minutes(15));
    const tiers = beats.map((line) => bodyOf(line).tier);
    expect(tiers.filter((tier) => tier === "T0_HEADS_DOWN")).toHaveLength(MAX_T0_BEATS - 1);
    expect(tiers[MAX_T0_BEATS - 1]).toBe("T1_active");
    expect(forge.heartbeats.headsDown).toBe(false);

    const again = NOON + minutes(15);
    forge.fold({ kind: "status", at: again, headsDown: true });
    expect(forge.heartbeats.paces.get("scribe")?.tier).toBe("T0_HEADS_DOWN");
    forge.fold({ kind: "status", at: again + 1, state: "idle" });
    expect(forge.heartbeats.paces.get("scribe")?.tier).toBe("T1_active");
  });

  test("a counter-proposal begins T0; its edge counts once, and the ack of it ends it", () => {
    const { forge, scribe } = pair();
    const asked = forge.say("forge_to_scribe", moment(NOON), { type: "proposal" });
    const thread = asked.message.correlationId;
    forge.openConflicts.add(thread);
    scribe.say("scribe_to_forge", moment(NOON + 1), { type: "proposal", thread });
    forge.read(moment(NOON + 2));
    const pace = () => forge.heartbeats.paces.get("scribe");
    expect(pace()?.tier).toBe("T0_HEADS_DOWN");
    forge.say("forge_to_scribe", moment(NOON + 3), { type: "ack", thread });
    expect(pace()?.tier).toBe("T1_active");
    forge.say("forge_to_scribe", moment(NOON + 4), { type: "feedback", thread });
    expect(pace()?.tier).toBe("T1_active");
  });

  test("T0 ends when no conflict is open", () => {
    const { forge, scribe } = pair();
    const asked = forge.say("forge_to_scribe", moment(NOON), { type: "proposal" });
    const thread = asked.message.correlationId;
    forge.openConflicts.add(thread);
    scribe.say("scribe_to_forge", moment(NOON + 1), { type: "proposal", thread });
    forge.read(moment(NOON + 2));
    expect(forge.heartbeats.paces.get("scribe")?.tier).toBe("T0_HEADS_DOWN");
    forge.openConflicts.clear();
    scribe.say("scribe_to_forge", moment(NOON + 3), { type: "ack", thread });
    forge.read(moment(NOON + 4));
    expect(forge.heartbeats.paces.get("scribe")?.tier).toBe("T1_active");
  });

  test("replay equals live", () => {
    const { script, forge, scribe } = pair();
    scribe.say("scribe_to_forge", moment(NOON), { type: "proposal" });
    runUntil([forge, scribe], NOON, NOON + minutes(20));
    forge.fold({ kind: "read", ids: "all", at: NOON + minutes(20) });
    runUntil([forge, scribe], NOON + minutes(20), NOON + hours(2));
    const replayed = new ScriptedAgent(script, forge.env);
    for (const event of forge.events) replayed.fold(event);
    expect(replayed.heartbeats).toEqual(forge.heartbeats);
    expect(replayed.receipts).toEqual(forge.receipts);
    expect(forge.heartbeats.paces.get("scribe")?.tier).toBe("T3_long_idle");
  });
});

describe("when beats are due", () => {
  test("jitter stays within five per cent", () => {
    for (const jitter of [0, 0.25, 0.999_999]) {
      const { forge } = pair();
      forge.jitter = jitter;
      forge.fold({ kind: "status", at: NOON, state: "busy" });
      forge.read(moment(NOON));
      forge.beat(moment(NOON));
      const wait = forge.nextDueMs() - NOON;
      expect(wait).toBeGreaterThanOrEqual(seconds(85.5));
      expect(wait).toBeLessThan(seconds(94.5));
      expect(wait).toBeCloseTo(seconds(90) * (0.95 + 0.1 * jitter), 3);
      expect(forge.beat(moment(forge.nextDueMs() - 1))).toEqual([]);
    }
  });

  test("an hour of suspension yields one beat", () => {
    const { forge } = pair();
    runUntil([forge], NOON, NOON + minutes(2));
    const woken = NOON + minutes(2) + hours(1);
    expect(forge.beat(moment(woken))).toHaveLength(1);
    expect(forge.beat(moment(woken + 1))).toHaveLength(0);
    expect(forge.nextDueMs()).toBeGreaterThan(woken + minutes(1));
  });

  test("a burst brings one beat forward, within two seconds", () => {
    const { forge, scribe } = pair();
    runUntil([forge], NOON, NOON + seconds(10));
    const burst = NOON + seconds(20);
    for (let n = 0; n < 5; n += 1) {
      scribe.say("scribe_to_forge", moment(burst + n * 100), { type: "feedback" });
      forge.read(moment(burst + n * 100));
    }
    const beats = runUntil([forge], burst + 500, burst + seconds(30));
    expect(beats).toHaveLength(1);
    expect((beats[0] as ScriptLine).at - burst).toBeLessThanOrEqual(seconds(2));
    expect(bodyOf(beats[0] as ScriptLine).heads["scribe_to_forge"]?.lines).toBe(5);
  });

  test("at most six a minute are brought forward, in all logs together", () => {
    const script = new WireScript("pairwise", ["ada", "bob", "eve"]);
    const ada = new ScriptedAgent(script, scriptEnv(script.layout, "ada"));
    const writer = new ScriptedAgent(script, scriptEnv(script.layout, "bob"));
    const other = new ScriptedAgent(script, scriptEnv(script.layout, "eve"));
    runUntil([ada], NOON, NOON);
    const beats: ScriptLine[] = [];
    for (let at = NOON + 1; at < NOON + minutes(5); at += seconds(2)) {
      writer.say("bob_to_ada", moment(at), { type: "feedback" });
      other.say("eve_to_ada", moment(at), { type: "feedback" });
      beats.push(...runUntil([ada], at, at + seconds(2) - 1));
    }
    for (const { at } of beats) {
      const within = beats.filter((line) => line.at >= at && line.at < at + minutes(1));
      // Regular beats of two logs come on top.
      expect(within.length).toBeLessThanOrEqual(6 + 2);
    }
    expect(beats.length).toBeGreaterThanOrEqual(5 * 5);
  });

  test("a heartbeat brings nothing forward, and neither does history", () => {
    const { forge, script } = pair();
    runUntil([forge], NOON, NOON);
    script.beat("scribe_to_forge", NOON + 1);
    forge.read(moment(NOON + 2));
    expect(forge.nextDueMs()).toBe(NOON + seconds(90));
    const old = script.say("scribe_to_forge", NOON + 3, { type: "feedback" });
    forge.fold(lineEvent(old, "forge", { live: false }));
    forge.timers = planBeats(forge.timers, forge.receipts, forge.env, moment(NOON + 4));
    expect(forge.nextDueMs()).toBe(NOON + seconds(90));
  });

  test("traffic ends a slow tier's wait at once, but a promised beat is never late", () => {
    const { forge } = pair();
    runUntil([forge], NOON, NOON + hours(2));
    const last = forge.timers.logs.get("forge_to_scribe")?.lastMs ?? 0;
    const at = last + minutes(10);
    forge.say("forge_to_scribe", moment(at), { type: "feedback" });
    expect(forge.nextDueMs()).toBe(last + seconds(90));
    expect(forge.beat(moment(at))).toHaveLength(1);

    forge.fold({ kind: "status", at: at + 1, headsDown: true });
    forge.beat(moment(at + seconds(31)));
    forge.fold({ kind: "status", at: at + seconds(32), state: "idle" });
    expect(forge.nextDueMs()).toBe(at + seconds(31) + seconds(30));
  });
});

describe("what a beat says", () => {
  test("wakeups go on after a restart, also when only our own log is left", () => {
    const { script, forge } = pair();
    forge.fold({ kind: "started", at: NOON });
    runUntil([forge], NOON, NOON + minutes(5));
    forge.fold({ kind: "started", at: NOON + minutes(6) });
    forge.timers = newBeatTimers();
    expect(bodyOf(forge.beat(moment(NOON + minutes(6)))[0] as ScriptLine).wakeup_count).toBe(2);
    const fresh = new ScriptedAgent(script, forge.env);
    fresh.read(moment(NOON + minutes(7)));
    fresh.fold({ kind: "started", at: NOON + minutes(7) });
    expect(bodyOf(fresh.beat(moment(NOON + minutes(7)))[0] as ScriptLine).wakeup_count).toBe(3);
  });

  test("the agent's state and last action; when the agent itself was last seen", () => {
    const { forge } = pair();
    const first = bodyOf(forge.beat(moment(NOON))[0] as ScriptLine);
    expect(first).toMatchObject({ state: "idle", inbox_unread_count: 0, tier: "T1_active" });
    expect(first.last_action).toBeUndefined();
    expect(first.agent_last_seen).toBeUndefined();
    const at = NOON + minutes(1);
    forge.fold({ kind: "status", at, state: "blocked", lastAction: "waits for review" });
    forge.say("forge_to_scribe", moment(at + 5), {
      type: "incident",
      body: { escalates: "x", of: "scribe" },
    });
    const next = bodyOf(forge.beat(moment(NOON + seconds(90)))[0] as ScriptLine);
    expect(next).toMatchObject({
      state: "blocked",
      last_action: "waits for review",
      agent_last_seen: new Date(at).toISOString(),
      next_eta: new Date(NOON + seconds(180)).toISOString(),
    });
  });

  test("in safe mode the daemon reports `paused`", () => {
    const { script, forge } = pair();
    const beat = (at: number) => bodyOf(forge.beat(moment(at))[0] as ScriptLine).state;
    expect(beat(NOON)).toBe("idle");
    const raised = forge.say("forge_to_scribe", moment(NOON + 1), {
      type: "incident",
      body: { severity: "critical" },
    });
    script.beat("scribe_to_forge", NOON + 2, { forge_to_scribe: { lines: 1, read: 1 } });
    script.beat("scribe_to_forge", NOON + 2, { forge_to_scribe: { lines: 2, read: 2 } });
    forge.say("forge_to_scribe", moment(NOON + 3), {
      type: "incident",
      body: { escalates: raised.message.id, of: "scribe" },
    });
    script.beat("scribe_to_forge", NOON + minutes(11), { forge_to_scribe: { lines: 3 } });
    forge.read(moment(NOON + minutes(11)));
    expect(beat(NOON + minutes(12))).toBe("paused");
  });

  test("a daemon that stops says `paused` once in each log", () => {
    const script = new WireScript("pairwise", ["ada", "bob", "eve"]);
    const ada = new ScriptedAgent(script, scriptEnv(script.layout, "ada"));
    const last = lastBeats(ada, ada.env, moment(NOON));
    expect(last.map((effect) => (effect.do === "beat" ? effect.log : ""))).toEqual([
      "ada_to_bob",
      "ada_to_eve",
    ]);
    expect(last[0]).toMatchObject({
      body: { state: "paused", next_eta: new Date(NOON + minutes(20)).toISOString() },
    });
  });
});

describe("what the fold makes of a line", () => {
  const IDLE = { from: ["*" as const], to: "T2_idle", when: "state_change_posted" } as const;
  const scene = () => {
    const script = new WireScript("pairwise", ["forge", "scribe"]);
    const change = { transitions: [IDLE] };
    const forge = new ScriptedAgent(script, scriptEnv(script.layout, "forge", {}, change));
    const tier = () => forge.heartbeats.paces.get("scribe")?.tier;
    return { script, forge, tier };
  };

  test.each([
    ["ship", {}, true, true],
    ["warning", {}, true, true],
    ["decision", {}, true, true],
    ["release", {}, true, true],
    ["feedback", {}, false, true],
    ["proposal", {}, false, true],
    ["trust_tier_announcement", {}, false, false],
    ["agent_card", {}, false, false],
    ["incident", {}, false, true],
    ["incident", { escalates: "x" }, false, false],
    ["correction", {}, false, true],
    ["correction", { reverts: "x" }, false, false],
  ])("%s %j of ours: a change of state %s, the agent's own act %s", (type, body, posted, own) => {
    const { script, forge, tier } = scene();
    const line = script.say("forge_to_scribe", NOON, { type: "feedback", body });
    forge.fold(lineEvent({ ...line, message: { ...line.message, type } }, "forge"));
    expect(tier()).toBe(posted ? "T2_idle" : "T1_active");
    expect(forge.heartbeats.agentLastSeen).toBe(own ? NOON : undefined);
  });

  test("an ack is a change of state where something was proposed", () => {
    for (const [type, expected] of [
      ["proposal", "T2_idle"],
      ["ship", "T1_active"],
    ] as const) {
      const { forge, tier, script } = scene();
      const asked = script.say("scribe_to_forge", NOON, { type });
      forge.read(moment(NOON));
      const thread = asked.message.correlationId;
      forge.say("forge_to_scribe", moment(NOON + 1), { type: "feedback", thread });
      expect(tier()).toBe("T1_active");
      forge.say("forge_to_scribe", moment(NOON + 2), { type: "ack", thread });
      expect(tier()).toBe(expected);
    }
  });

  test("what the peer ships is no change of our state, and no act of our agent", () => {
    const { forge, script, tier } = scene();
    script.say("scribe_to_forge", NOON, { type: "ship" });
    forge.read(moment(NOON));
    expect([tier(), forge.heartbeats.agentLastSeen]).toEqual(["T1_active", undefined]);
    forge.fold({ kind: "read", ids: "all", at: NOON + 5 });
    expect(forge.heartbeats.agentLastSeen).toBe(NOON + 5);
  });

  test("the agent's words are kept until others come, the last action cut at 200", () => {
    const { forge } = scene();
    const said = () => {
      const { status, lastAction, headsDown, agentLastSeen } = forge.heartbeats;
      return { status, lastAction, headsDown, agentLastSeen };
    };
    forge.fold({ kind: "status", at: NOON, state: "busy", lastAction: "é".repeat(201) });
    const first = { status: "busy", lastAction: "é".repeat(200), headsDown: false };
    expect(said()).toEqual({ ...first, agentLastSeen: NOON });
    forge.fold({ kind: "status", at: NOON + 1 });
    expect(said()).toEqual({ ...first, agentLastSeen: NOON + 1 });
    forge.fold({ kind: "mirrored", id: "x", at: NOON + 2 });
    expect(said()).toEqual({ ...first, agentLastSeen: NOON + 1 });
  });

  test("heads are down until the agent says otherwise, whatever it says besides", () => {
    const { forge } = pair();
    forge.fold({ kind: "status", at: NOON, headsDown: true });
    expect(forge.heartbeats.headsDown).toBe(true);
    expect(forge.heartbeats.paces.get("scribe")?.tier).toBe("T0_HEADS_DOWN");
    forge.say("forge_to_scribe", moment(NOON + 1), { type: "feedback" });
    expect(forge.heartbeats.headsDown).toBe(true);
    forge.fold({ kind: "status", at: NOON + 2, headsDown: false });
    expect(forge.heartbeats.headsDown).toBe(false);
    expect(forge.heartbeats.paces.get("scribe")?.tier).toBe("T1_active");
  });

  test("no tier stays down when no peer's pace is: they are not down forever", () => {
    const { forge } = pair();
    forge.fold({ kind: "status", at: NOON, headsDown: true });
    for (let n = 0; n < MAX_T0_BEATS; n += 1) {
      expect(forge.heartbeats.headsDown).toBe(true);
      forge.say("forge_to_scribe", moment(NOON + n), { type: "heartbeat" });
    }
    expect(forge.heartbeats.headsDown).toBe(false);
  });

  test("a line in a log that the wire does not have is nothing", () => {
    const { forge, script } = pair();
    const line = { ...script.say("forge_to_scribe", NOON, { type: "ship" }), log: "sam_to_forge" };
    forge.fold(lineEvent(line, "forge"));
    expect(forge.heartbeats.paces.size).toBe(0);
    expect(readersOf("sam_to_forge", forge.env)).toEqual([]);
    const outbox = scriptEnv(makeLayout("outbox", ["ada", "bob", "eve"]), "ada");
    expect(readersOf("bob", outbox)).toEqual(["ada", "eve"]);
  });

  test("a counter between two others is no conflict of ours; nor is a mere message", () => {
    const script = new WireScript("outbox", ["ada", "bob", "eve"]);
    const ada = new ScriptedAgent(script, scriptEnv(script.layout, "ada"));
    const say = (from: string, type: string, thread: string) => {
      const line = script.say(from, NOON, { type, thread });
      ada.fold(lineEvent(line, "ada"));
      ada.openConflicts.add(thread);
    };
    const tiers = () => ["bob", "eve"].map((peer) => ada.heartbeats.paces.get(peer)?.tier);
    say("bob", "proposal", "X");
    say("eve", "proposal", "X");
    say("bob", "proposal", "X");
    say("ada", "proposal", "Y");
    say("bob", "feedback", "Y");
    expect(tiers()).toEqual(["T1_active", "T1_active"]);
    say("bob", "proposal", "Y");
    expect(tiers()).toEqual(["T0_HEADS_DOWN", "T1_active"]);
    say("eve", "proposal", "Z");
    say("ada", "proposal", "Z");
    expect(tiers()).toEqual(["T0_HEADS_DOWN", "T0_HEADS_DOWN"]);
  });

  test("who proposed first is remembered of the newest 512 threads", () => {
    const { forge, script } = pair();
    const line = script.say("scribe_to_forge", NOON, { type: "proposal" });
    for (let n = 0; n <= 512; n += 1) {
      const message = { ...line.message, id: eventId(`${n}`), correlationId: `thread ${n}` };
      forge.fold(lineEvent({ ...line, line: n + 1, message }, "forge"));
      if (n === 511) expect(forge.heartbeats.proposers.has("thread 0")).toBe(true);
    }
    expect(forge.heartbeats.proposers.size).toBe(512);
    expect(forge.heartbeats.proposers.has("thread 0")).toBe(false);
  });
});

describe("starting up", () => {
  test("one peer is enough, and what is not of the daemon's own account is not delayed", () => {
    const { heartbeats } = pair().forge;
    const own = ["claim", "proposal", "decision"];
    const may = () => own.map((type) => mayInitiate(type, heartbeats));
    expect(may()).toEqual([false, false, false]);
    expect(mayInitiate("ship", heartbeats)).toBe(true);
    paceOf(heartbeats, "scribe").observed = 1;
    paceOf(heartbeats, "other").observed = 2;
    expect(may()).toEqual([true, true, true]);
    paceOf(heartbeats, "other").observed = 1;
    expect(may()).toEqual([false, false, false]);
  });

  test("two full intervals are observed before the daemon speaks on its own account", () => {
    const { forge, scribe } = pair();
    forge.fold({ kind: "started", at: NOON });
    const may = () => mayInitiate("proposal", forge.heartbeats);
    runUntil([forge], NOON, NOON + seconds(89));
    scribe.say("scribe_to_forge", moment(NOON + seconds(30)), { type: "feedback" });
    runUntil([forge], NOON + seconds(30), NOON + seconds(60));
    expect(may()).toBe(false);
    expect(mayInitiate("incident", forge.heartbeats)).toBe(true);
    runUntil([forge], NOON + seconds(60), NOON + minutes(4));
    expect(may()).toBe(true);
    forge.fold({ kind: "started", at: NOON + minutes(5) });
    expect(may()).toBe(false);
  });
});
