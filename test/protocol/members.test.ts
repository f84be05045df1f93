import { describe, expect, test } from "vitest";
import { newBeatTimers } from "../../src/protocol/heartbeats/beat-timers.ts";
import { peersView } from "../../src/protocol/heartbeats/liveness.ts";
import { safeMode } from "../../src/protocol/incidents/safe-mode.ts";
import { incidentsView } from "../../src/protocol/incidents/incident-view.ts";
import { requestsView } from "../../src/protocol/requests/requests-view.ts";
import { proposalsView } from "../../src/protocol/decisions/proposals-view.ts";
import { pendingView } from "../../src/protocol/threads/threads-view.ts";
import { claimsView } from "../../src/protocol/claims/claims-view.ts";
import { sentView } from "../../src/protocol/receipts/sent-view.ts";
import { apply, decide } from "../../src/protocol/core.ts";
import { emptyState, type State } from "../../src/protocol/state.ts";
import { makeLayout } from "../../src/wire/layout.ts";
import type { Absence, Absences } from "../../src/wire/roster/members.ts";
import type { Env } from "../../src/protocol/env.ts";
import {
  hours,
  lineEvent,
  minutes,
  NOON,
  seconds,
  scriptEnv,
  WireScript,
  type ScriptLine,
} from "../support/scripts/wire-script.ts";

const ROSTER = ["a", "b", "c"];
const REQUEST = { request_id: "12345678", request_type: "look" };

/** Agent c left at that time, after so many lines. */
function leftAt(atMs: number, lines: number): Absences {
  const logs = new Map([["c", { lines, seq: lines, eventId: undefined }]]);
  return new Map([["c", [{ atMs, logs, back: undefined } satisfies Absence]]]);
}

/** Agent c came at that time. */
function cameAt(atMs: number): Absences {
  const back = { atMs, logs: new Map() };
  return new Map([["c", [{ atMs: undefined, logs: new Map(), back }]]]);
}

function envOf(self: string, left: Absences): Env {
  return scriptEnv(makeLayout("outbox", ROSTER, left), self);
}

interface Folded {
  readonly state: State;
  readonly env: Env;
}

function folded(self: string, left: Absences, lines: readonly ScriptLine[]): Folded {
  const state = emptyState();
  const env = envOf(self, left);
  apply(state, { kind: "started", at: NOON - hours(1) }, env);
  for (const line of lines) apply(state, lineEvent(line, self), env);
  return { state, env };
}

const owed = ({ state, env }: Folded): string[] =>
  pendingView(state, env, NOON + hours(2)).map(({ owed_by, type }) => `${owed_by}: ${type}`);

function sendsOf({ state, env }: Folded, nowMs: number): string[] {
  const effects = decide(state, env, { wallMs: nowMs, monoMs: nowMs }, newBeatTimers());
  return effects.flatMap((effect) =>
    effect.do === "send" ? [`${effect.draft.subject} (${JSON.stringify(effect.draft.body)})`] : [],
  );
}

describe("an agent that left", () => {
  const script = new WireScript("outbox", ROSTER);
  const lines = [
    ...["a", "b", "c"].map((log) => script.beat(log, NOON)),
    script.say("a", NOON + seconds(1), { type: "request", to: ["*"] }),
    script.say("c", NOON + seconds(2), { type: "request", to: ["a"] }),
    script.say("a", NOON + seconds(3), { type: "request", to: ["c"], body: REQUEST }),
    script.say("c", NOON + seconds(4), {
      type: "claim",
      body: { paths: ["x/**"], mode: "exclusive", ttl_seconds: 36_000 },
    }),
    script.say("c", NOON + seconds(5), { type: "feedback" }),
  ];
  const later = script.say("a", NOON + minutes(5), { type: "feedback", to: ["*"] });
  const left = leftAt(NOON + minutes(1), 4);

  test("owes nothing, is owed nothing, and has no row", () => {
    const before = folded("a", new Map(), [...lines, later]);
    expect(owed(before)).toEqual(["b: request", "c: request", "a: request", "c: request"]);
    const after = folded("a", left, [...lines, later]);
    expect(owed(after)).toEqual(["b: request"]);
    const rows = peersView(after.state, after.env, NOON).map(({ handle }) => handle);
    expect(rows).toEqual(["b"]);
  });

  test("gets what is sent to all before it leaves, and nothing later", () => {
    const { state } = folded("a", left, [...lines, later]);
    const [newest, , first] = sentView(state.receipts.sent);
    expect(newest?.to).toEqual(["b"]);
    expect(first?.to).toEqual(["b", "c"]);
  });

  test("ends what was asked of it: our request is expired at once", () => {
    const { state, env } = folded("a", left, lines);
    const [request] = requestsView(state.requests, state.logs, env);
    expect(request?.status).toBe("expired");
    expect(sendsOf({ state, env }, NOON + minutes(2)).join()).toContain("c has left this wire");
    expect(sendsOf(folded("a", new Map(), lines), NOON + minutes(2))).toEqual([]);
  });

  test("is waited for until we hold all that it wrote before", () => {
    const { state, env } = folded("a", leftAt(NOON + minutes(1), 9), lines);
    expect(requestsView(state.requests, state.logs, env)[0]?.status).toBe("pending");
    expect(sendsOf({ state, env }, NOON + minutes(2))).toEqual([]);
  });

  test("claims nothing any more", () => {
    const status = ({ state, env }: Folded) => {
      const facts = { claims: state.claims, logs: state.logs, env, nowMs: NOON + minutes(2) };
      return claimsView(facts)[0]?.status;
    };
    expect(status(folded("a", new Map(), lines))).toBe("held");
    expect(status(folded("a", left, lines))).toBe("void");
  });

  test("beats no more, nor sends anything, in its own eyes", () => {
    const { state, env } = folded("c", left, lines);
    const now = { wallMs: NOON + hours(1), monoMs: 0 };
    const effects = decide(state, env, now, newBeatTimers());
    expect(effects.filter((effect) => effect.do === "beat")).toEqual([]);
  });
});

