import { describe, expect, test } from "vitest";
import { eventId } from "../../support/scripts/event-id.ts";
import fc from "fast-check";
import { planBeats } from "../../../src/protocol/heartbeats/beat-timers.ts";
import { MAX_NAMED_REFUSALS } from "../../../src/protocol/receipts/refused-lines.ts";
import { headsFor, mustPause } from "../../../src/protocol/receipts/own-heads.ts";
import { MAX_UNREAD, unreadCount } from "../../../src/protocol/receipts/receipts-state.ts";
import { MAX_SENT } from "../../../src/protocol/receipts/sent.ts";
import { receiptView, sentView } from "../../../src/protocol/receipts/sent-view.ts";
import { moment, ScriptedAgent } from "../../support/scripts/scripted-agent.ts";
import {
  lineEvent,
  minutes,
  NOON,
  scriptEnv,
  seconds,
  WireScript,
  type ScriptHeads,
} from "../../support/scripts/wire-script.ts";
import { unreadView } from "../../support/scripts/unread-view.ts";

const OURS = "forge_to_scribe";
const THEIRS = "scribe_to_forge";

function scene() {
  const script = new WireScript("pairwise", ["forge", "scribe"]);
  const forge = new ScriptedAgent(script, scriptEnv(script.layout, "forge"));
  let at = NOON;
  const now = () => moment((at += 1_000));
  return {
    script,
    forge,
    now,
    send: (type = "feedback", thread?: string) =>
      forge.say(OURS, now(), { type, ...(thread === undefined ? {} : { thread }) }),
    hear: (heads: ScriptHeads) => {
      script.beat(THEIRS, (at += 1_000), heads);
      forge.read(now());
    },
    stateOf: (id: string) => {
      const receipt = receiptView(forge.receipts.sent, id)?.receipts[0];
      return receipt?.reason === undefined ? receipt?.state : `${receipt.state} ${receipt.reason}`;
    },
  };
}

