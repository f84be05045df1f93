import { describe, expect, test } from "vitest";
import {
  addresseesOf,
  holdsAllOf,
  isForUs,
  lastLineOf,
  mayOwe,
  readersAddressed,
  type Asking,
} from "../../src/protocol/addressing.ts";
import type { Env } from "../../src/protocol/env.ts";
import { proved } from "../../src/admission/rules/proved.ts";
import { makeLayout, pairNames } from "../../src/wire/layout.ts";
import type { Absence } from "../../src/wire/roster/members.ts";
import { apply } from "../../src/protocol/core.ts";
import { emptyState } from "../../src/protocol/state.ts";
import type { Message } from "../../src/wire/message.ts";
import {
  lineEvent,
  NOON,
  scriptEnv,
  seconds,
  WireScript,
  type ScriptLine,
} from "../support/scripts/wire-script.ts";

const ROSTER = ["ada", "bob", "eve"];

function message(log: string, to: readonly string[] | undefined): Message {
  const { message: said } = new WireScript(
    log.includes("_to_") ? "pairwise" : "outbox",
    ROSTER,
  ).say(log, NOON, { type: "ship", ...(to === undefined ? {} : { to }) });
  return { ...said, to };
}

function envOf(kind: "pairwise" | "outbox", self: string): Env {
  return scriptEnv(makeLayout(kind, ROSTER), self);
}

describe("a line is addressed", () => {
  test.each([
    ["ada", undefined, ["bob", "eve"]],
    ["ada", ["*"], ["bob", "eve"]],
    ["ada", ["eve", "*"], ["bob", "eve"]],
    ["ada", ["eve"], ["eve"]],
    ["ada", ["eve", "ada", "sam"], ["eve"]],
    ["ada", [], []],
    ["ada_to_bob", undefined, ["bob"]],
    ["ada_to_bob", ["*"], ["bob"]],
    ["ada_to_bob", ["eve"], []],
  ])("in the log %s to %j: %j", (name, to, expected) => {
    const env = envOf(name.includes("_to_") ? "pairwise" : "outbox", "bob");
    const log = env.layout.logs.get(name);
    if (log === undefined) throw new Error(`no log ${name}`);
    expect(addresseesOf(message(name, to), log, env)).toEqual(expected);
  });

  test.each([
    ["ada", "bob", undefined, true],
    ["ada", "bob", ["*"], true],
    ["ada", "bob", ["eve", "bob"], true],
    ["ada", "bob", ["eve"], false],
    ["ada", "ada", ["*"], false],
    ["ada", "auditor", ["*"], false],
    ["ada_to_bob", "bob", undefined, true],
    ["ada_to_bob", "bob", ["bob"], true],
    ["ada_to_bob", "bob", ["eve"], false],
    ["ada_to_bob", "eve", ["*"], false],
    ["ada_to_bob", "ada", ["*"], false],
  ])("in the log %s, read by %s, to %j, for us: %s", (name, self, to, expected) => {
    const env = envOf(name.includes("_to_") ? "pairwise" : "outbox", self);
    const said = proved(message(name, to), 1);
    const event = lineEvent({ log: name, line: 1, at: NOON, message: said, raw: "" }, self);
    expect(isForUs(event, env)).toBe(expected);
  });

  test("for nobody when the wire has no such log", () => {
    const said = proved(message("ada", ["*"]), 1);
    const event = lineEvent({ log: "sam", line: 1, at: NOON, message: said, raw: "" }, "bob");
    expect(isForUs(event, envOf("outbox", "bob"))).toBe(false);
  });
});

const place = (lines: number) => ({ lines, seq: lines, eventId: undefined });
/** Eve left at noon, after so many lines of that log. */
const leftAfter = (lines: number, log = "eve"): Absence => {
  return { atMs: NOON, logs: new Map([[log, place(lines)]]), back: undefined };
};
/** Eve came, or came back, at that time. */
const cameAt = (atMs: number): Absence => {
  return { atMs: undefined, logs: new Map(), back: { atMs, logs: new Map() } };
};
const leaving = (absence: Absence, kind: "pairwise" | "outbox" = "outbox"): Env =>
  scriptEnv(makeLayout(kind, ROSTER, new Map([["eve", [absence]]])), "ada");