/** Agents b and c ack a proposal of a, whose next beat covers both; it names that line of c as refused. */
function asking(
  refused?: [number, string],
): Record<"beats" | "rest", ScriptLine[]> & Record<"first" | "ofC" | "ofB" | "covers", ScriptLine> {
  const script = new WireScript("outbox", ROSTER);
  const beats = ROSTER.map((log) => script.beat(log, NOON));
  const body = { required: ["b", "c"] };
  const first = script.say("a", NOON + seconds(1), { type: "proposal", to: ["b", "c"], body });
  const { id, correlationId: thread } = first.message;
  const ack = { type: "ack", thread, body: { acks: id, approve: true } };
  const ofC = script.say("c", NOON + seconds(2), ack);
  const ofB = script.say("b", NOON + seconds(3), ack);
  const covers = script.beat("a", NOON + seconds(4), {
    b: { lines: 2 },
    c: { lines: 2, ...(refused === undefined ? {} : { refused: [refused] }) },
  });
  return { beats, first, ofC, ofB, covers, rest: [first, ofC, ofB, covers] };
}

describe("proposals and an agent that left", () => {
  const { beats, first, ofC, ofB, rest } = asking();
  const statusOf = ({ state, env }: Folded): unknown =>
    proposalsView(state.proposals, state.logs, env).map(({ status }) => status);

  test("what it agreed to before stays ratified, for everybody", () => {
    for (const self of ROSTER) {
      for (const left of [new Map(), leftAt(NOON + minutes(1), 2)]) {
        expect(statusOf(folded(self, left, [...beats, ...rest]))).toEqual(["ratified"]);
      }
    }
  });

  test("what it agreed to afterwards counts unless the proposer names it as refused", () => {
    const seenBy = (all: ReturnType<typeof asking>): unknown => {
      const state = emptyState();
      const env = envOf("b", leftAt(NOON, 1));
      for (const line of [...all.beats, ...all.rest]) {
        const change = line === all.ofC ? ({ refused: "left_member" } as const) : {};
        apply(state, lineEvent(line, "b", change), env);
      }
      return statusOf({ state, env });
    };
    expect(seenBy(asking())).toEqual(["ratified"]);
    expect(seenBy(asking([2, "left_member"]))).toEqual(["open"]);
  });

  test("its silence ends the proposal at once, when we hold all that it wrote", () => {
    const open = [...beats, first, ofB];
    const at = NOON + seconds(9);
    const sent = sendsOf(folded("a", leftAt(NOON, 1), open), at);
    expect(sent.join()).toContain("c has left this wire");
    expect(sendsOf(folded("a", leftAt(NOON, 2), open), at)).toEqual([]);
    expect(sendsOf(folded("a", leftAt(NOON, 2), [...open, ofC]), at)).toEqual([]);
  });
});

