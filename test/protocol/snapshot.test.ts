import { describe, expect, test } from "vitest";
import { apply } from "../../src/protocol/core.ts";
import { readSnapshot, writeSnapshot } from "../../src/protocol/snapshot.ts";
import { emptyState, type State } from "../../src/protocol/state.ts";
import { makeLayout } from "../../src/wire/layout.ts";
import {
  lineEvent,
  NOON,
  scriptEnv,
  WireScript,
  type Saying,
} from "../support/scripts/wire-script.ts";

const SAYINGS: readonly Saying[] = [
  { type: "proposal", subject: "let us", body: { required: ["b"] } },
  { type: "feedback", subject: "said beside it" },
  { type: "heartbeat", body: { state: "idle" } },
];

/** The state after so many lines of each kind. */
function stateOf(rounds: number): State {
  const state = emptyState();
  const script = new WireScript("pairwise", ["a", "b"]);
  const env = scriptEnv(makeLayout("pairwise", ["a", "b"]), "b");
  for (let round = 0; round < rounds; round += 1) {
    for (const saying of SAYINGS) {
      apply(state, lineEvent(script.say("a_to_b", NOON + round, saying), "b"), env);
    }
  }
  return state;
}

describe("a snapshot", () => {
  test("gives back the state, with the index over the messages that acks may name", () => {
    const state = stateOf(80);
    const { deciding, plain } = state.proposals.names;
    expect([deciding.get("a_to_b")?.size, plain.get("a_to_b")?.lines.length]).toEqual([80, 80]);
    expect(readSnapshot(writeSnapshot(state))).toEqual(state);
  });

  test("does not hold that index", () => {
    const text = [...writeSnapshot(stateOf(80))].join("\n");
    expect(text).toContain('"topics"');
    expect(text).not.toContain('"names","deciding"');
  });

  test("of another version is left aside", () => {
    const [first = "", ...rest] = writeSnapshot(stateOf(1));
    const other = first.replace(/"version":\d+/, '"version":1');
    expect(readSnapshot([other, ...rest])).toBeUndefined();
  });
});
