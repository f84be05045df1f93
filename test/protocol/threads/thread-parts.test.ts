import type { Answers } from "../../../src/protocol/threads/answering.ts";
import { describe, expect, test } from "vitest";
import {
  applyThreads,
  emptyThreads,
  openObligations,
  splitThread,
  type Thread,
  type ThreadMessage,
  type ThreadsState,
} from "../../../src/protocol/threads/threads.ts";
import type { LineEvent } from "../../../src/protocol/events.ts";
import { makeLayout } from "../../../src/wire/layout.ts";
import {
  lineEvent,
  NOON,
  scriptEnv,
  WireScript,
  type Saying,
} from "../../support/scripts/wire-script.ts";

const ENV = scriptEnv(makeLayout("pairwise", ["a", "b"]), "a");

function messageOf(id: string, change: Partial<ThreadMessage> = {}): ThreadMessage {
  const from = change.from ?? "a";
  return {
    id,
    log: from === "a" ? "a_to_b" : "b_to_a",
    line: 1,
    at: NOON,
    from,
    to: [from === "a" ? "b" : "a"],
    type: "feedback",
    subject: id,
    timestamp: "",
    root: false,
    asks: false,
    plainRequest: false,
    target: undefined,
    answers: "nothing",
    refused: undefined,
    ...change,
  };
}

const threadOf = (messages: ThreadMessage[]): Thread => ({
  correlationId: "X",
  messages,
  omitted: 0,
});

describe("a line of a thread", () => {
  const taken = (saying: Saying, change: Partial<LineEvent> = {}) => {
    const script = new WireScript("pairwise", ["a", "b"]);
    const state = emptyThreads();
    const event = lineEvent(script.say("b_to_a", NOON, { thread: "X", ...saying }), "a", change);
    applyThreads(state, event, ENV);
    return state.threads.get("X")?.messages[0];
  };

  test("is remembered without its body, the subject cut at 200 characters", () => {
    const script = new WireScript("pairwise", ["a", "b"]);
    const line = script.say("b_to_a", NOON, { type: "proposal", subject: "é".repeat(201) });
    const state = emptyThreads();
    applyThreads(state, lineEvent(line, "a", { at: NOON + 7, refused: "clock_skew" }), ENV);
    const { id, timestamp } = line.message;
    const message = messageOf(id, {
      at: NOON + 7,
      from: "b",
      type: "proposal",
      subject: "é".repeat(200),
      timestamp,
      root: true,
      asks: true,
      answers: "anything",
      refused: "clock_skew",
    });
    const thread = { correlationId: timestamp, messages: [message], omitted: 0 };
    expect(state).toEqual({ threads: new Map([[timestamp, thread]]), messageCount: 1, dropped: 0 });
  });

  test.each<[string, object, Answers]>([
    ["ack", {}, "anything"],
    ["proposal", {}, "anything"],
    ["feedback", {}, "plain requests"],
    ["ship", {}, "plain requests"],
    ["correction", {}, "nothing"],
    ["feedback", { request_id: "0badcafe" }, "anything"],
    ["request", { request_id: "0badcafe" }, "nothing"],
    ["request", {}, "nothing"],
  ])("%s %j answers: %s", (type, body, expected) => {
    expect(taken({ type, body })?.answers).toBe(expected);
  });

  test.each(["acks", "counters", "reverts", "corrects", "resolves", "escalates", "resumes"])(
    "names what it is about by %s",
    (name) => {
      expect(taken({ type: "feedback", body: { [name]: "x" } })).toMatchObject({
        target: "x",
        root: false,
      });
    },
  );

  test("names nothing by anything else", () => {
    expect(taken({ type: "feedback", body: { acks: 7, about: "x" } })?.target).toBeUndefined();
  });

  test("is taken once from each log, and in no log that the wire does not have", () => {
    const script = new WireScript("pairwise", ["a", "b"]);
    const event = lineEvent(script.say("b_to_a", NOON, { type: "ship", thread: "X" }), "a");
    const state = emptyThreads();
    for (const log of ["b_to_a", "b_to_a", "a_to_b", "nowhere"]) {
      applyThreads(state, { ...event, log }, ENV);
    }
    expect(state.threads.get("X")?.messages.map(({ log }) => log)).toEqual(["b_to_a", "a_to_b"]);
    expect(state.messageCount).toBe(2);
    applyThreads(state, { kind: "skipped", log: "b_to_a", line: 9, at: NOON }, ENV);
    expect(state.messageCount).toBe(2);
  });
});