describe("a newcomer", () => {
  const script = new WireScript("outbox", ROSTER);
  const came = NOON + minutes(10);
  const old = script.say("a", NOON + seconds(1), { type: "request", to: ["*"] });
  const incident = script.say("a", NOON + seconds(2), {
    type: "incident",
    body: { severity: "high" },
  });
  const between = script.say("a", came + seconds(1), { type: "request", to: ["*"] });
  const named = script.say("a", came + seconds(2), { type: "request", to: ["c"] });
  const beat = script.beat("c", came + seconds(3), { a: { lines: 4 } });
  const after = script.say("a", came + seconds(4), { type: "request", to: ["*"] });
  const lines = [old, incident, between, named, beat, after];
  const byC = (all: Folded): string[] => owed(all).filter((each) => each.startsWith("c"));

  test("owes nothing for what its first beat covers, unless it is named", () => {
    expect(byC(folded("a", cameAt(came), lines))).toEqual(["c: request", "c: request"]);
    expect(byC(folded("a", cameAt(came), [old, incident, between]))).toEqual([]);
    expect(byC(folded("c", cameAt(came), lines))).toEqual(["c: request", "c: request"]);
    expect(byC(folded("a", new Map(), lines))).toHaveLength(4);
  });

  test("was not asked about an incident of before", () => {
    const { state, env } = folded("a", cameAt(came), lines);
    const [view] = incidentsView(state.incidents, env, state.logs);
    expect(view?.addressees.map(({ handle }) => handle)).toEqual(["b"]);
    const tells = decide(state, env, { wallMs: NOON + hours(9), monoMs: 0 }, newBeatTimers());
    expect(JSON.stringify(tells)).not.toContain("has not reached c");
  });

  test("is no addressee of what was said to all before", () => {
    const { state } = folded("a", cameAt(came), lines);
    expect(sentView(state.receipts.sent).map(({ to }) => to)).toEqual([
      ["b", "c"],
      ["c"],
      ["b", "c"],
      ["b"],
      ["b"],
    ]);
  });
});

test("one that came back owes nothing from before, and nothing from before is owed to it", () => {
  const script = new WireScript("outbox", ROSTER);
  const lines = [
    script.beat("c", NOON),
    script.say("a", NOON + seconds(1), { type: "request", to: ["c"] }),
    script.say("c", NOON + seconds(2), { type: "request", to: ["a"] }),
    script.beat("c", NOON + minutes(10), { a: { lines: 1 } }),
    script.say("a", NOON + minutes(11), { type: "request", to: ["c"] }),
  ];
  const at = (seq: number) => new Map([["c", { lines: seq, seq, eventId: undefined }]]);
  const back = { atMs: NOON + minutes(5), logs: at(3) };
  const left = new Map([["c", [{ atMs: NOON + minutes(1), logs: at(2), back }]]]);
  expect(owed(folded("a", new Map(), lines))).toHaveLength(3);
  expect(owed(folded("a", left, lines))).toEqual(["c: request"]);
});

test("in a pair nothing is beaten for one that left, but for what it wrote before", () => {
  const script = new WireScript("pairwise", ["a", "b"]);
  const beat = script.beat("b_to_a", NOON);
  const said = script.say("b_to_a", NOON + seconds(1), { type: "feedback" });
  const left: Absences = new Map([
    [
      "b",
      [
        {
          atMs: NOON + seconds(2),
          logs: new Map([["b_to_a", { lines: 2, seq: 2, eventId: undefined }]]),
          back: undefined,
        },
      ],
    ],
  ]);
  const env = scriptEnv(makeLayout("pairwise", ["a", "b"], left), "a");
  const state = emptyState();
  const beatsNow = () =>
    decide(state, env, { wallMs: NOON + hours(1), monoMs: 0 }, newBeatTimers()).filter(
      (effect) => effect.do === "beat",
    ).length;
  expect(beatsNow()).toBe(0);
  for (const line of [beat, said]) apply(state, lineEvent(line, "a"), env);
  expect(beatsNow()).toBe(1);
  const covers = script.beat("a_to_b", NOON + seconds(3), { b_to_a: { lines: 2 } });
  apply(state, lineEvent(covers, "a"), env);
  expect(beatsNow()).toBe(0);
});

test("safe mode ends with the leaving of its author", () => {
  const script = new WireScript("outbox", ROSTER);
  const incident = script.say("c", NOON, { type: "incident", body: { severity: "high" } });
  script.beat("b", NOON);
  script.beat("b", NOON + seconds(1), { c: { lines: 1, read: 1 } });
  script.say("c", NOON + minutes(5), {
    type: "incident",
    thread: incident.message.correlationId,
    body: { escalates: incident.message.id, of: "b", severity: "high" },
  });
  script.beat("b", NOON + minutes(20), { c: { lines: 2, read: 1 } });
  const lines = ["c", "b"].flatMap((log) => script.lines.get(log) ?? []);
  const isSafe = (left: Absences): boolean => {
    const { state, env } = folded("a", left, lines);
    return safeMode(state.incidents, env) !== undefined;
  };
  expect(isSafe(new Map())).toBe(true);
  expect(isSafe(leftAt(NOON + minutes(30), 2))).toBe(false);
});
