import { describe, expect, test } from "vitest";
import {
  applyParking,
  decideParking,
  emptyParking,
  isNewWork,
  isParking,
  isPaused,
  mayPark,
  withParking,
} from "../../../src/protocol/requests/parking.ts";
import type { LineEvent } from "../../../src/protocol/events.ts";
import type { Draft } from "../../../src/wire/compose.ts";
import { fromPlain } from "../../../src/wire/json/json.ts";
import { OutcomeScript } from "../../support/scripts/outcome-script.ts";
import { lineEvent, NOON, scriptEnv, WireScript } from "../../support/scripts/wire-script.ts";

const ASKED = "0".repeat(64);

function approval(change: Partial<LineEvent> = {}, body: object = {}) {
  const wire = new WireScript("pairwise", ["a", "b"]);
  const said = { acks: ASKED, approve: true, parks: true, ...body };
  const line = wire.say("a_to_b", NOON, { type: "ack", to: ["b"], thread: "t", body: said });
  return lineEvent(line, "a", change);
}

describe("parking", () => {
  test("begins with our own approval in our own log, and is paused once the hook has ended", () => {
    const state = emptyParking();
    const event = approval();
    applyParking(state, event);
    const by = event.message.id;
    const parked = { by, request: ASKED, peer: "b", at: NOON, stop: undefined };
    expect(state).toEqual({ parked, woken: undefined });
    expect(isPaused(state)).toBe(false);
    expect(decideParking(state)).toEqual([{ do: "stop_agent", by, request: ASKED, peer: "b" }]);
    const end = { outcome: "failed", detail: "exit code 1" } as const;
    applyParking(state, { kind: "stopped", by: "another", ...end, at: NOON });
    expect(isPaused(state)).toBe(false);
    applyParking(state, { kind: "stopped", by, ...end, at: NOON });
    expect(state.parked?.stop).toEqual(end);
    expect(isPaused(state)).toBe(true);
    expect(decideParking(state)).toEqual([]);
  });

  test("ends with the word that ends it, for that approval alone, and the line read again begins nothing", () => {
    const state = emptyParking();
    const event = approval();
    applyParking(state, event);
    applyParking(state, { kind: "woken", by: event.message.id, at: NOON + 1 });
    expect(state).toEqual({ parked: undefined, woken: { by: event.message.id, at: NOON + 1 } });
    applyParking(state, event);
    expect(state.parked).toBeUndefined();
    applyParking(state, approval({}, { reason: "another one" }));
    expect(state.parked).toBeDefined();
  });

  test.each([
    ["a peer's line", { own: false }, {}],
    ["history", { live: false }, {}],
    ["a line that we refuse", { refused: "tier_refused" as const }, {}],
    ["an ack that does not park", {}, { parks: "yes" }],
    ["an ack that names nothing", {}, { acks: 7 }],
  ])("%s parks nobody", (_what, change, body) => {
    const state = emptyParking();
    applyParking(state, approval(change, body));
    expect(state.parked).toBeUndefined();
  });

  test("begins with an approval that names nobody, too", () => {
    const state = emptyParking();
    const event = approval();
    const { message } = event;
    applyParking(state, { ...event, message: { ...message, to: undefined } });
    expect(state.parked?.peer).toBe("");
    const begun = emptyParking();
    applyParking(begun, { ...event, message: { ...message, to: [] } });
    expect(begun.parked?.peer).toBe("");
  });

  test("is ended by no word about another approval, nor before it begins", () => {
    const state = emptyParking();
    expect(state).toStrictEqual({ parked: undefined, woken: undefined });
    applyParking(state, { kind: "stopped", by: "x", outcome: "done", detail: "", at: NOON });
    expect(state).toEqual(emptyParking());
    applyParking(state, { kind: "woken", by: "x", at: NOON });
    expect(state).toEqual({ parked: undefined, woken: { by: "x", at: NOON } });
    applyParking(state, approval());
    applyParking(state, { kind: "woken", by: "another", at: NOON + 1 });
    expect(state.parked).toBeDefined();
    expect(state.woken).toEqual({ by: "another", at: NOON + 1 });
  });

  test("begins with no other line that says so", () => {
    const state = emptyParking();
    const event = approval();
    applyParking(state, { ...event, message: { ...event.message, type: "feedback" } });
    expect(state.parked).toBeUndefined();
  });

  test("a second approval changes nothing while the first one holds", () => {
    const state = emptyParking();
    applyParking(state, approval());
    const { parked } = state;
    applyParking(state, approval({}, { reason: "once more" }));
    expect(state.parked).toBe(parked);
  });

  test("what is begun is new work, what is answered or ended is not", () => {
    expect(["request", "proposal", "claim"].every(isNewWork)).toBe(true);
    const others = ["ack", "ship", "feedback", "correction", "release", "incident", "decision"];
    expect(others.some(isNewWork)).toBe(false);
  });
});