describe("what became of what we sent", () => {
  test("stored, delivered, read, answered", () => {
    const { script, forge, send, hear, now, stateOf } = scene();
    const { id, correlationId } = send().message;
    expect(stateOf(id)).toBe("stored");
    hear({ [OURS]: { lines: 1 } });
    expect(stateOf(id)).toBe("delivered");
    hear({ [OURS]: { lines: 1, read: 1 } });
    expect(stateOf(id)).toBe("read");
    script.say(THEIRS, now().wallMs, { type: "ack", thread: correlationId, body: { acks: id } });
    forge.read(now());
    expect(stateOf(id)).toBe("answered");
    expect(sentView(forge.receipts.sent)).toHaveLength(1);
    expect(sentView(forge.receipts.sent)[0]).toMatchObject({ event_id: id, to: ["scribe"] });
  });

  test("refused with the reason, and then nothing else", () => {
    const { send, hear, stateOf } = scene();
    const [first, second] = [send().message.id, send().message.id];
    hear({ [OURS]: { lines: 2, read: 2, refused: [[1, "tier_refused"]] } });
    expect(stateOf(first)).toBe("refused tier_refused");
    expect(stateOf(second)).toBe("read");
    hear({ [OURS]: { lines: 2, read: 2 } });
    expect(stateOf(first)).toBe("refused tier_refused");
  });

  test("refused in a range: what is in it has its reason, and what is beside it was delivered", () => {
    const { send, hear, stateOf } = scene();
    const ids = Array.from({ length: 7 }, () => send().message.id);
    hear({
      [OURS]: {
        lines: 7,
        refused: [
          [2, 3, "tier_refused"],
          [5, 6, "mixed"],
        ],
      },
    } as never);
    expect(ids.map(stateOf)).toEqual([
      "delivered",
      "refused tier_refused",
      "refused tier_refused",
      "delivered",
      "refused mixed",
      "refused mixed",
      "delivered",
    ]);
  });

  test("heads that name a wrong event id, or count what we have not written, prove nothing", () => {
    const { send, hear, stateOf } = scene();
    const { id } = send().message;
    hear({ [OURS]: { lines: 1, wrong: true } });
    expect(stateOf(id)).toBe("stored");
    hear({ [OURS]: { lines: 9 } });
    expect(stateOf(id)).toBe("stored");
  });

  test("a peer without heads has it by its next beat after we wrote", () => {
    const { send, hear, stateOf } = scene();
    hear({});
    const { id } = send().message;
    expect(stateOf(id)).toBe("stored");
    hear({});
    expect(stateOf(id)).toBe("delivered");
  });

  test("answers: by id, by thread, only proposals by a counter, only requests by a request id", () => {
    const { script, forge, send, now, stateOf } = scene();
    const answer = (type: string, thread: string, body: object) => {
      script.say(THEIRS, now().wallMs, { type, thread, body });
      forge.read(now());
    };
    const ship = send("ship").message;
    const other = send("feedback", ship.correlationId).message;
    answer("ack", ship.correlationId, { acks: other.id });
    expect([stateOf(ship.id), stateOf(other.id)]).toEqual(["stored", "answered"]);
    answer("feedback", ship.correlationId, {});
    answer("proposal", ship.correlationId, {});
    expect(stateOf(ship.id)).toBe("stored");
    answer("ack", ship.correlationId, {});
    expect(stateOf(ship.id)).toBe("answered");

    const proposal = send("proposal").message;
    answer("proposal", proposal.correlationId, {});
    expect(stateOf(proposal.id)).toBe("answered");

    const request = send("request").message;
    const remark = send("feedback", request.correlationId).message;
    answer("ack", request.correlationId, { request_id: "0011aabb", approve: true });
    expect([stateOf(request.id), stateOf(remark.id)]).toEqual(["answered", "stored"]);

    const asked = send("request").message;
    answer("request", asked.correlationId, {});
    expect(stateOf(asked.id)).toBe("stored");
    answer("feedback", asked.correlationId, {});
    expect(stateOf(asked.id)).toBe("answered");
  });

  test("a beat covers so many lines and no more", () => {
    const { send, hear, stateOf } = scene();
    const ids = [send(), send(), send()].map(({ message }) => message.id);
    hear({ [OURS]: { lines: 2, read: 1 } });
    expect(ids.map(stateOf)).toEqual(["read", "delivered", "stored"]);
  });

  test("a peer without heads has what was sent before its beat came, and not what came after", () => {
    const { script, forge, send, stateOf } = scene();
    const ids = [send(), send(), send()].map(({ message }) => message.id);
    const beat = (at: number) =>
      forge.fold(lineEvent(script.beat(THEIRS, NOON), "forge", { at: NOON + seconds(at) }));
    beat(1);
    expect(ids.map(stateOf)).toEqual(["stored", "stored", "stored"]);
    beat(3);
    expect(ids.map(stateOf)).toEqual(["delivered", "delivered", "stored"]);
  });

  test("a counter answers the proposal that it names alone; and only what was sent before it", () => {
    const { script, forge, send, now, stateOf } = scene();
    const first = send("proposal").message;
    const [second, third] = [1, 2].map(() => send("proposal", first.correlationId).message);
    if (second === undefined || third === undefined) throw new Error("three proposals");
    const ids = [first.id, second.id, third.id];
    const counter = (body: object, at?: number) => {
      const thread = first.correlationId;
      const line = script.say(THEIRS, now().wallMs, { type: "proposal", thread, body });
      forge.fold(lineEvent(line, "forge", at === undefined ? {} : { at }));
    };
    counter({ counters: third.id, acks: first.id });
    expect(ids.map(stateOf)).toEqual(["stored", "stored", "answered"]);
    counter({ request_id: "0011aabb" }, NOON + seconds(1));
    expect(ids.map(stateOf)).toEqual(["answered", "stored", "answered"]);
  });

  test("is shown whole, the newest first, heartbeats left out", () => {
    const { forge, send, now, hear } = scene();
    const [first, second] = [send().message, send("ship").message];
    forge.say(OURS, now(), { type: "heartbeat" });
    hear({ [OURS]: { lines: 3, refused: [[1, "tier_refused"]] } });
    const view = sentView(forge.receipts.sent);
    const at = view[0]?.receipts[0]?.at;
    const fixed = { to: ["scribe"] };
    expect(view).toStrictEqual([
      {
        ...fixed,
        event_id: second.id,
        timestamp: second.timestamp,
        type: "ship",
        subject: "ship",
        correlation_id: second.correlationId,
        receipts: [{ to: "scribe", state: "delivered", at }],
      },
      {
        ...fixed,
        event_id: first.id,
        timestamp: first.timestamp,
        type: "feedback",
        subject: "feedback",
        correlation_id: first.correlationId,
        receipts: [{ to: "scribe", state: "refused", reason: "tier_refused", at }],
      },
    ]);
    expect(at).toBe("2026-11-20T12:00:05.000Z");
    expect(sentView(forge.receipts.sent, 1)).toEqual(view.slice(0, 1));
    expect(receiptView(forge.receipts.sent, "unknown")).toBeUndefined();
  });

  test("states only rise, whatever the beats say", () => {
    const rank = ["stored", "delivered", "read", "answered", "refused"];
    const head = fc.record({
      lines: fc.integer({ min: 0, max: 6 }),
      read: fc.integer({ min: 0, max: 6 }),
      refused: fc.array(fc.tuple(fc.integer({ min: 1, max: 6 }), fc.constant("schema")), {
        maxLength: 3,
      }),
      wrong: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(fc.option(head), { maxLength: 25 }), (steps) => {
        const { forge, send, hear } = scene();
        const before = new Map<string, number>();
        for (const step of steps) {
          if (step === null) send();
          else hear({ [OURS]: step });
          for (const { event_id, receipts } of sentView(forge.receipts.sent)) {
            const now = rank.indexOf(receipts[0]?.state ?? "");
            expect(now).toBeGreaterThanOrEqual(before.get(event_id) ?? 0);
            before.set(event_id, now);
          }
        }
      }),
      { numRuns: 200 },
    );
  });

  test("of what we sent only the newest is remembered", () => {
    const { forge, send, hear, stateOf } = scene();
    const first = send().message.id;
    for (let n = 0; n < MAX_SENT; n += 1) send();
    expect(stateOf(first)).toBeUndefined();
    expect(forge.receipts.sent.order.get(OURS)).toHaveLength(MAX_SENT);
    expect(forge.receipts.sent.order.get(OURS)).not.toContain(first);
    expect(sentView(forge.receipts.sent)).toHaveLength(MAX_SENT);
    hear({ [OURS]: { lines: MAX_SENT + 1 } });
    const states = sentView(forge.receipts.sent).map(({ receipts }) => receipts[0]?.state);
    expect(new Set(states)).toEqual(new Set(["delivered"]));
  });

  test("in an outbox each addressee has a receipt of its own", () => {
    const script = new WireScript("outbox", ["ada", "bob", "eve"]);
    const ada = new ScriptedAgent(script, scriptEnv(script.layout, "ada"));
    const { id } = ada.say("ada", moment(NOON), { type: "ship" }).message;
    script.beat("bob", NOON + 1, { ada: { lines: 1 } });
    ada.read(moment(NOON + 2));
    const receipts = receiptView(ada.receipts.sent, id)?.receipts;
    expect(receipts?.map(({ to, state }) => `${to} ${state}`)).toEqual([
      "bob delivered",
      "eve stored",
    ]);
  });
});

