import { describe, expect, test } from "vitest";
import {
  applyMembers,
  emptyMembers,
  memberChangeIn,
} from "../../../src/protocol/members/member-changes.ts";
import { fromPlain, type JsonValue } from "../../../src/wire/json/json.ts";
import type { LineEvent } from "../../../src/protocol/events.ts";
import { lineEvent, NOON, WireScript, type Saying } from "../../support/scripts/wire-script.ts";

const REMOVAL = { action: "remove_member", member: "c" };
const ADDING = { action: "add_member", member: "d" };

/** What agent a folds of members. */
function scene() {
  const script = new WireScript("outbox", ["a", "b", "c"]);
  const state = emptyMembers();
  const event = (from: string, saying: Saying): LineEvent =>
    lineEvent(script.say(from, NOON, saying), "a");
  const say = (from: string, saying: Saying): string => {
    const line = event(from, saying);
    applyMembers(state, line);
    return line.message.id;
  };
  const propose = (from: string, body: object, to = ["b"]): string =>
    say(from, { type: "proposal", to, body });
  const ack = (from: string, acks: string, body: object = {}): string =>
    say(from, { type: "ack", thread: "t", body: { acks, ...body } });
  const leave = (from: string, body: object = { leaves: true }): string =>
    say(from, { type: "shutdown", body });
  const supported = (): string[] =>
    [...state.changes.values(), ...state.farewells.values()]
      .filter((each) => each.supported)
      .map(({ id }) => id);
  return { state, event, propose, ack, leave, supported };
}

const inBody = (body: unknown) => memberChangeIn(fromPlain(body));
const PLACE = { lines: 3, seq: 2, event_id: "e" };
const READ = { lines: 3, seq: 2, eventId: "e" };

describe("a body asks for a change of members", () => {
  test("with an action, a handle and the change before it", () => {
    expect(inBody({ ...REMOVAL, after: "before" })).toEqual({
      action: "remove_member",
      member: "c",
      after: "before",
      logs: new Map(),
    });
    expect(inBody({ ...ADDING, after: null })).toEqual({
      action: "add_member",
      member: "d",
      after: undefined,
      logs: new Map(),
    });
  });

  test.each<[string, unknown]>([
    ["without an action", { member: "c" }],
    ["with another action", { action: "layout", member: "c" }],
    ["without a member", { action: "add_member" }],
    ["with a member that is no text", { action: "add_member", member: 1 }],
    ["with a member that is no handle", { action: "add_member", member: "C d" }],
    ["that is no object", "remove_member"],
  ])("not %s", (_name, body) => {
    expect(inBody(body)).toBeUndefined();
  });

  test("with the last lines of one that leaves, and the first ones of one that is added", () => {
    const both = { last: { c: PLACE }, first: { d: PLACE } };
    expect(inBody({ ...REMOVAL, ...both })?.logs).toEqual(new Map([["c", READ]]));
    expect(inBody({ ...ADDING, ...both })?.logs).toEqual(new Map([["d", READ]]));
  });

  test.each<[string, JsonValue, object]>([
    ["no object", 5, { lines: 0, seq: undefined, eventId: undefined }],
    ["empty", {}, { lines: 0, seq: undefined, eventId: undefined }],
    [
      "of values of other kinds",
      { lines: "3", seq: -1, event_id: 7 },
      { lines: 0, seq: undefined, eventId: undefined },
    ],
    ["without a chain", { lines: 3, seq: null, event_id: null }, { lines: 3 }],
  ])("with a place that is %s", (_name, place, read) => {
    expect(inBody({ ...REMOVAL, last: { c: place } })?.logs).toEqual(new Map([["c", read]]));
  });

  test("with no lines when they are no object", () => {
    for (const last of [null, 7, "c", ["c"]])
      expect(inBody({ ...REMOVAL, last })?.logs).toEqual(new Map());
  });

  test("with the lines of 256 logs at most", () => {
    const last = Object.fromEntries(Array.from({ length: 257 }, (_, at) => [`log${at}`, PLACE]));
    const logs = inBody({ ...REMOVAL, last })?.logs;
    expect(logs?.size).toBe(256);
    expect(logs?.has("log256")).toBe(false);
  });
});

