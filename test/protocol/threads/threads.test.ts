import { describe, expect, test } from "vitest";
import { apply } from "../../../src/protocol/core.ts";
import { applyThreads } from "../../../src/protocol/threads/threads.ts";
import type { LineEvent } from "../../../src/protocol/events.ts";
import type { Env } from "../../../src/protocol/env.ts";
import { emptyState, type State } from "../../../src/protocol/state.ts";
import { pendingView } from "../../../src/protocol/threads/threads-view.ts";
import { threadsView, threadView } from "./all-threads.ts";
import {
  hours,
  lineEvent,
  minutes,
  NOON,
  scriptEnv,
  WireScript,
  type Saying,
  type ScriptLine,
} from "../../support/scripts/wire-script.ts";

const THREAD = "2026-11-20T12:00:00.000000Z";

/** What a says to b and b to a, a minute apart, and how a sees it. */
class Talk {
  readonly script = new WireScript("pairwise", ["a", "b"]);
  readonly state: State = emptyState();
  readonly env: Env = scriptEnv(this.script.layout, "a");
  private said = 0;

  say(from: "a" | "b", saying: Saying, change: Partial<LineEvent> = {}): ScriptLine {
    const at = NOON + minutes(this.said++);
    const log = from === "a" ? "a_to_b" : "b_to_a";
    const line = this.script.say(log, at, { thread: THREAD, ...saying });
    apply(this.state, lineEvent(line, "a", change), this.env);
    return line;
  }

  thread(id = THREAD) {
    return threadView(this.state, this.env, NOON + hours(1), id);
  }

  pending(at = NOON + hours(1)): string[] {
    return pendingView(this.state, this.env, at).map(
      ({ owed_by: who, type, overdue }) => `${who} owes on ${type}${overdue ? ", overdue" : ""}`,
    );
  }
}

