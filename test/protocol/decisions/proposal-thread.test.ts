import { describe, expect, test } from "vitest";
import {
  knownLine,
  learnDeciding,
  learnPlain,
  noKnownLines,
  numberThread,
  type KnownLines,
} from "../../../src/protocol/logs/known-lines.ts";
import type { LineEvent } from "../../../src/protocol/events.ts";
import {
  addLine,
  decidingIn,
  linesOf,
  newTopic,
  sizeOf,
  topicKey,
  type Topic,
  type TopicLine,
} from "../../../src/protocol/decisions/proposal-thread.ts";
import { makeLayout } from "../../../src/wire/layout.ts";
import { eventId } from "../../support/scripts/event-id.ts";
import { lineEvent, NOON, WireScript, type Saying } from "../../support/scripts/wire-script.ts";

test("those who see all of a log share its threads", () => {
  const pairs = makeLayout("pairwise", ["a", "b", "c"]);
  expect(topicKey(pairs, "a_to_b", "X")).toBe("a_to_b b_to_a X");
  expect(topicKey(pairs, "b_to_a", "X")).toBe("a_to_b b_to_a X");
  expect(topicKey(pairs, "a_to_c", "X")).toBe("a_to_c c_to_a X");
  const outbox = makeLayout("outbox", ["a", "b", "c"]);
  expect(["a", "b"].map((log) => topicKey(outbox, log, "X"))).toEqual([" X", " X"]);
  expect(topicKey(pairs, "nowhere", "X")).toBe(" X");
});