describe("what is owed", () => {
  const asked = messageOf("asked", { asks: true, to: ["b", "c"] });
  const answer = (change: Partial<ThreadMessage>) =>
    messageOf("answer", { from: "b", answers: "anything", ...change });
  const owed = (...messages: ThreadMessage[]) =>
    openObligations(messages).map(({ message, owedBy }) => `${owedBy} on ${message.id}`);

  test.each<[string, Partial<ThreadMessage>, boolean]>([
    ["one that comes later", { at: NOON + 1 }, true],
    ["at the same time", {}, true],
    ["earlier", { at: NOON - 1 }, false],
    ["earlier, but naming it", { at: NOON - 1, target: "asked" }, true],
    ["later, naming another", { at: NOON + 1, target: "other" }, true],
    ["idle words", { answers: "plain requests" }, false],
    ["what answers nothing", { answers: "nothing" }, false],
    ["that we refused", { refused: "tier_refused" }, false],
    ["of another", { from: "d" }, false],
  ])("is answered by %s", (_name, change, answered) => {
    const expected = answered ? ["c on asked"] : ["b on asked", "c on asked"];
    expect(owed(asked, answer(change))).toEqual(expected);
  });

  test("is, of a plain request, answered by words, but not by asking back", () => {
    const request = { ...asked, plainRequest: true };
    expect(owed(request, answer({ answers: "plain requests" }))).toEqual(["c on asked"]);
    expect(owed(request, answer({ answers: "nothing" }))).toHaveLength(2);
    expect(owed(request, answer({ answers: "plain requests", at: NOON - 1 }))).toHaveLength(2);
  });

  test("is nothing where nothing was asked, or what we refused", () => {
    expect(owed({ ...asked, asks: false })).toEqual([]);
    expect(owed({ ...asked, refused: "tier_refused" })).toEqual([]);
  });
});

describe("the threads of one name", () => {
  const rootA = messageOf("root of a", { root: true, line: 2, at: NOON });
  const rootB = messageOf("root of b", { root: true, line: 2, at: NOON + 1, from: "b" });
  const partsOf = (...messages: ThreadMessage[]) =>
    splitThread(threadOf(messages)).map(
      ({ root, messages: own }) => `${root?.id ?? "none"}: ${own.map(({ id }) => id).join(", ")}`,
    );

  test("are one, in the order of receipt, log and line, when one agent began it or none", () => {
    const later = messageOf("later", { at: NOON + 1 });
    const [second, first] = [messageOf("second", { line: 2 }), messageOf("first")];
    const other = messageOf("other log", { from: "b" });
    expect(partsOf(later, other, second, first)).toEqual(["none: first, second, other log, later"]);
    expect(partsOf(other, later, first, second)).toEqual(["none: first, second, other log, later"]);
    const again = messageOf("again", { root: true, line: 9 });
    expect(partsOf(again, later, rootA)).toEqual(["root of a: root of a, again, later"]);
  });

  const late = { at: NOON + 9, line: 9 };
  test.each<[string, Partial<ThreadMessage>, string]>([
    ["names the one", { ...late, from: "b", target: "root of a" }, "a"],
    ["names the other", { ...late, target: "root of b" }, "b"],
    ["names what names one", { ...late, from: "b", target: "remark" }, "a"],
    ["names itself", { ...late, target: "x" }, "a"],
    ["names nothing that is held", { ...late, from: "b", target: "elsewhere" }, "b"],
    ["follows its author's root", { ...late }, "a"],
    ["stands before it", { ...late, line: 1 }, "a b"],
    ["stands at its line", { ...late, line: 2 }, "a b"],
    ["stands in another log", { ...late, log: "a_to_c" }, "a b"],
    ["is by one who began none", { ...late, from: "c" }, "a b"],
    ["is a bare ack", { ...late, type: "ack" }, "a b"],
    ["is an ack that names", { ...late, type: "ack", target: "elsewhere" }, "a"],
  ])("a message that %s", (_name, change, expected) => {
    const remark = messageOf("remark", { ...late, line: 8, from: "b", target: "root of a" });
    const message = messageOf("x", change);
    const found = splitThread(threadOf([rootA, rootB, remark, message]))
      .filter(({ messages }) => messages.includes(message))
      .map(({ root }) => root?.from);
    expect(found.join(" ")).toBe(expected);
  });
});

