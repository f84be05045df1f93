import { describe, expect, test } from "vitest";
import type { LineEvent } from "../../src/protocol/record.ts";
import {
  addLine,
  findLine,
  inSameThread,
  linesOf,
  newTopic,
  topicKey,
  type OtherLine,
  type TopicLine,
} from "../../src/protocol/topic.ts";
import { makeLayout } from "../../src/wire/layout.ts";
import { lineEvent, NOON, WireScript, type Saying } from "../support/wire-script.ts";

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
    root: false,
    timestamp: "2026-11-20T12:00:00.000000Z",
    timestampMs: NOON,
  };

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
      { says: "ack", approves: true, chained: false },
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
    const topic = newTopic("key", THREAD);
    const event = said(saying, { refused: "clock_skew" });
    const defaults = { target: undefined, approves: false, bare: false, chained: true };
    const line = { ...FIXED, id: event.message.id, ...defaults, refusedByUs: true, ...expected };
    expect(addLine(topic, event)).toEqual(line);
    expect(linesOf(topic, "a_to_b")).toEqual([line]);
    expect(findLine(topic, event.message.id)).toEqual(line);
    expect(addLine(newTopic("key", THREAD), said(saying))?.refusedByUs).toBe(false);
  });

  test.each<[string, Saying, string | undefined]>([
    ["a correction", { type: "correction", body: { corrects: "x" } }, "x"],
    ["a correction of the root", { type: "correction" }, undefined],
    [
      "idle words",
      { type: "feedback", body: { reverts: "x", corrects: "y", acks: "z" } },
      undefined,
    ],
  ])("as one that decides nothing: %s", (_name, saying, target) => {
    const topic = newTopic("key", THREAD);
    const event = said(saying);
    expect(addLine(topic, event)).toBeUndefined();
    const { timestamp: _at, timestampMs: _ms, ...place } = FIXED;
    const { id } = event.message;
    expect([...topic.others]).toEqual([[id, { ...place, id, target }]]);
    expect(linesOf(topic, "a_to_b")).toEqual([]);
  });

  test("once, however often it is told", () => {
    const topic = newTopic("key", THREAD);
    for (const type of ["proposal", "feedback"]) {
      addLine(topic, said({ type }));
      expect(addLine(topic, said({ type }, { line: 2 }))).toBeUndefined();
    }
    expect(linesOf(topic, "a_to_b").map(({ line }) => line)).toEqual([1]);
    expect([...topic.otherCounts]).toEqual([["a_to_b", 1]]);
  });

  test("as the root of its author's thread, if it is the first", () => {
    const topic = newTopic("key", THREAD);
    const script = new WireScript("pairwise", ["a", "b"]);
    script.say("a_to_b", NOON, { type: "ship", thread: "another" });
    for (const type of ["proposal", "ship"]) {
      const event = lineEvent(script.say("a_to_b", NOON, { type }), "b");
      addLine(topic, event);
      expect((findLine(topic, event.message.id) ?? topic.others.get(event.message.id))?.root).toBe(
        true,
      );
    }
    addLine(topic, said({ type: "ship" }));
    expect([...topic.roots]).toEqual([["a", 2]]);
  });

  test("up to 1,024 that decide and 4,096 that do not, of each log", () => {
    const topic = newTopic("key", THREAD);
    const [first] = [addLine(topic, said({ type: "proposal" }))];
    if (first === undefined) throw new Error("one line");
    const filled = (count: number) =>
      topic.lines.set("a_to_b", Array<TopicLine>(count).fill({ ...first, id: "filler" }));
    const second = said({ type: "proposal", subject: "second" });
    filled(1_024);
    expect(addLine(topic, second)).toBeUndefined();
    filled(1_023);
    expect(addLine(topic, second)?.id).toBe(second.message.id);
    topic.otherCounts.set("a_to_b", 4_095);
    const others = ["one", "two"].map((subject) => said({ type: "ship", subject }));
    for (const other of others) addLine(topic, other);
    expect([...topic.others.keys()]).toEqual([others[0]?.message.id]);
    expect(topic.otherCounts.get("a_to_b")).toBe(4_097);
  });
});

describe("threads that share a name", () => {
  const lineOf = (id: string, from: string, line: number, change: Partial<TopicLine> = {}) => ({
    id,
    log: from === "a" ? "a_to_b" : "b_to_a",
    line,
    from,
    root: false,
    target: undefined,
    says: "proposal" as const,
    approves: false,
    bare: false,
    chained: true,
    timestamp: "",
    timestampMs: NOON,
    refusedByUs: false,
    ...change,
  });
  const rootA = lineOf("root of a", "a", 2, { root: true });
  const rootB = lineOf("root of b", "b", 2, { root: true });

  function among(roots: Record<string, number>, more: TopicLine[], others: OtherLine[] = []) {
    const topic = newTopic("key", "X");
    for (const line of [rootA, rootB, ...more]) {
      topic.lines.set(line.log, [...linesOf(topic, line.log), line]);
    }
    for (const other of others) topic.others.set(other.id, other);
    for (const [who, line] of Object.entries(roots)) topic.roots.set(who, line);
    return (line: TopicLine) =>
      [rootA, rootB]
        .filter((root) => inSameThread(topic, line, root) && inSameThread(topic, root, line))
        .map(({ from }) => from)
        .join(" and ");
  }
  const BOTH = { a: 2, b: 2 };

  test.each<[string, TopicLine, string]>([
    ["a root is of its own", rootA, "a"],
    ["the other one too", rootB, "b"],
    ["what names a root", lineOf("x", "b", 9, { target: "root of a" }), "a"],
    ["what names another message", lineOf("x", "b", 9, { target: "remark on a" }), "a"],
    ["even a root that names one", lineOf("x", "b", 9, { target: "root of a", root: true }), "a"],
    ["what names nothing that is held", lineOf("x", "b", 9, { target: "elsewhere" }), "b"],
    ["what its author says after its root", lineOf("x", "a", 3), "a"],
    ["before its root", lineOf("x", "a", 1), "a and b"],
    ["beside its root", lineOf("x", "a", 2), "a and b"],
    ["who began none", lineOf("x", "c", 9), "a and b"],
    ["a bare ack", lineOf("x", "a", 9, { says: "ack", bare: true }), "a and b"],
    ["an ack that is not bare", lineOf("x", "a", 9, { says: "ack" }), "a"],
  ])("%s", (_name, line, expected) => {
    const { id, log, line: at, from, root, target } = lineOf("remark on a", "a", 8);
    expect(among(BOTH, [line], [{ id, log, line: at, from, root, target }])(line)).toBe(expected);
  });

  test("are one when only one agent began it", () => {
    expect(among({ a: 2 }, [])(rootB)).toBe("a and b");
    expect(among({}, [])(rootA)).toBe("a and b");
  });

  test.each([
    [64, "a"],
    [65, "a and b"],
  ])("what names through %i others: %s", (length, expected) => {
    const chain = [rootA];
    for (let n = 1; n <= length; n += 1) {
      chain.push(lineOf(`link ${n}`, "c", 100 + n, { target: chain.at(-1)?.id }));
    }
    expect(among(BOTH, chain.slice(1))(chain.at(-1) ?? rootA)).toBe(expected);
  });

  test("lines that name each other are of all threads", () => {
    const [x, y] = [lineOf("x", "a", 9, { target: "y" }), lineOf("y", "a", 9, { target: "x" })];
    expect(among(BOTH, [x, y])(x)).toBe("a and b");
  });
});
