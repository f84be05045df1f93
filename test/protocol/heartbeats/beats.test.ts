import { describe, expect, test } from "vitest";
import type { Effect } from "../../../src/protocol/effects.ts";
import { newBeatTimers } from "../../../src/protocol/heartbeats/beat-timers.ts";
import { decideBeats, lastBeats, stateToSay } from "../../../src/protocol/heartbeats/beats.ts";
import type { Transition } from "../../../src/trust/policy/heartbeat-tiers.ts";
import { makeLayout } from "../../../src/wire/layout.ts";
import type { Absence } from "../../../src/wire/roster/members.ts";
import { moment, ScriptedAgent } from "../../support/scripts/scripted-agent.ts";
import {
  minutes,
  NOON,
  scriptEnv,
  seconds,
  WireScript,
} from "../../support/scripts/wire-script.ts";
import { setBreaches } from "../../support/scripts/ignored-incidents.ts";

// What our heartbeats say, and which are due.

const iso = (ms: number): string => new Date(ms).toISOString();
const BREACH = {
  ...{ author: "scribe", of: "forge", incident: "i", escalation: "e", log: "scribe_to_forge" },
  ...{ line: 1, secondBeatMs: NOON, resumed: false },
};

function scene(kind: "pairwise" | "outbox" = "pairwise", roster = ["forge", "scribe"]) {
  const script = new WireScript(kind, roster);
  const forge = new ScriptedAgent(script, scriptEnv(script.layout, "forge"));
  const park = (at: number): string => {
    const body = { acks: "0".repeat(64), approve: true, parks: true };
    const [log = ""] = [...script.layout.logs.keys()].filter((name) => name.startsWith("forge"));
    const { message } = forge.say(log, moment(at), { type: "ack", thread: "t", body });
    forge.fold({ kind: "stopped", by: message.id, outcome: "none", detail: "", at });
    return message.id;
  };
  return { script, forge, park };
}

const logsOf = (effects: readonly Effect[]): string[] =>
  effects.flatMap((effect) => (effect.do === "beat" ? [effect.log] : []));

const bodiesOf = (effects: readonly Effect[]) =>
  effects.flatMap((effect) => (effect.do === "beat" ? [effect.body] : []));

describe("the body of a beat", () => {
  const first = (forge: ScriptedAgent, at = NOON) =>
    decideBeats(forge, forge.env, moment(at), newBeatTimers());

  test("says how often our daemon started, how we are, and when the next one comes", () => {
    const { forge } = scene();
    forge.fold({ kind: "started", at: NOON });
    expect(first(forge)).toStrictEqual([
      {
        do: "beat",
        log: "forge_to_scribe",
        body: {
          ...{ wakeup_count: 1, state: "idle", next_eta: iso(NOON + seconds(90)) },
          ...{ inbox_unread_count: 0, tier: "T1_active", heads: {} },
        },
      },
    ]);
  });

  test("says what our agent did last, and when, and what is unread", () => {
    const { script, forge } = scene();
    const said = { state: "busy", lastAction: "tests" } as const;
    forge.fold({ kind: "status", at: NOON - minutes(3), ...said });
    script.say("scribe_to_forge", NOON, { type: "feedback" });
    forge.read(moment(NOON));
    expect(bodiesOf(first(forge))).toEqual([
      expect.objectContaining({
        ...{ state: "busy", last_action: "tests", agent_last_seen: iso(NOON - minutes(3)) },
        inbox_unread_count: 1,
        heads: { scribe_to_forge: expect.objectContaining({ lines: 1, read_lines: 0 }) },
      }),
    ]);
  });

  test("names the tier that follows when it ends the last idle cycle of one", () => {
    const { forge } = scene();
    const tierAt = (at: number) => {
      const [body] = bodiesOf(first(forge, at));
      const [beat] = forge.beat(moment(at));
      return [body?.tier, body?.next_eta, beat?.at];
    };
    expect(tierAt(NOON)).toEqual(["T1_active", iso(NOON + seconds(90)), NOON]);
    for (const at of [90, 180]) tierAt(NOON + seconds(at));
    const third = NOON + seconds(270);
    expect(tierAt(third)).toEqual(["T2_idle", iso(third + seconds(270)), third]);
  });

  test("counts no idle cycle of a reader whose messages wait, and none of others", () => {
    const { script, forge } = scene("pairwise", ["forge", "mason", "scribe"]);
    script.say("scribe_to_forge", NOON, { type: "feedback" });
    forge.read(moment(NOON));
    for (const at of [0, 90, 180]) forge.beat(moment(NOON + seconds(at)));
    const bodies = bodiesOf(first(forge, NOON + seconds(270)));
    expect(bodies.map(({ tier }) => tier)).toEqual(["T2_idle", "T1_active"]);
  });

  test("names a slower tier for no idle cycle in which something waits unread", () => {
    const script = new WireScript("pairwise", ["forge", "scribe"]);
    const transitions: Transition[] = [
      { from: ["T1_active"], to: "T2_idle", when: "idle_cycles", count: 1 },
    ];
    const forge = new ScriptedAgent(script, scriptEnv(script.layout, "forge", {}, { transitions }));
    script.say("scribe_to_forge", NOON, { type: "feedback" });
    forge.read(moment(NOON));
    for (const at of [0, 90]) forge.beat(moment(NOON + seconds(at)));
    const tierNow = () => bodiesOf(first(forge, NOON + seconds(180))).map(({ tier }) => tier);
    expect(tierNow()).toEqual(["T1_active"]);
    forge.fold({ kind: "read", ids: "all", at: NOON + seconds(91) });
    expect(tierNow()).toEqual(["T2_idle"]);
  });

  test("says of a parked agent that it is paused, at the slowest tier", () => {
    const { forge, park } = scene();
    park(NOON);
    expect(bodiesOf(first(forge))).toEqual([
      expect.objectContaining({
        ...{ state: "paused", tier: "T3_long_idle" },
        next_eta: iso(NOON + forge.env.policy.cadences.T3_long_idle),
      }),
    ]);
  });
});