describe("of an agent that left", () => {
  test("what goes to all is addressed to it up to then, what names it always", () => {
    const env = leaving(leftAfter(1));
    const log = env.layout.logs.get("ada");
    if (log === undefined) throw new Error("no log");
    const to = (whom: readonly string[], timestampMs: number): (readonly string[])[] => {
      const said = { ...message("ada", whom), timestampMs };
      return [addresseesOf(said, log, env), readersAddressed(said, log, env)];
    };
    expect(to(["*"], NOON - 1)).toEqual(Array(2).fill(["bob", "eve"]));
    expect(to(["*"], NOON)).toEqual([["bob"], ["bob", "eve"]]);
    expect(to(["eve"], NOON)).toEqual(Array(2).fill(["eve"]));
  });

  test("the last line is known, by log; of a member none is the last", () => {
    expect(lastLineOf("eve", "eve", leaving(leftAfter(7)))).toBe(7);
    expect(lastLineOf("eve", "another", leaving(leftAfter(7)))).toBe(0);
    expect(lastLineOf("bob", "bob", leaving(leftAfter(7)))).toBeUndefined();
    expect(lastLineOf("eve", "eve", leaving(cameAt(NOON)))).toBeUndefined();
    expect(lastLineOf("stranger", "eve", leaving(leftAfter(7)))).toBe(0);
  });

  test("all is held once its last line is", () => {
    const script = new WireScript("outbox", ROSTER);
    const lines = [1, 2].map((at) => script.say("eve", NOON - at, { type: "ship" }));
    const holds = (count: number, env: Env, handle = "eve"): boolean => {
      const state = emptyState();
      for (const line of lines.slice(0, count)) apply(state, lineEvent(line, "ada"), env);
      return holdsAllOf(handle, handle, state.logs, env);
    };
    expect([0, 1, 2].map((count) => holds(count, leaving(leftAfter(2))))).toEqual([
      ...[false, false, true],
    ]);
    expect(holds(2, leaving(leftAfter(1)))).toBe(true);
    expect(holds(0, leaving(leftAfter(0)))).toBe(true);
    expect(holds(2, envOf("outbox", "ada"))).toBe(false);
    expect(holds(2, leaving(leftAfter(0)), "bob")).toBe(false);
  });

  test("all of a closed log is held once its outbox is, too", () => {
    const logs = new Map([
      ["eve_to_ada", place(1)],
      ["eve", place(2)],
    ]);
    const left = new Map([["eve", [{ ...leftAfter(0), logs }]]]);
    const env = scriptEnv(makeLayout("outbox", ROSTER, left, pairNames(ROSTER)), "ada");
    const script = new WireScript("moving", ROSTER);
    const state = emptyState();
    const take = (line: ScriptLine): boolean => {
      apply(state, lineEvent(line, "ada"), env);
      return holdsAllOf("eve", "eve_to_ada", state.logs, env);
    };
    expect(take(script.say("eve_to_ada", NOON - 3, { type: "ship" }))).toBe(false);
    expect(take(script.say("eve", NOON - 2, { type: "ship" }))).toBe(false);
    expect(take(script.say("eve", NOON - 1, { type: "ship" }))).toBe(true);
    expect(holdsAllOf("eve", "nowhere", state.logs, env)).toBe(true);
    expect(holdsAllOf("bob", "nowhere", state.logs, env)).toBe(false);
  });
});

describe("an addressee may owe an answer", () => {
  const asking = (change: Partial<Asking> = {}): Asking => {
    return { log: "ada", line: 2, from: "ada", timestampMs: NOON, toAll: false, ...change };
  };
  /** Eve's first beat covers so many lines of ada; -1: it has no heads; undefined: there is none. */
  const owes = (env: Env, asked: Asking, handle = "eve", covered?: number): boolean => {
    const script = new WireScript("outbox", ROSTER);
    const state = emptyState();
    const lines = [1, 2, 3].map((at) => script.say("ada", NOON + at, { type: "ship" }));
    if (covered !== undefined) {
      const heads = covered === -1 ? {} : { ada: { lines: covered } };
      lines.push(script.beat("eve", NOON + seconds(9), heads));
    }
    for (const line of lines) apply(state, lineEvent(line, "ada"), env);
    return mayOwe(state.logs, env, handle, asked);
  };

  test("where nobody has ever left or come", () => {
    expect(owes(envOf("outbox", "ada"), asking({ toAll: true }))).toBe(true);
  });

  test.each<[string, Absence, Partial<Asking>, string, boolean]>([
    ["of two members", leftAfter(1), {}, "bob", true],
    ["none that is away", leftAfter(1), {}, "eve", false],
    ["none to an author who is away", leftAfter(1), { from: "eve" }, "bob", false],
    ["since it came", cameAt(NOON), {}, "eve", true],
    ["none from before it came", cameAt(NOON + 1), {}, "eve", false],
    ["since its author came", cameAt(NOON), { from: "eve" }, "bob", true],
    ["none from before its author came", cameAt(NOON + 1), { from: "eve" }, "bob", false],
    ["of what went to all, who was there", cameAt(NOON), { toAll: true }, "bob", true],
    ["of what went to all, no newcomer yet", cameAt(NOON), { toAll: true }, "eve", false],
    ["of no log that is known", cameAt(NOON), { toAll: true, log: "x" }, "eve", false],
  ])("%s", (_what, absence, change, handle, expected) => {
    expect(owes(leaving(absence), asking(change), handle)).toBe(expected);
  });

  test.each([
    [-1, true],
    [0, true],
    [1, true],
    [2, false],
    [3, false],
  ])(
    "of what went to all unless the newcomer's first beat covers it: %d lines",
    (lines, expected) => {
      const env = leaving(cameAt(NOON));
      expect(owes(env, asking({ toAll: true }), "eve", lines)).toBe(expected);
      expect(owes(env, asking(), "eve", lines)).toBe(true);
    },
  );
});