describe("the answer that parks", () => {
  const ASK = "a asks R request=0badcafe01 type=shutdown";
  const drafted = (steps: readonly string[], body: object, type = "ack") => {
    const script = new OutcomeScript("pairwise", ["a", "b"], steps);
    const { requests, threads } = script.fold("b");
    const acks = script.idOf("R");
    const correlationId = script.order[0]?.message.correlationId ?? "";
    const said = fromPlain({ acks, request_id: "0badcafe01", ...body });
    const draft = { to: ["a"], type, subject: "s", body: said, correlationId };
    return withParking(draft, { requests, threads }, script.env("b")).body;
  };

  test("is an approval of an open shutdown request to us", () => {
    expect(drafted([ASK], { approve: true })).toMatchObject({ approve: true, parks: true });
  });

  test.each([
    ["a rejection", [ASK], { approve: false }],
    ["no answer", [ASK], {}],
    ["an answer to another type", ["a asks R request=0badcafe01 type=review"], { approve: true }],
    ["another name", [ASK], { approve: true, request_id: "0badcafe02" }],
    ["after the end", [ASK, "a cancels R"], { approve: true }],
    ["the second one", [ASK, "b declines R"], { approve: true }],
    ["a void request", [ASK.replace("R", "Q"), ASK], { approve: true }],
    ["our own request", ["b asks R request=0badcafe01 type=shutdown"], { approve: true }],
  ])("not %s", (_what, steps, body) => {
    expect(drafted(steps, body)).not.toHaveProperty("parks");
  });

  test("nor to a request that we refuse", () => {
    const script = new OutcomeScript("pairwise", ["a", "b"], [ASK]);
    const change = { refused: "tier_refused" as const };
    const state = script.fold(
      "b",
      script.events("b", () => change),
    );
    const body = fromPlain({ acks: script.idOf("R"), request_id: "0badcafe01", approve: true });
    const draft = { to: ["a"], type: "ack", subject: "s", body };
    expect(withParking(draft, state, script.env("b"))).toBe(draft);
  });

  test("or an ack of a bare shutdown of a trusted peer, unless its author has left", () => {
    const wire = new WireScript("pairwise", ["a", "b"]);
    const bare = wire.say("a_to_b", NOON, { type: "shutdown" });
    const farewell = wire.say("a_to_b", NOON + 1, { type: "shutdown", body: { leaves: true } });
    const script = new OutcomeScript("pairwise", ["a", "b"], []);
    const events = [bare, farewell].map((line) => lineEvent(line, "b"));
    const state = script.fold("b", events);
    const parks = (line: typeof bare, tier: "TRUSTED" | "ATTESTED", body: object = {}) => {
      const { id, correlationId } = line.message;
      const said = fromPlain({ acks: id, ...body });
      const draft = { to: ["a"], type: "ack", subject: "s", body: said, correlationId };
      const env = scriptEnv(wire.layout, "b", { a: { tier } });
      return Object.hasOwn(withParking(draft, state, env).body as object, "parks");
    };
    expect(parks(bare, "TRUSTED")).toBe(true);
    expect(parks(bare, "ATTESTED")).toBe(false);
    expect(parks(bare, "TRUSTED", { approve: false })).toBe(false);
    expect(parks(bare, "TRUSTED", { request_id: "0badcafe01" })).toBe(false);
    expect(parks(farewell, "TRUSTED")).toBe(false);
  });
});

describe("a draft", () => {
  const draft = (type: string, body: unknown) => {
    return { to: ["a"], type, subject: "s", body: fromPlain(body) };
  };

  test.each<[string, unknown, boolean, boolean]>([
    ["ack", { request_id: "0badcafe01" }, true, false],
    ["ack", { request_id: 7 }, true, false],
    ["ack", { acks: ASKED }, false, false],
    ["ack", { parks: true }, false, true],
    ["ack", { parks: false }, false, false],
    ["ack", { parks: "true" }, false, false],
    ["request", { request_id: "0badcafe01", parks: true }, false, false],
  ])("that may park us, and one that does: %s %j", (type, body, may, does) => {
    expect([mayPark(draft(type, body)), isParking(draft(type, body))]).toEqual([may, does]);
  });

  test("of another type, or without an object as its body, stays as it is", () => {
    const steps = ["a asks R request=0badcafe01 type=shutdown"];
    const script = new OutcomeScript("pairwise", ["a", "b"], steps);
    const state = script.fold("b");
    const acks = script.idOf("R");
    const other = draft("feedback", { acks, request_id: "0badcafe01", approve: true });
    for (const each of [other, draft("ack", acks), draft("ack", null)]) {
      expect(withParking(each, state, script.env("b"))).toBe(each);
    }
  });
});

describe("a bare shutdown", () => {
  const parks = (to: readonly string[], change: Partial<LineEvent>, body: object = {}) => {
    const wire = new WireScript("outbox", ["a", "b", "c"]);
    const lines = [
      wire.say("a", NOON, { type: "feedback", thread: "t" }),
      wire.say("a", NOON + 1, { type: "shutdown", to, thread: "t" }),
    ];
    const env = scriptEnv(wire.layout, "b");
    const state = new OutcomeScript("outbox", ["a", "b", "c"], []).fold(
      "b",
      lines.map((line) => lineEvent(line, "b", change)),
    );
    const [first, bare] = lines.map(({ message }) => message.id);
    const draft = (acks: string | undefined, correlationId = "t") => {
      const said = fromPlain({ acks, ...body });
      return { to: ["a"], type: "ack", subject: "s", body: said, correlationId };
    };
    const isParked = (each: Draft): boolean => isParking(withParking(each, state, env));
    const { correlationId: _none, ...unnamed } = draft(bare);
    return [draft(bare), draft(first), draft(bare, "u"), unnamed].map(isParked);
  };

  test("is answered by an ack that names it in its thread", () => {
    expect(parks(["b"], {})).toEqual([true, false, false, false]);
    expect(parks(["*"], {})).toEqual([true, false, false, false]);
    expect(parks(["b"], {}, { approve: true })).toEqual([true, false, false, false]);
  });

  test("is none for those whom it does not name, nor one that we refuse", () => {
    expect(parks(["c"], {})).not.toContain(true);
    expect(parks(["b"], { refused: "tier_refused" })).not.toContain(true);
  });
});