describe("what we have taken in", () => {
  const headOf = (agent: ScriptedAgent) =>
    headsFor(agent.receipts, agent.logs, OURS, agent.env)[THEIRS];

  test("lines, the last chained one, and how far everything was read", () => {
    const { script, forge } = scene();
    expect(headOf(forge)).toBeUndefined();
    script.say(THEIRS, NOON, { type: "warning" });
    const second = script.say(THEIRS, NOON + 1, { type: "ship" }).message;
    script.say(THEIRS, NOON + 2, { type: "feedback", unsigned: true });
    forge.read(moment(NOON + 3));
    forge.fold({ kind: "skipped", log: THEIRS, line: 4, at: NOON + 4 });
    const head = { lines: 4, seq: 2, event_id: second.id, refused: [] };
    expect(headOf(forge)).toEqual({ ...head, read_lines: 0 });
    forge.fold({ kind: "read", ids: [second.id], at: NOON + 5 });
    expect(headOf(forge)).toEqual({ ...head, read_lines: 0 });
    const first = unreadView(forge.receipts)[0]?.id ?? "";
    forge.fold({ kind: "read", ids: [first], at: NOON + 5 });
    expect(headOf(forge)).toEqual({ ...head, read_lines: 2 });
    expect(unreadCount(forge.receipts, forge.env, "scribe")).toBe(1);
    forge.fold({ kind: "read", ids: "all", at: NOON + 6 });
    expect(headOf(forge)).toEqual({ ...head, read_lines: 4 });
  });

  /** A line that is refused, and one that is taken in: no range goes over that. */
  function refuseApart({ script, forge }: ReturnType<typeof scene>, count: number): void {
    for (let at = 0; at < count; at += 1) {
      const [refused, taken] = [0, 1].map(() => script.say(THEIRS, NOON, { type: "ship" }));
      if (refused === undefined || taken === undefined) throw new Error("nothing was said");
      forge.fold(lineEvent(refused, "forge", { refused: "tier_refused" }));
      forge.fold(lineEvent(taken, "forge"));
    }
  }

  test("what others wrote is one range, however much it is, and never full", () => {
    const { forge } = scene();
    forge.fold({ kind: "refused", log: THEIRS, first: 1, line: 3_000, at: NOON, reason: "schema" });
    forge.fold({ kind: "skipped", log: THEIRS, line: 3_001, at: NOON, isCopy: true });
    forge.fold({ kind: "refused", log: THEIRS, line: 3_002, at: NOON, reason: "unsigned" });
    expect(mustPause(forge.receipts, THEIRS)).toBe(false);
    expect(headOf(forge)).toMatchObject({ lines: 3_002, refused: [[1, 3_002, "foreign"]] });
    expect(forge.beat(moment(NOON + 1))).toHaveLength(1);
    expect(headOf(forge)?.refused).toEqual([]);
    forge.fold({ kind: "refused", log: THEIRS, line: 3_003, at: NOON, reason: "malformed" });
    expect(headOf(forge)?.refused).toEqual([[3_003, 3_003, "foreign"]]);
  });

  test("ranges are named until a beat has named them; 32 that cannot be joined stop reading", () => {
    const at = scene();
    const { script, forge } = at;
    refuseApart(at, MAX_NAMED_REFUSALS - 1);
    expect(mustPause(forge.receipts, THEIRS)).toBe(false);
    refuseApart(at, 1);
    expect(mustPause(forge.receipts, THEIRS)).toBe(true);
    expect(headOf(forge)).toMatchObject({ lines: 64 });
    expect(headOf(forge)?.refused).toHaveLength(MAX_NAMED_REFUSALS);
    // Even if a line slips in, no head passes it unnamed.
    const late = script.say(THEIRS, NOON, { type: "ship" });
    forge.fold(lineEvent(late, "forge", { refused: "body_too_large" }));
    expect(headOf(forge)).toMatchObject({ lines: 64 });
    expect(headOf(forge)?.refused).toHaveLength(MAX_NAMED_REFUSALS);
    expect(forge.beat(moment(NOON + 1))).toHaveLength(1);
    expect(mustPause(forge.receipts, THEIRS)).toBe(false);
    expect(headOf(forge)).toMatchObject({ lines: 65, refused: [[65, 65, "body_too_large"]] });
  });

  test("what was taken back is not named", () => {
    const { forge } = scene();
    forge.fold({ kind: "refused", log: THEIRS, first: 1, line: 3, at: NOON, reason: "malformed" });
    forge.fold({ kind: "rewound", log: "nowhere", line: 0, at: NOON });
    forge.fold({ kind: "rewound", log: THEIRS, line: 2, at: NOON });
    expect(headOf(forge)?.refused).toEqual([[1, 2, "foreign"]]);
  });

  test("unread mail is shown in the order of its receipt, whichever log it is in", () => {
    const script = new WireScript("outbox", ["ada", "bob", "eve"]);
    const ada = new ScriptedAgent(script, scriptEnv(script.layout, "ada"));
    for (const [log, at] of [
      ["bob", 2],
      ["bob", 4],
      ["eve", 1],
      ["eve", 3],
    ] as const) {
      ada.fold(lineEvent(script.say(log, NOON, { type: "ship" }), "ada", { at: NOON + at }));
    }
    const places = () => unreadView(ada.receipts).map(({ log, line }) => `${log}:${line}`);
    expect(places()).toEqual(["eve:1", "bob:1", "eve:2", "bob:2"]);
    ada.fold({ kind: "read", ids: [], at: NOON });
    expect(places()).toHaveLength(4);
    ada.fold({ kind: "read", ids: [unreadView(ada.receipts)[1]?.id ?? ""], at: NOON });
    expect(places()).toEqual(["eve:1", "eve:2", "bob:2"]);
  });

  test("a full list brings the next beat forward, or nothing would be read for minutes", () => {
    const at = scene();
    const { forge } = at;
    forge.beat(moment(NOON));
    refuseApart(at, MAX_NAMED_REFUSALS);
    forge.read(moment(NOON + 1));
    expect(forge.nextDueMs()).toBeLessThanOrEqual(NOON + 1 + seconds(2));
  });

  test("an authentic line that we refuse is named and not unread; its sender learns it soon", () => {
    const { script, forge } = scene();
    forge.beat(moment(NOON));
    const claim = script.say(THEIRS, NOON + 1, { type: "claim" });
    forge.fold(lineEvent(claim, "forge", { refused: "tier_refused" }));
    forge.timers = planBeats(forge.timers, forge.receipts, forge.env, moment(NOON + 2));
    expect(headOf(forge)).toMatchObject({ lines: 1, seq: 1, refused: [[1, 1, "tier_refused"]] });
    expect(unreadCount(forge.receipts, forge.env)).toBe(0);
    expect(forge.nextDueMs()).toBeLessThanOrEqual(NOON + seconds(3));
  });

  test("what is not for us is no mail, and logs between others are no business of our heads", () => {
    const script = new WireScript("pairwise", ["ada", "bob", "eve"]);
    const ada = new ScriptedAgent(script, scriptEnv(script.layout, "ada"));
    script.say("bob_to_eve", NOON, { type: "warning" });
    script.say("bob_to_ada", NOON, { type: "warning", to: ["eve"] });
    ada.read(moment(NOON + 1));
    for (let line = 2; line < 50; line += 1) {
      ada.fold({ kind: "refused", log: "bob_to_eve", line, at: NOON, reason: "malformed" });
    }
    expect(mustPause(ada.receipts, "bob_to_eve")).toBe(false);
    expect(unreadCount(ada.receipts, ada.env)).toBe(0);
    const heads = headsFor(ada.receipts, ada.logs, "ada_to_bob", ada.env);
    expect(Object.keys(heads)).toEqual(["bob_to_ada"]);
  });

  test("after a lost journal our own beats still know what was read", () => {
    const { script, forge } = scene();
    script.say(THEIRS, NOON, { type: "warning" });
    forge.read(moment(NOON + 1));
    forge.fold({ kind: "read", ids: "all", at: NOON + 2 });
    forge.beat(moment(NOON + 3));
    script.say(THEIRS, NOON + minutes(1), { type: "ship" });
    forge.read(moment(NOON + minutes(1)));
    const again = new ScriptedAgent(script, forge.env);
    again.read(moment(NOON + minutes(2)));
    expect(unreadView(again.receipts).map(({ line }) => line)).toEqual([2]);
    expect(unreadView(forge.receipts).map(({ line }) => line)).toEqual([2]);
    // Also when our own log is read before theirs.
    const ownFirst = new ScriptedAgent(script, forge.env);
    for (const log of [OURS, THEIRS]) {
      for (const line of script.lines.get(log) ?? []) ownFirst.fold(lineEvent(line, "forge"));
    }
    expect(unreadView(ownFirst.receipts).map(({ line }) => line)).toEqual([2]);
  });

  test.each(["acks", "counters", "resolves"])(
    "answering by %s marks what that log has for us up to there, and no other log",
    (field) => {
      const { script, forge } = scene();
      const [first, second, third] = ["one", "two", "three"].map((subject, at) =>
        script.say(THEIRS, NOON + at, { type: "request", subject }),
      );
      forge.read(moment(NOON + 3));
      const body = { [field]: second?.message.id };
      forge.say(OURS, moment(NOON + 4), { type: "ack", thread: "t", body });
      expect(unreadView(forge.receipts).map(({ id }) => id)).toEqual([third?.message.id]);
      expect(headOf(forge)?.read_lines).toBe(2);
      forge.say(OURS, moment(NOON + 5), {
        type: "ack",
        thread: "t",
        body: { [field]: first?.message.id },
      });
      expect(headOf(forge)?.read_lines).toBe(2);
    },
  );

  test("beyond the limit unread mail is counted, and stays unread until all is read", () => {
    const { script, forge } = scene();
    const line = script.say(THEIRS, NOON, { type: "ship" });
    for (let n = 1; n <= MAX_UNREAD + 5; n += 1) {
      const message = { ...line.message, id: eventId(String(n)) };
      forge.fold(lineEvent({ ...line, line: n, message }, "forge"));
    }
    expect(unreadCount(forge.receipts, forge.env)).toBe(MAX_UNREAD + 5);
    const ids = unreadView(forge.receipts).map(({ id }) => id);
    forge.fold({ kind: "read", ids, at: NOON });
    expect(unreadCount(forge.receipts, forge.env)).toBe(5);
    expect(headOf(forge)?.read_lines).toBe(MAX_UNREAD);
    forge.fold({ kind: "read", ids: "all", at: NOON });
    expect(unreadCount(forge.receipts, forge.env)).toBe(0);
  });
});
