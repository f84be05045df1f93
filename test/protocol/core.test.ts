import { describe, expect, test } from "vitest";
import { newBeatTimers } from "../../src/protocol/heartbeats/beat-timers.ts";
import { apply, decide } from "../../src/protocol/core.ts";
import type { Effect } from "../../src/protocol/effects.ts";
import { toldEvent } from "../../src/protocol/notices.ts";
import { emptyState, type State } from "../../src/protocol/state.ts";
import { OutcomeScript } from "../support/scripts/outcome-script.ts";
import { moment } from "../support/scripts/scripted-agent.ts";
import {
  hours,
  lineEvent,
  NOON,
  scriptEnv,
  seconds,
  WireScript,
  type ScriptLine,
} from "../support/scripts/wire-script.ts";

const names = (effects: readonly Effect[]): string[] =>
  effects.map((effect) => {
    if (effect.do === "beat" || effect.do === "send") return `${effect.do} in ${effect.log}`;
    return effect.do === "tell" ? `tell ${effect.incident.cause}` : effect.do;
  });

describe("deciding", () => {
  test("first what is to be written, then what the operator is to be told", () => {
    const steps = ["a proposes P", "b beats", "a incident I", "a proposes Q thread=second"];
    const script = new OutcomeScript(
      "pairwise",
      ["a", "b"],
      [...steps, "b acks Q thread=second", "a beats"],
    );
    const state = script.fold("a");
    const env = script.env("a");
    const now = moment(NOON + hours(1));
    const effects = decide(state, env, now, newBeatTimers());
    expect(names(effects)).toEqual([
      "beat in a_to_b",
      "send in a_to_b",
      "record",
      "mirror",
      "tell proposal_silent",
      "tell incident_not_covered",
      "tell peer_silent",
    ]);
    expect(decide(state, env, now, newBeatTimers())).toEqual(effects);
    for (const effect of effects) {
      if (effect.do === "tell") apply(state, toldEvent(effect.incident, now.wallMs), env);
    }
    expect(decide(state, env, now, newBeatTimers())).toEqual(
      effects.filter((effect) => effect.do !== "tell"),
    );
  });
});

describe("folding", () => {
  const script = () => new WireScript("pairwise", ["a", "b"]);

  function folded(wire: WireScript, lines: readonly ScriptLine[]): State {
    const state = emptyState();
    for (const line of lines) apply(state, lineEvent(line, "a"), scriptEnv(wire.layout, "a"));
    return state;
  }

  test("our beats slow down when nothing waits unread, and only then", () => {
    const tierWith = (type: string | undefined) => {
      const wire = script();
      const lines: ScriptLine[] = [];
      if (type !== undefined) lines.push(wire.say("b_to_a", NOON, { type }));
      for (let n = 0; n < 6; n += 1) lines.push(wire.beat("a_to_b", NOON + seconds(90 * n)));
      return folded(wire, lines).heartbeats.paces.get("b")?.tier;
    };
    expect(tierWith("feedback")).toBe("T1_active");
    expect(tierWith("heartbeat")).toBe("T2_idle");
  });

  test("old beats are forgotten every 512th beat, beyond 1,024", () => {
    const wire = script();
    const state = emptyState();
    const held = new Map<number, number | undefined>();
    for (let n = 1; n <= 1_537; n += 1) {
      const beat = lineEvent(wire.beat("a_to_b", NOON + n), "a");
      apply(state, beat, scriptEnv(wire.layout, "a"));
      held.set(n, state.logs.get("a_to_b")?.beats.length);
    }
    const counts = [1_024, 1_535, 1_536, 1_537].map((count) => held.get(count));
    expect(counts).toEqual([1_024, 1_535, 512, 513]);
  });

  test("what is told again changes nothing, until it was taken back", () => {
    const wire = script();
    const env = scriptEnv(wire.layout, "a");
    const state = folded(wire, [wire.say("b_to_a", NOON, { type: "feedback" })]);
    const refused = {
      kind: "refused",
      log: "b_to_a",
      line: 2,
      at: NOON,
      reason: "malformed",
    } as const;
    const named = () => state.receipts.taken.get("b_to_a")?.refused.ranges ?? [];
    apply(state, refused, env);
    apply(state, refused, env);
    expect(named()).toMatchObject([{ first: 2, last: 2, reason: "foreign" }]);
    expect(state.logs.get("b_to_a")?.foreign).toBe(1);
    apply(state, { kind: "rewound", log: "b_to_a", line: 1, at: NOON }, env);
    expect(named()).toEqual([]);
    expect(state.logs.get("b_to_a")).toMatchObject({ lines: 1, foreign: 0 });
    apply(state, { ...refused, reason: "schema" }, env);
    expect(named()).toMatchObject([{ first: 2, last: 2, reason: "foreign" }]);
    expect(state.logs.get("b_to_a")?.foreign).toBe(1);
  });
});