describe("our state", () => {
  test("is as our agent says, unless it is parked or in safe mode", () => {
    const { forge, park } = scene();
    expect(stateToSay(forge, forge.env)).toBe("idle");
    forge.fold({ kind: "status", at: NOON, state: "blocked" });
    expect(stateToSay(forge, forge.env)).toBe("blocked");
    setBreaches(forge.incidents, [BREACH]);
    expect(stateToSay(forge, forge.env)).toBe("paused");
    forge.incidents.breaches = [{ ...BREACH, resumed: true }];
    expect(stateToSay(forge, forge.env)).toBe("blocked");
    park(NOON);
    expect(stateToSay(forge, forge.env)).toBe("paused");
  });
});

describe("a daemon that stops", () => {
  test("says so in each log, and comes back at the slowest tier at the latest", () => {
    const { forge } = scene("pairwise", ["forge", "mason", "scribe"]);
    forge.fold({ kind: "status", at: NOON, state: "busy", lastAction: "tests" });
    const beats = lastBeats(forge, forge.env, moment(NOON));
    expect(logsOf(beats)).toEqual(["forge_to_mason", "forge_to_scribe"]);
    for (const body of bodiesOf(beats)) {
      expect(body).toMatchObject({ state: "paused", tier: "T1_active", last_action: "tests" });
      expect(body.next_eta).toBe(iso(NOON + forge.env.policy.cadences.T3_long_idle));
    }
  });
});