describe("a line is taken", () => {
  const THREAD = "the thread";
  const said = (saying: Saying, change: Partial<LineEvent> = {}): LineEvent => {
    const script = new WireScript("pairwise", ["a", "b"]);
    return lineEvent(script.say("a_to_b", NOON, { thread: THREAD, ...saying }), "b", change);
  };
  const FIXED = {
    log: "a_to_b",
    line: 1,
    from: "a",
    timestamp: "2026-11-20T12:00:00.000000Z",
    timestampMs: NOON,
  };

  const noBeat = (): boolean => false;
  const taken = (topic: Topic, event: LineEvent, names: KnownLines = noKnownLines()) =>
    addLine(topic, event, names, noBeat);

  test.each<[string, Saying, Partial<TopicLine>]>([
    ["a proposal", { type: "proposal" }, { says: "proposal" }],
    ["a counter", { type: "proposal", body: { counters: "x" } }, { says: "proposal", target: "x" }],
    ["an ack", { type: "ack", body: { acks: "x" } }, { says: "ack", target: "x", approves: true }],
    ["an ack that names nothing", { type: "ack" }, { says: "ack", approves: true }],
    [
      "a rejection",
      { type: "ack", body: { acks: "x", approve: false } },
      { says: "ack", target: "x" },
    ],
    [
      "an agreement",
      { type: "ack", body: { acks: "x", approve: true } },
      { says: "ack", target: "x", approves: true, explicit: true },
    ],
    [
      "an ack that says neither",
      { type: "ack", body: { acks: "x", approve: "no" } },
      { says: "ack", target: "x", approves: true },
    ],
    [
      "a bare ack",
      { type: "ack", unsigned: true },
      { says: "ack", approves: true, bare: true, chained: false },
    ],
    [
      "an unchained ack that names something",
      { type: "ack", body: { acks: "x" }, unsigned: true },
      { says: "ack", approves: true, target: "x", chained: false },
    ],
    [
      "an unchained ack that names what is no id",
      { type: "ack", body: { acks: 7 }, unsigned: true },
      { says: "ack", approves: true, chained: false },
    ],
    [
      "an unchained answer to a request",
      { type: "ack", body: { request_id: "0badcafe" }, unsigned: true },
      { says: "nothing", chained: false },
    ],
    [
      "an answer to a request, whatever else it says",
      { type: "ack", body: { acks: "x", approve: true, request_id: "0badcafe" } },
      { says: "nothing", target: "x" },
    ],
    [
      "a correction that reverts nothing",
      { type: "correction", body: { corrects: "x" } },
      { says: "nothing", target: "x" },
    ],
    [
      "an unchained proposal",
      { type: "proposal", unsigned: true },
      { says: "proposal", chained: false },
    ],
    [
      "a revert",
      { type: "correction", body: { corrects: "y", reverts: "x" } },
      { says: "revert", target: "x" },
    ],
  ])("as %s", (_name, saying, expected) => {
    const topic = newTopic("key", THREAD, 1);
    const event = said(saying, { refused: "clock_skew" });
    const defaults = {
      target: undefined,
      approves: false,
      explicit: false,
      namesOwn: undefined,
      bare: false,
      chained: true,
    };
    const names = noKnownLines();
    const line = { ...FIXED, id: event.message.id, ...defaults, refusedByUs: true, ...expected };
    expect(taken(topic, event, names)).toEqual(line);
    expect(linesOf(topic, "a_to_b")).toEqual([line]);
    const proposalIn = line.says === "proposal" ? "key" : undefined;
    expect(knownLine(names, "a_to_b", line.id)).toEqual({ line: 1, proposalIn });
    expect(decidingIn([topic])).toEqual(names.deciding);
    expect(taken(newTopic("key", THREAD, 1), said(saying))?.refusedByUs).toBe(false);
  });

  test("as one that decides nothing, and that an ack may name", () => {
    const names = noKnownLines();
    const topic = newTopic("key", THREAD, numberThread(names));
    const event = said({ type: "feedback", body: { reverts: "x", corrects: "y", acks: "z" } });
    expect(taken(topic, event, names)).toBeUndefined();
    expect([...topic.others]).toEqual([["a_to_b", 1]]);
    const place = { line: 1, proposalIn: undefined };
    expect(knownLine(names, "a_to_b", event.message.id)).toEqual(place);
    expect(decidingIn([topic])).toEqual(new Map());
    expect(linesOf(topic, "a_to_b")).toEqual([]);
  });

  test("with what it names in its own log, of whichever thread", () => {
    const names = noKnownLines();
    const thread = numberThread(names);
    const [plain, forgotten] = [eventId("plain"), eventId("forgotten")];
    learnDeciding(names, "a_to_b", "p", { line: 1, proposalIn: "another" });
    learnDeciding(names, "a_to_b", "s", { line: 2, proposalIn: undefined });
    learnPlain(names, "a_to_b", { id: plain, line: 3, thread });
    learnPlain(names, "a_to_b", { id: forgotten, line: 4, thread: thread + 1 });
    learnDeciding(names, "b_to_a", "q", { line: 2, proposalIn: "another" });
    const naming = (acks: string) =>
      addLine(
        newTopic("key", THREAD, 1),
        said({ type: "ack", body: { acks } }),
        names,
        (id) => id === "beat",
      )?.namesOwn;
    expect(["p", "s", plain, "beat", "q", forgotten, "x"].map(naming)).toEqual([
      ...["proposal", "other", "other", "other"],
      ...[undefined, undefined, undefined],
    ]);
  });

  test("once, however often it is told", () => {
    const names = noKnownLines();
    const topic = newTopic("key", THREAD, numberThread(names));
    for (const type of ["proposal", "feedback"]) {
      taken(topic, said({ type }), names);
      expect(taken(topic, said({ type }, { line: 2 }), names)).toBeUndefined();
    }
    expect(linesOf(topic, "a_to_b").map(({ line }) => line)).toEqual([1]);
    expect(sizeOf(topic)).toBe(2);
  });

  test("up to 1,024 that decide and 4,096 that do not, of each log", () => {
    const topic = newTopic("key", THREAD, 1);
    const first = taken(topic, said({ type: "proposal" }));
    if (first === undefined) throw new Error("one line");
    const filled = (count: number) =>
      topic.lines.set("a_to_b", Array<TopicLine>(count).fill({ ...first, id: "filler" }));
    const second = said({ type: "proposal", subject: "second" });
    filled(1_023);
    expect(taken(topic, second)?.id).toBe(second.message.id);
    expect([...topic.full]).toEqual([]);
    filled(1_024);
    expect(taken(topic, second)).toBeUndefined();
    expect([...topic.full]).toEqual(["a_to_b"]);
    const names = noKnownLines();
    names.threads.add(topic.number);
    topic.others.set("a_to_b", 4_095);
    const others = ["one", "two"].map((subject) => said({ type: "ship", subject }));
    for (const other of others) taken(topic, other, names);
    const isKnown = others.map(({ message }) => knownLine(names, "a_to_b", message.id)?.line);
    expect([topic.others.get("a_to_b"), ...isKnown]).toEqual([4_096, 1, undefined]);
  });
});
