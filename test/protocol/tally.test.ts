import { describe, expect, test } from "vitest";
import type { LineEvent } from "../../src/protocol/events.ts";
import { applyTally, emptyTally, talliedIds } from "../../src/protocol/tally.ts";
import {
  lineEvent,
  minutes,
  NOON,
  WireScript,
  type Saying,
} from "../support/scripts/wire-script.ts";

function scene() {
  const script = new WireScript("outbox", ["a", "b", "c"]);
  const state = emptyTally();
  const event = (from: string, saying: Saying, at = NOON): LineEvent =>
    lineEvent(script.say(from, at, saying), "a");
  const say = (from: string, saying: Saying, at = NOON): string => {
    const line = event(from, saying, at);
    applyTally(state, line);
    return line.message.id;
  };
  const propose = (from: string): string =>
    say(from, { type: "proposal", body: { required: ["c"] }, thread: "t" });
  const ack = (from: string, body: object): string => say(from, { type: "ack", body, thread: "t" });
  const ids = (what: "agreed" | "rejected") => [...talliedIds(state, what)];
  return { state, event, say, propose, ack, ids };
}

describe("the messages of a wire", () => {
  test("are counted in all and by type", () => {
    const { state, say } = scene();
    expect(state).toEqual({
      messages: 0,
      byType: new Map(),
      firstTimestampMs: undefined,
      lastTimestampMs: undefined,
      proposals: new Map(),
      forgotten: { agreed: 0, rejected: 0 },
    });
    say("a", { type: "feedback" });
    say("b", { type: "heartbeat" });
    say("a", { type: "feedback" });
    expect(state.messages).toBe(3);
    expect([...state.byType]).toEqual([
      ["feedback", 2],
      ["heartbeat", 1],
    ]);
  });

  test("are those that were accepted", () => {
    const { state, event } = scene();
    applyTally(state, { ...event("a", { type: "feedback" }), refused: "tier_refused" });
    applyTally(state, { kind: "refused", log: "a", line: 2, at: NOON, reason: "malformed" });
    applyTally(state, { kind: "skipped", log: "a", line: 3, at: NOON });
    expect(state).toEqual(emptyTally());
  });

  test("have a first and a last date, in whatever order they come", () => {
    const { state, say } = scene();
    const dates = () => [state.firstTimestampMs, state.lastTimestampMs];
    say("a", { type: "feedback" }, NOON);
    expect(dates()).toEqual([NOON, NOON]);
    say("b", { type: "feedback" }, NOON + minutes(2));
    say("c", { type: "feedback" }, NOON + minutes(1));
    expect(dates()).toEqual([NOON, NOON + minutes(2)]);
    say("c", { type: "feedback" }, NOON - minutes(1));
    expect(dates()).toEqual([NOON - minutes(1), NOON + minutes(2)]);
  });

  test("of more than 64 types are counted together, those of known types by their names", () => {
    const { state, event } = scene();
    const line = event("a", { type: "feedback" });
    const tell = (type: string) =>
      applyTally(state, { ...line, message: { ...line.message, type } });
    for (let n = 1; n <= 64; n += 1) tell(`type ${n}`);
    expect(state.byType.size).toBe(64);
    for (const type of ["type 65", "type 66", "type 64"]) tell(type);
    expect(state.byType.size).toBe(65);
    expect(["type 64", "type 65", "other"].map((type) => state.byType.get(type))).toEqual([
      2,
      undefined,
      2,
    ]);
  });
});

describe("a proposal", () => {
  test("is agreed to when somebody else approves it", () => {
    const { propose, ack, ids } = scene();
    const [first, second] = [propose("a"), propose("b")];
    expect([ids("agreed"), ids("rejected")]).toEqual([[], []]);
    ack("b", { acks: first, approve: true });
    expect([ids("agreed"), ids("rejected")]).toEqual([[first], []]);
    ack("c", { acks: second, approve: true });
    expect(ids("agreed")).toEqual([first, second]);
  });

  test("is rejected when somebody else rejects it, even if another one approves", () => {
    const { propose, ack, ids } = scene();
    const id = propose("a");
    ack("b", { acks: id, approve: false });
    expect([ids("agreed"), ids("rejected")]).toEqual([[], [id]]);
    ack("c", { acks: id, approve: true });
    expect([ids("agreed"), ids("rejected")]).toEqual([[id], [id]]);
  });

  test.each([
    ["by its own author", "a", true],
    ["that says neither yes nor no", "b", undefined],
    ["that says so in another way", "b", "true"],
  ])("is not decided by an ack %s", (_what, from, approve) => {
    const { propose, ack, ids } = scene();
    const id = propose("a");
    ack(from, { acks: id, ...(approve === undefined ? {} : { approve }) });
    ack(from, { acks: id, approve: approve === true ? false : "no" });
    expect([ids("agreed"), ids("rejected")]).toEqual([[], []]);
  });

  test("is not decided by a line that names another one, or none, or is no ack", () => {
    const { propose, ack, say, ids } = scene();
    const id = propose("a");
    ack("b", { acks: "f".repeat(64), approve: true });
    ack("b", { approve: true });
    say("b", { type: "feedback", body: { acks: id, approve: true } });
    say("b", { type: "request", body: { acks: id, approve: false } });
    expect([ids("agreed"), ids("rejected")]).toEqual([[], []]);
  });

  test("that comes again keeps the answers to it", () => {
    const { state, event, ack, ids } = scene();
    const line = event("a", { type: "proposal", body: { required: ["b"] }, thread: "t" });
    applyTally(state, line);
    ack("b", { acks: line.message.id, approve: true });
    applyTally(state, line);
    expect(ids("agreed")).toEqual([line.message.id]);
  });
});

test("of more than 4,096 proposals the oldest are remembered by their number alone", () => {
  const { state, event, ack, ids } = scene();
  const line = event("a", { type: "proposal", body: { required: ["b"] }, thread: "t" });
  const propose = (id: string) => applyTally(state, { ...line, message: { ...line.message, id } });
  for (let n = 1; n <= 4_096; n += 1) propose(`p${n}`);
  for (const acks of ["p1", "p2", "p9"]) ack("b", { acks, approve: true });
  for (const acks of ["p2", "p3"]) ack("c", { acks, approve: false });
  expect([state.proposals.size, state.forgotten]).toEqual([4_096, { agreed: 0, rejected: 0 }]);
  propose("p4097");
  expect([state.proposals.size, state.forgotten]).toEqual([4_096, { agreed: 1, rejected: 0 }]);
  for (let n = 4_098; n <= 4_100; n += 1) propose(`p${n}`);
  expect([state.proposals.size, state.forgotten]).toEqual([4_096, { agreed: 2, rejected: 2 }]);
  expect([...state.proposals.keys()].slice(0, 2)).toEqual(["p5", "p6"]);
  expect([ids("agreed"), ids("rejected")]).toEqual([["p9"], []]);
});

test("proposals known otherwise are counted with those, each once", () => {
  const { state, propose, ack } = scene();
  const id = propose("a");
  ack("b", { acks: id, approve: true });
  expect([...talliedIds(state, "agreed", ["x", id])]).toEqual([id, "x"]);
  expect([...talliedIds(state, "rejected", ["x"])]).toEqual(["x"]);
});
