import { describe, expect, test } from "vitest";
import { membersView } from "../../../src/protocol/members/members-view.ts";
import type { PlaceJson } from "../../../src/trust/policy/left-members.ts";
import { hours, NOON, type ScriptLine } from "../../support/scripts/wire-script.ts";
import { away, back, MemberTalk, type Pinned, type Seen } from "./member-talk.ts";

const view = ({ state, env }: Seen) => membersView(state, env);
const rowOf = (seen: Seen, who: string) => view(seen).roster.find(({ handle }) => handle === who);

function place({ line, message }: ScriptLine): PlaceJson {
  return { lines: line, seq: message.seq ?? null, event_id: message.id };
}

describe("the roster", () => {
  test.each<[string, Pinned, "member" | "left", string | null]>([
    ["a member from the beginning", {}, "member", null],
    ["one that left", { left: away("c", NOON + hours(1)) }, "left", "2026-11-20T13:00:00.000Z"],
    [
      "one that is back",
      { left: back("c", NOON + hours(2)) },
      "member",
      "2026-11-20T14:00:00.000Z",
    ],
  ])("has %s, and since when", (_name, pinned, is, since) => {
    const { roster } = view(new MemberTalk().seenBy("a", pinned));
    expect(roster.map(({ handle }) => handle)).toEqual(["a", "b", "c"]);
    expect(roster[2]).toEqual({ handle: "c", is, since, held: {}, covered: {} });
    expect(roster[0]).toMatchObject({ handle: "a", is: "member", since: null });
  });

  test("has of each the last line that is held, and the last one that our beats cover", () => {
    const talk = new MemberTalk();
    const first = talk.say("c", { type: "feedback" });
    const ours = talk.beat("a", { c: { lines: 1 } });
    talk.beat("b", { c: { lines: 1 } });
    const second = talk.say("c", { type: "feedback" });
    const seen = talk.seenBy("a");
    expect(rowOf(seen, "c")).toMatchObject({
      held: { c: place(second) },
      covered: { c: place(first) },
    });
    expect(rowOf(seen, "a")).toMatchObject({ held: { a: place(ours) }, covered: {} });
    expect(rowOf(seen, "b")?.covered).toEqual({});
  });

  test("covers what our newest beat covers", () => {
    const talk = new MemberTalk();
    talk.say("c", { type: "feedback" });
    talk.beat("a", { c: { lines: 1 } });
    const second = talk.say("c", { type: "feedback" });
    talk.beat("a", { c: { lines: 2 } });
    expect(rowOf(talk.seenBy("a"), "c")?.covered).toEqual({ c: place(second) });
  });

  test("covers nothing of a log that is not held", () => {
    const talk = new MemberTalk();
    talk.beat("a", { c: { lines: 0 } });
    expect(rowOf(talk.seenBy("a"), "c")).toMatchObject({ held: {}, covered: {} });
    talk.script.beat("c", NOON);
    talk.beat("a", { c: { lines: 1 } });
    expect(rowOf(talk.seenBy("a"), "c")).toMatchObject({ held: {}, covered: {} });
  });

  test("names the lines of a log without a chain by their number alone", () => {
    const talk = new MemberTalk();
    talk.say("c", { type: "feedback", unsigned: true });
    talk.beat("a", { c: { lines: 1 } });
    const lines = { c: { lines: 1, seq: null, event_id: null } };
    expect(rowOf(talk.seenBy("a"), "c")).toMatchObject({ held: lines, covered: lines });
  });

  test("has no place of a log of which no line is held", () => {
    const talk = new MemberTalk();
    const recounted = { kind: "recounted", log: "c", line: 0, earlier: 0, at: NOON } as const;
    talk.events.push(() => recounted);
    const seen = talk.seenBy("a");
    expect(seen.state.logs.get("c")?.lines).toBe(0);
    expect(rowOf(seen, "c")?.held).toEqual({});
  });

  test("covers of a pair what we read of it", () => {
    const talk = new MemberTalk("pairwise");
    const toA = talk.say("c_to_a", { type: "feedback" });
    const toB = talk.say("c_to_b", { type: "feedback" });
    talk.beat("a_to_c", { c_to_a: { lines: 1 } });
    expect(rowOf(talk.seenBy("a"), "c")).toMatchObject({
      held: { c_to_a: place(toA), c_to_b: place(toB) },
      covered: { c_to_a: place(toA) },
    });
  });
});

describe("the changes of members", () => {
  test("say by which proposal members changed last", () => {
    const talk = new MemberTalk();
    expect(view(talk.seenBy("a"))).toMatchObject({ changed_by: null, changes: [] });
    expect(view(talk.seenBy("a", { changedBy: "last" })).changed_by).toBe("last");
  });

  test("show an open one without a date and without lines", () => {
    const talk = new MemberTalk();
    const last = talk.say("c", { type: "feedback" });
    const of = talk.propose("a", "remove_member", "c", { last: { c: place(last) } });
    expect(view(talk.seenBy("b")).changes).toEqual([
      {
        event_id: of.message.id,
        from: "a",
        handle: "c",
        becomes: "left",
        status: "open",
        due: false,
        problem: null,
        at: null,
        logs: {},
      },
    ]);
  });

  test("show an agreed one as due, with its date and its lines", () => {
    const talk = new MemberTalk();
    const last = talk.say("c", { type: "feedback" });
    const of = talk.propose("a", "remove_member", "c", { last: { c: place(last) } });
    const beat = talk.agree(of, ["b"]);
    expect(view(talk.seenBy("b")).changes).toMatchObject([
      {
        status: "ratified",
        due: true,
        problem: null,
        at: new Date(beat.at).toISOString(),
        logs: { c: place(last) },
      },
    ]);
  });

  test("show why one that is agreed is not due", () => {
    const talk = new MemberTalk("outbox", ["a", "b", "c", "d"]);
    talk.agree(talk.propose("a", "remove_member", "c", { required: ["b"] }), ["b"]);
    expect(view(talk.seenBy("b")).changes).toMatchObject([
      { status: "ratified", due: false, problem: "it does not ask d" },
    ]);
  });

  test("leave out one that has ended", () => {
    const talk = new MemberTalk();
    const of = talk.propose("a", "remove_member", "c");
    expect(view(talk.seenBy("b")).changes).toHaveLength(1);
    talk.ack("b", of, { approve: false });
    talk.beat("a", talk.allOf(["b"]));
    expect(view(talk.seenBy("b")).changes).toEqual([]);
  });

  test("show one that leaves by itself as due", () => {
    const talk = new MemberTalk();
    const bye = talk.leave("c");
    expect(view(talk.seenBy("b")).changes).toMatchObject([
      { event_id: bye.message.id, status: "announced", due: true, logs: { c: place(bye) } },
    ]);
  });
});
