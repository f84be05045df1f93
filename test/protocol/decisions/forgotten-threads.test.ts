import { describe, expect, test } from "vitest";
import type { Outcome, Proposal } from "../../../src/protocol/decisions/proposal.ts";
import { newTopic, sizeOf } from "../../../src/protocol/decisions/proposal-thread.ts";
import {
  boundTopics,
  keepMove,
  type ProposalsState,
} from "../../../src/protocol/decisions/proposals-state.ts";
import { numberThread } from "../../../src/protocol/logs/known-lines.ts";
import { OutcomeScript } from "../../support/scripts/outcome-script.ts";

// What goes with a thread that is forgotten, and which proposals of another layout are remembered.

const STEPS = ["a proposes P needs=b", "b acks P", "a feedback", "b feedback"];

function folded() {
  const script = new OutcomeScript("outbox", ["a", "b"], STEPS);
  const { proposals: state } = script.fold("a");
  const [topic] = state.topics.values();
  const [proposal] = state.proposals.values();
  if (topic === undefined || proposal === undefined) throw new Error("there is no proposal");
  return { state, topic, proposal };
}

/** Adds threads without lines until the oldest 256 go. */
function crowd(state: ProposalsState): void {
  for (let at = state.topics.size; at < 4_352; at += 1) {
    state.topics.set(`${at}`, newTopic(`${at}`, `${at}`, numberThread(state.names)));
  }
  boundTopics(state);
}

function decided({ line, log, id: by }: Proposal, status: Outcome["status"]): Outcome {
  return { status, by, log, line, at: "", ackIds: [] };
}

describe("a thread that is forgotten", () => {
  test("goes with its lines and with their names", () => {
    const { state, topic, proposal } = folded();
    expect(sizeOf(topic)).toBe(4);
    const known = () =>
      ["a", "b"].map((log) => [
        state.names.deciding.get(log)?.size,
        state.names.plain.get(log)?.lines.length,
      ]);
    expect([state.lineCount, ...known()]).toEqual([4, [1, 1], [1, 1]]);
    proposal.outcome = decided(proposal, "rejected");
    state.diverging.add(topic.key).add("another");
    crowd(state);
    expect([state.topics.has(topic.key), state.lineCount]).toEqual([false, 0]);
    expect([state.names.threads.has(topic.number), ...known()]).toEqual([false, [0, 0], [0, 0]]);
    expect([...state.diverging]).toEqual(["another"]);
  });

  test("goes with its proposals, which no beat may decide any more", () => {
    const { state, proposal } = folded();
    const { key } = proposal;
    state.watched.set("a", new Set([key, "other"])).set("b", new Set([key]));
    for (const set of [state.running, state.moves, state.contents]) set.add(key).add("other");
    proposal.outcome = decided(proposal, "reverted");
    crowd(state);
    expect([proposal.settled, proposal.content, state.proposals.has(key)]).toEqual([
      ...[true, undefined, false],
    ]);
    expect([...state.watched.values()].map((keys) => [...keys])).toEqual([["other"], []]);
    const sets = [state.running, state.moves, state.contents];
    expect(sets.map((keys) => [...keys])).toEqual(Array(3).fill(["other"]));
  });

  test("leaves a proposal that is ratified, and that it asks for another layout", () => {
    const { state, proposal } = folded();
    const { key } = proposal;
    state.moves.add(key);
    state.running.add(key);
    proposal.outcome = decided(proposal, "ratified");
    crowd(state);
    expect([state.proposals.get(key), state.moves.has(key)]).toEqual([proposal, true]);
    expect([proposal.settled, state.running.has(key)]).toEqual([true, false]);
  });

  test("leaves a proposal that is in another log as well", () => {
    const { state, topic, proposal } = folded();
    const lines = topic.lines.get("a") ?? [];
    topic.lines.set("closed", lines);
    topic.lines.delete("a");
    proposal.outcome = decided(proposal, "rejected");
    crowd(state);
    expect([state.topics.has(topic.key), state.proposals.has(proposal.key)]).toEqual([
      ...[false, true],
    ]);
  });

  test("is none that is open", () => {
    const { state, topic } = folded();
    crowd(state);
    expect([state.topics.has(topic.key), state.topics.size]).toEqual([true, 4_096]);
  });
});

describe("of proposals that ask for another layout", () => {
  /** So many that are remembered, with what became of each. */
  const moves = (count: number, statusOf: (at: number) => Outcome["status"] | undefined) => {
    const { state, proposal } = folded();
    for (let at = 0; at < count; at += 1) {
      const status = statusOf(at);
      const outcome = status === undefined ? undefined : decided(proposal, status);
      state.proposals.set(`${at}`, { ...proposal, key: `${at}`, outcome });
      keepMove(state, `${at}`);
    }
    return [...state.moves].map(Number);
  };
  const upTo = (first: number, last: number): number[] =>
    Array.from({ length: last - first + 1 }, (_each, at) => first + at);

  test.each<[string, number, (at: number) => Outcome["status"] | undefined, number[]]>([
    ["1,024 are remembered", 1_024, () => "rejected", upTo(0, 1_023)],
    ["then the oldest goes", 1_025, () => "rejected", upTo(1, 1_024)],
    ["an open one, too", 1_025, () => undefined, upTo(1, 1_024)],
    [
      "but none that is ratified before others",
      1_025,
      (at) => (at < 2 ? "ratified" : "reverted"),
      [0, 1, ...upTo(3, 1_024)],
    ],
    ["where all are ratified the newest goes", 1_025, () => "ratified", upTo(0, 1_023)],
  ])("%s", (_what, count, statusOf, expected) => {
    expect(moves(count, statusOf)).toEqual(expected);
  });

  test("one that is not held any more goes first", () => {
    const { state, proposal } = folded();
    const outcome = decided(proposal, "ratified");
    for (let at = 0; at < 1_024; at += 1) {
      if (at !== 7) state.proposals.set(`${at}`, { ...proposal, key: `${at}`, outcome });
      keepMove(state, `${at}`);
    }
    state.proposals.set("last", { ...proposal, key: "last", outcome });
    keepMove(state, "last");
    expect([state.moves.size, state.moves.has("7"), state.moves.has("last")]).toEqual([
      ...[1_024, false, true],
    ]);
  });
});