describe("room", () => {
  const script = new WireScript("pairwise", ["a", "b"]);
  const line = script.say("b_to_a", NOON, { type: "feedback" });
  const waiting = messageOf("asked", { asks: true });

  function take(state: ThreadsState, id: string, correlationId: string, change = {}): void {
    const message = { ...line.message, id, correlationId, ...change };
    applyThreads(state, lineEvent({ ...line, message }, "a"), ENV);
  }

  /** So many threads of so many messages each, those of `isWaiting` with one that is owed. */
  function filled(count: number, each: number, isWaiting: (n: number) => boolean): ThreadsState {
    const state = emptyThreads();
    const plain = Array.from({ length: each }, (_, n) => messageOf(`${n}`));
    for (let n = 0; n < count; n += 1) {
      const messages = isWaiting(n) ? [waiting, ...plain.slice(1)] : plain;
      state.threads.set(`${n}`, { correlationId: `${n}`, messages, omitted: 0 });
    }
    state.messageCount = count * each;
    return state;
  }

  test("in one thread is for 1,024 messages; the oldest goes that nobody waits for", () => {
    const state = filled(0, 0, () => false);
    const messages = Array.from({ length: 1_023 }, (_, n) =>
      messageOf(`${n}`, { root: n === 0, asks: n === 1 }),
    );
    state.threads.set("X", { correlationId: "X", messages, omitted: 0 });
    state.messageCount = 1_023;
    const thread = state.threads.get("X");
    take(state, "x", "X");
    expect([thread?.messages.length, thread?.omitted, state.messageCount]).toEqual([
      1_024, 0, 1_024,
    ]);
    take(state, "y", "X");
    expect([thread?.messages.length, thread?.omitted, state.messageCount]).toEqual([
      1_024, 1, 1_024,
    ]);
    expect(thread?.messages.slice(0, 3).map(({ id }) => id)).toEqual(["0", "1", "3"]);
    if (thread !== undefined) thread.messages = Array<ThreadMessage>(1_024).fill(waiting);
    take(state, "z", "X", { asks: true });
    expect([thread?.messages.length, thread?.omitted]).toEqual([1_024, 2]);
  });

  test.each<[string, number, (n: number) => boolean, number, string]>([
    ["4,096 threads", 4_095, () => false, 4_096, "0"],
    ["a few more, before 256 can go at once", 4_350, () => false, 4_351, "0"],
    ["256 more: then the oldest go", 4_351, () => false, 4_096, "256"],
    ["those that wait are passed over", 4_351, (n) => n < 9, 4_096, "0"],
    ["until 256 of them were met", 4_351, (n) => n < 256, 4_352, "0"],
    ["up to 16,384", 16_383, () => true, 16_384, "0"],
    ["and no further", 16_639, () => true, 16_384, "256"],
  ])("is for %s", (_name, count, isWaiting, expected, first) => {
    const state = filled(count, 1, isWaiting);
    take(state, "x", "the last");
    expect([state.threads.size, state.threads.keys().next().value]).toEqual([expected, first]);
    expect(state.dropped).toBe(count + 1 - expected);
    expect(state.messageCount).toBe(expected);
    expect(state.threads.has("the last")).toBe(true);
  });

  test.each<[string, number, (n: number) => boolean, number]>([
    ["16,384 messages in all", 16_383, () => false, 16_384],
    ["and 256 more", 16_638, () => false, 16_639],
    ["then for 8,192 less", 16_639, () => false, 8_192],
    ["what waits stays, and the rest goes", 16_639, () => true, 16_512],
    ["which is for four times as many", 65_535, () => true, 65_536],
    ["and 256 threads less then", 65_791, () => true, 65_792 - 256 * 128],
  ])("is for %s", (_name, count, isWaiting, expected) => {
    const state = filled(Math.floor(count / 128), 128, isWaiting);
    const rest = count - state.messageCount;
    const plain = Array.from({ length: rest }, (_, n) => messageOf(`rest ${n}`));
    state.threads.set("rest", { correlationId: "rest", messages: plain, omitted: 0 });
    state.messageCount = count;
    take(state, "x", "rest");
    expect(state.messageCount).toBe(expected);
  });

  test("is made by the threads that were untouched for longest", () => {
    const state = filled(4_351, 1, () => false);
    take(state, "x", "0");
    take(state, "y", "the last");
    expect([state.threads.has("0"), state.threads.has("1"), state.threads.has("257")]).toEqual([
      true,
      false,
      true,
    ]);
  });
});