describe("a beat is due", () => {
  const due = (forge: ScriptedAgent, at: number) => {
    return logsOf(decideBeats(forge, forge.env, moment(at), forge.timers));
  };

  test("when its time has come, and not before", () => {
    const { forge } = scene();
    forge.beat(moment(NOON));
    expect(due(forge, NOON + seconds(90) - 1)).toEqual([]);
    expect(due(forge, NOON + seconds(90))).toEqual(["forge_to_scribe"]);
  });

  test("at once when our agent is parked, and when it goes on", () => {
    const { forge, park } = scene();
    forge.beat(moment(NOON));
    const by = park(NOON + 1);
    expect(due(forge, NOON + 2)).toEqual(["forge_to_scribe"]);
    forge.beat(moment(NOON + 2));
    expect(due(forge, NOON + 3)).toEqual([]);
    forge.fold({ kind: "woken", by, at: NOON + 4 });
    expect(due(forge, NOON + 5)).toEqual(["forge_to_scribe"]);
    forge.beat(moment(NOON + 5));
    expect(due(forge, NOON + 6)).toEqual([]);
  });

  test("where there is none yet, for a pause and not for its end", () => {
    const timer = { lastMs: NOON, promisedMs: seconds(90), factor: 1, earlyMs: undefined };
    const timers = { logs: new Map([["forge_to_scribe", timer]]), early: [] };
    const { forge, park } = scene();
    const dueNow = () => logsOf(decideBeats(forge, forge.env, moment(NOON + 1), timers));
    expect(dueNow()).toEqual([]);
    const by = park(NOON);
    expect(dueNow()).toEqual(["forge_to_scribe"]);
    forge.fold({ kind: "woken", by, at: NOON + 1 });
    expect(dueNow()).toEqual([]);
  });

  test("that says that we go on only once: not for the moment itself, nor while parked again", () => {
    const { forge, park } = scene();
    const by = park(NOON);
    forge.beat(moment(NOON + 4));
    forge.fold({ kind: "woken", by, at: NOON + 4 });
    expect(due(forge, NOON + 5)).toEqual([]);
    const again = scene();
    again.forge.beat(moment(NOON));
    again.forge.fold({ kind: "woken", by: "another", at: NOON + 1 });
    const body = { acks: "0".repeat(64), approve: true, parks: true };
    again.forge.say("forge_to_scribe", moment(NOON + 2), { type: "ack", thread: "t", body });
    // Its hook has not ended: it is neither paused nor going on.
    expect(due(again.forge, NOON + 3)).toEqual([]);
  });
});

describe("what a reader wrote before it left is covered by one more beat", () => {
  const ROSTER = ["forge", "mason", "scribe"];
  const gone = (lines: number, handle = "scribe"): [string, Absence[]] => {
    const place = { lines, seq: lines, eventId: undefined };
    const logs = new Map(ROSTER.map((reader) => [`${handle}_to_${reader}`, place]));
    return [handle, [{ atMs: NOON, logs, back: undefined }]];
  };
  const timer = { lastMs: NOON, promisedMs: seconds(90), factor: 1, earlyMs: undefined };
  const timers = { logs: new Map([["forge_to_mason", timer]]), early: [] };

  /** Of so many lines of scribe our last beat covers so many; -1: it has no heads; undefined: there is none. */
  const owed = (written: number, covered: number | undefined, left: [string, Absence[]][]) => {
    const script = new WireScript("pairwise", ROSTER);
    const env = scriptEnv(makeLayout("pairwise", ROSTER, new Map(left)), "forge");
    const forge = new ScriptedAgent(script, env);
    for (let at = 0; at < written; at += 1) {
      script.say("scribe_to_forge", NOON - 9 + at, { type: "feedback" });
    }
    const heads = covered === -1 ? {} : { scribe_to_forge: { lines: covered ?? 0 } };
    if (covered !== undefined) script.beat("forge_to_scribe", NOON, heads);
    forge.read(moment(NOON));
    return logsOf(decideBeats(forge, env, moment(NOON + 1), timers));
  };
  const BEAT = ["forge_to_scribe"];

  test.each<[string, number, number | undefined, [string, Absence[]][], string[]]>([
    ["where the last one covers less", 2, 1, [gone(2)], BEAT],
    ["where there is none", 2, undefined, [gone(2)], BEAT],
    ["not where the last one covers it", 2, 2, [gone(2)], []],
    ["not for what it wrote after it left", 2, 1, [gone(1)], []],
    ["not where it wrote nothing", 0, 0, [gone(0)], []],
    ["not for what we do not hold", 1, 1, [gone(2)], []],
    ["where the last one has no heads", 2, -1, [gone(2)], BEAT],
    ["not once we have left ourselves", 2, 1, [gone(2), gone(0, "forge")], []],
  ])("%s", (_what, written, covered, left, expected) => {
    expect(owed(written, covered, left)).toEqual(expected);
  });

  test("not in an outbox, which others read", () => {
    const script = new WireScript("outbox", ROSTER);
    const [handle, absences] = gone(2);
    const layout = makeLayout("outbox", ROSTER, new Map([[handle, absences]]));
    const forge = new ScriptedAgent(script, scriptEnv(layout, "forge"));
    script.say("scribe", NOON - 2, { type: "feedback" });
    script.say("scribe", NOON - 1, { type: "feedback" });
    forge.read(moment(NOON));
    const outbox = { logs: new Map([["forge", timer]]), early: [] };
    expect(decideBeats(forge, forge.env, moment(NOON + 1), outbox)).toEqual([]);
  });
});