describe("a thread", () => {
  test("knows root, participants, messages in order, and that nobody owes", () => {
    const talk = new Talk();
    const root = talk.say("a", { type: "ship", subject: "v6" });
    talk.say("b", { type: "feedback" });
    expect(talk.thread()).toMatchObject([
      {
        correlation_id: THREAD,
        root: root.message.id,
        subject: "v6",
        status: "open",
        participants: ["a", "b"],
        messages: [{ type: "ship" }, { type: "feedback" }],
      },
    ]);
  });

  test("waits for the addressee of a proposal, and is closed by the ack", () => {
    const talk = new Talk();
    const asked = talk.say("a", { type: "proposal" });
    expect(talk.thread()).toMatchObject([{ status: "waiting_on", waiting_on: ["b"] }]);
    expect(talk.pending()).toEqual(["b owes on proposal"]);
    talk.say("b", { type: "ack", body: { acks: asked.message.id } });
    expect(talk.thread()).toMatchObject([{ status: "closed", waiting_on: [] }]);
    expect(talk.pending()).toEqual([]);
  });

  test("a counter answers, and is owed an answer itself", () => {
    const talk = new Talk();
    talk.say("a", { type: "proposal" });
    talk.say("b", { type: "proposal" });
    expect(talk.pending()).toEqual(["a owes on proposal"]);
  });

  test("a plain request is owed an answer, and any reply of its addressee is one", () => {
    const talk = new Talk();
    talk.say("a", { type: "request" });
    expect(talk.pending()).toEqual(["b owes on request"]);
    talk.say("a", { type: "feedback" });
    talk.say("b", { type: "request" });
    expect(talk.pending()).toEqual(["b owes on request", "a owes on request"]);
    talk.say("b", { type: "feedback" });
    expect(talk.pending()).toEqual(["a owes on request"]);
    talk.say("a", { type: "ship" });
    expect(talk.pending()).toEqual([]);
  });

  test("a request with an id is answered by an ack with that id, not by idle words", () => {
    const talk = new Talk();
    const ask = { ...lineOf(talk, "request"), ackRequired: true };
    apply(
      talk.state,
      { ...ask.event, message: { ...ask.event.message, ackRequired: true } },
      talk.env,
    );
    talk.say("b", { type: "feedback" });
    expect(talk.pending()).toEqual(["b owes on request"]);
    const named = { acks: ask.event.message.id, request_id: "0badcafe" };
    talk.say("b", { type: "ack", body: named });
    expect(talk.pending()).toEqual(["b owes on request"]);
    talk.say("b", { type: "ack", body: { ...named, approve: false } });
    expect(talk.pending()).toEqual([]);
  });

  test("what a proposal asked is no longer owed once it is decided", () => {
    const talk = new Talk();
    const asked = talk.say("a", { type: "proposal" });
    talk.say("a", { type: "correction", body: { reverts: asked.message.id } });
    expect(talk.pending()).toEqual([]);
  });

  test("is overdue after a day", () => {
    const talk = new Talk();
    talk.say("a", { type: "proposal" });
    expect(talk.pending(NOON + hours(24) - 1)).toEqual(["b owes on proposal"]);
    expect(talk.pending(NOON + hours(24))).toEqual(["b owes on proposal, overdue"]);
  });

  test("shows corrections beside what they correct, by their author alone", () => {
    const talk = new Talk();
    const ship = talk.say("a", { type: "ship" });
    const later = talk.say("a", { type: "feedback" });
    const byId = talk.say("a", { type: "correction", body: { corrects: later.message.id } });
    const ofRoot = talk.say("a", { type: "correction" });
    talk.say("b", { type: "correction", body: { corrects: ship.message.id } });
    expect(talk.thread()[0]?.messages.slice(0, 2)).toMatchObject([
      { event_id: ship.message.id, corrections: [ofRoot.message.id] },
      { event_id: later.message.id, corrections: [byId.message.id] },
    ]);
  });

  test("what we refused is shown as such, and asks for nothing", () => {
    const talk = new Talk();
    talk.say("b", { type: "proposal" }, { refused: "tier_refused" });
    expect(talk.thread()).toMatchObject([{ messages: [{ refused: "tier_refused" }] }]);
    expect(talk.pending()).toEqual([]);
  });

  test("messages are remembered up to a limit in all: the oldest threads go, those that wait last", () => {
    const talk = new Talk();
    const waits = talk.say("b", { type: "proposal", thread: "waits" });
    const more = lineEvent(talk.script.say("b_to_a", NOON, { type: "feedback" }), "a");
    // A hundred threads of 700 messages, one thread after the other.
    for (let at = 0; at < 70_000; at += 1) {
      const correlationId = `thread ${Math.floor(at / 700)}`;
      const message = { ...more.message, id: `id ${at}`, correlationId };
      applyThreads(talk.state.threads, { ...more, message }, talk.env);
    }
    const { threads, messageCount, dropped } = talk.state.threads;
    const counted = [...threads.values()].reduce((sum, { messages }) => sum + messages.length, 0);
    expect(messageCount).toBe(counted);
    expect(counted).toBeLessThanOrEqual(16_384 + 256);
    expect(counted).toBeGreaterThan(8_192 - 700);
    expect(threads.size + dropped).toBe(101);
    expect(talk.thread("thread 0")).toEqual([]);
    expect(talk.thread("thread 99")[0]?.messages).toHaveLength(700);
    expect(talk.thread("waits")[0]?.messages).toMatchObject([{ event_id: waits.message.id }]);
  });

  test("heartbeats are no threads", () => {
    const talk = new Talk();
    const beat = talk.script.beat("b_to_a", NOON);
    apply(talk.state, lineEvent(beat, "a"), talk.env);
    expect(threadsView(talk.state, talk.env, NOON)).toEqual([]);
  });

  test("two roots of one name are two threads: both shown, neither swallows the other", () => {
    const talk = new Talk();
    const mine = talk.script.say("a_to_b", NOON, { type: "ship", subject: "mine" });
    const theirs = talk.script.say("b_to_a", NOON, { type: "ship", subject: "theirs" });
    const reply = talk.script.say("b_to_a", NOON + 1, {
      type: "ack",
      thread: THREAD,
      body: { acks: mine.message.id },
    });
    for (const line of [mine, theirs, reply]) apply(talk.state, lineEvent(line, "a"), talk.env);
    const threads = talk.thread().map(({ subject, messages }) => [subject, messages.length]);
    expect(threads).toEqual([
      ["mine", 2],
      ["theirs", 1],
    ]);
  });
});

function lineOf(talk: Talk, type: string): { event: LineEvent } {
  const line = talk.script.say("a_to_b", NOON, {
    type,
    thread: THREAD,
    body: { request_id: "0badcafe" },
  });
  return { event: lineEvent(line, "a") };
}