describe("a proposal that asks for a change of members", () => {
  test("is remembered with what it asks of whom", () => {
    const { state, propose } = scene();
    const id = propose("b", { ...REMOVAL, after: "before", required: ["a"], last: { c: PLACE } });
    expect([...state.changes]).toEqual([
      [
        id,
        {
          id,
          log: "b",
          from: "b",
          action: "remove_member",
          member: "c",
          after: "before",
          logs: new Map([["c", READ]]),
          required: ["a"],
          supported: false,
        },
      ],
    ]);
  });

  test("asks those whom it goes to where it names nobody", () => {
    const { state, propose } = scene();
    const id = propose("b", REMOVAL, ["a", "c"]);
    expect(state.changes.get(id)?.required).toEqual(["a", "c"]);
  });

  test("asks nobody where it goes to nobody by name", () => {
    const { state, event } = scene();
    const line = event("b", { type: "proposal", body: REMOVAL });
    applyMembers(state, { ...line, message: { ...line.message, to: undefined } });
    expect(state.changes.get(line.message.id)?.required).toEqual([]);
  });

  test("counts when it is a proposal, is accepted, and is chained", () => {
    const { state, event } = scene();
    applyMembers(state, event("b", { type: "feedback", body: REMOVAL }));
    applyMembers(state, event("b", { type: "shutdown", body: { ...REMOVAL, leaves: false } }));
    applyMembers(state, event("b", { type: "proposal", body: { ...REMOVAL, action: "layout" } }));
    applyMembers(state, event("b", { type: "proposal", body: REMOVAL, unsigned: true }));
    const refused = event("b", { type: "proposal", body: REMOVAL });
    applyMembers(state, { ...refused, refused: "tier_refused" });
    applyMembers(state, { kind: "skipped", log: "b", line: 9, at: NOON });
    expect(state).toEqual(emptyMembers());
  });

  test("is one of the newest 256", () => {
    const { state, propose } = scene();
    const ids = Array.from({ length: 256 }, () => propose("b", REMOVAL));
    expect([...state.changes.keys()]).toEqual(ids);
    const newest = propose("b", REMOVAL);
    expect([...state.changes.keys()]).toEqual([...ids.slice(1), newest]);
  });
});

describe("a last line", () => {
  test("is remembered with its place", () => {
    const { state, event, leave } = scene();
    event("c", { type: "feedback" });
    const id = leave("c");
    expect([...state.farewells]).toEqual([
      ["c", { id, log: "c", from: "c", line: 2, seq: 2, timestampMs: NOON, supported: false }],
    ]);
  });

  test("is the last one of its log", () => {
    const { state, leave } = scene();
    leave("c");
    const again = leave("c");
    const ofB = leave("b");
    expect([...state.farewells].map(([log, { id }]) => [log, id])).toEqual([
      ["c", again],
      ["b", ofB],
    ]);
  });

  test("is an accepted and chained shutdown that says so", () => {
    const { state, event, leave } = scene();
    leave("c", {});
    leave("c", { leaves: false });
    leave("c", { leaves: "true" });
    const body = { leaves: true };
    applyMembers(state, event("c", { type: "feedback", body }));
    applyMembers(state, event("c", { type: "shutdown", body, unsigned: true }));
    const refused = event("c", { type: "shutdown", body });
    applyMembers(state, { ...refused, refused: "left_member" });
    expect(state).toEqual(emptyMembers());
  });
});

describe("we support", () => {
  test("what we have proposed", () => {
    const { propose, supported } = scene();
    const own = propose("a", REMOVAL);
    propose("b", REMOVAL);
    expect(supported()).toEqual([own]);
  });

  test("the change or the last line that we have acked, and no other one", () => {
    const { propose, leave, ack, supported } = scene();
    const first = propose("b", REMOVAL);
    propose("b", ADDING);
    leave("b");
    const bye = leave("c");
    expect(supported()).toEqual([]);
    ack("a", first);
    expect(supported()).toEqual([first]);
    ack("a", bye, { approve: true });
    expect(supported()).toEqual([first, bye]);
  });

  test("nothing by another one's ack, by a no, by other words, or by an ack of nothing", () => {
    const { state, event, propose, leave, ack, supported } = scene();
    const of = propose("b", REMOVAL);
    const bye = leave("c");
    for (const id of [of, bye]) {
      ack("b", id);
      ack("a", id, { approve: false });
      applyMembers(state, event("a", { type: "feedback", body: { acks: id } }));
    }
    applyMembers(state, event("a", { type: "ack", thread: "t", body: {} }));
    expect(supported()).toEqual([]);
  });
});
