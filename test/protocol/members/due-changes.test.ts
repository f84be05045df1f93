import { describe, expect, test } from "vitest";
import {
  dueChanges,
  knownChanges,
  type KnownChange,
} from "../../../src/protocol/members/due-changes.ts";
import { emptyState } from "../../../src/protocol/state.ts";
import { NOON } from "../../support/scripts/wire-script.ts";
import { away, back, MemberTalk, placeOf, type Pinned, type Seen } from "./member-talk.ts";

const FOUR = ["a", "b", "c", "d"];

const known = ({ state, env }: Seen): KnownChange[] => knownChanges(state, env);
const due = ({ state, env }: Seen): string[] => dueChanges(state, env).map(({ by }) => by);
const statuses = (seen: Seen): string[] =>
  known(seen).map(({ handle, status }) => `${handle} ${status}`);

/** Agent a proposes that c leaves; b agrees. */
function removal(body: { required?: string[] } & Record<string, unknown> = {}) {
  const talk = new MemberTalk("outbox", FOUR);
  const last = talk.say("c", { type: "feedback" });
  const place = placeOf(last);
  const { lines, seq, eventId: event_id } = place;
  const of = talk.propose("a", "remove_member", "c", {
    last: { c: { lines, seq, event_id } },
    ...body,
  });
  return { talk, of, id: of.message.id, place };
}

describe("a change of members that was proposed", () => {
  test("is open, and known with what it asks", () => {
    const { talk, id } = removal();
    expect(known(talk.seenBy("b"))).toEqual([
      {
        by: id,
        from: "a",
        handle: "c",
        becomes: "left",
        status: "open",
        problem: undefined,
        supported: false,
        membership: undefined,
      },
    ]);
    expect(due(talk.seenBy("b"))).toEqual([]);
  });

  test("is supported by its author, and by those who have acked it", () => {
    const { talk, of } = removal();
    talk.ack("b", of);
    const supporters = FOUR.filter((self) => known(talk.seenBy(self))[0]?.supported);
    expect(supporters).toEqual(["a", "b"]);
  });

  test("is due once all have agreed, as of the beat that ratifies it", () => {
    const { talk, of, id, place } = removal();
    const beat = talk.agree(of, ["b", "d"]);
    for (const self of FOUR) {
      const seen = talk.seenBy(self);
      expect(due(seen)).toEqual([id]);
      expect(known(seen)[0]).toMatchObject({
        status: "ratified",
        membership: {
          handle: "c",
          becomes: "left",
          atMs: beat.message.timestampMs,
          logs: new Map([["c", place]]),
          changedBy: id,
        },
      });
    }
  });

  test("has ended, and changes nobody, when it is rejected", () => {
    const { talk, of } = removal();
    talk.ack("b", of, { approve: false });
    talk.beat("a", talk.allOf(["b"]));
    const seen = talk.seenBy("d");
    expect(statuses(seen)).toEqual(["c ended"]);
    expect(known(seen)[0]?.membership).toBeUndefined();
    expect(due(seen)).toEqual([]);
  });

  test("is known no more once it is applied", () => {
    const { talk, of, id } = removal();
    talk.agree(of, ["b", "d"]);
    expect(known(talk.seenBy("a", { left: away("c"), changedBy: id }))).toEqual([]);
  });

  test("is known no more once it is applied, though its ratification is not held", () => {
    const { talk, id } = removal();
    expect(known(talk.seenBy("a", { changedBy: id }))).toEqual([]);
  });

  test("is open where its proposal is remembered no more", () => {
    const { talk } = removal();
    const { state, env } = talk.seenBy("b");
    const { members } = state;
    expect(statuses({ state: { ...emptyState(), members }, env })).toEqual(["c open"]);
  });

  test("is over when it was applied before the last change", () => {
    const { talk, of } = removal();
    talk.agree(of, ["b", "d"]);
    expect(known(talk.seenBy("a", { left: away("c"), changedBy: "later" }))).toEqual([]);
  });

  test("is shown with its problem, and is not due, when it is agreed but cannot be applied", () => {
    const { talk, of } = removal({ required: ["b"] });
    talk.agree(of, ["b"]);
    const seen = talk.seenBy("a");
    expect(known(seen)).toMatchObject([{ status: "ratified", problem: "it does not ask d" }]);
    expect(due(seen)).toEqual([]);
  });

  test("is shown with its problem while it is open after another one was applied", () => {
    const { talk } = removal();
    expect(known(talk.seenBy("b", { changedBy: "later" }))).toMatchObject([
      { status: "open", problem: "another change of members was applied before it" },
    ]);
  });

  test("is due when it follows the last one that was applied here", () => {
    const { talk, of, id } = removal({ after: "before" });
    talk.agree(of, ["b", "d"]);
    expect(due(talk.seenBy("b", { changedBy: "before" }))).toEqual([id]);
    expect(due(talk.seenBy("b"))).toEqual([]);
  });
});

test.each<[string, string, Pinned, KnownChange["becomes"]]>([
  ["outside the roster is new", "e", {}, "new"],
  ["that left comes back", "d", { left: away("d") }, "back"],
])("an agent %s", (_name, member, pinned, becomes) => {
  const talk = new MemberTalk("outbox", FOUR);
  talk.propose("a", "add_member", member, { required: ["b", "c"] });
  expect(known(talk.seenBy("a", pinned))).toMatchObject([{ handle: member, becomes }]);
});

test("changes are listed oldest first, and those who leave by themselves last", () => {
  const talk = new MemberTalk("outbox", FOUR);
  talk.leave("d");
  talk.propose("a", "remove_member", "c");
  talk.propose("b", "add_member", "e");
  expect(statuses(talk.seenBy("a"))).toEqual(["c open", "e open", "d announced"]);
});

describe("an agent that leaves by itself", () => {
  test("has announced it with its last line, and that is due at once", () => {
    const talk = new MemberTalk();
    talk.say("c", { type: "feedback" });
    const bye = talk.leave("c");
    talk.beat("c");
    const seen = talk.seenBy("a");
    expect(known(seen)).toEqual([
      {
        by: bye.message.id,
        from: "c",
        handle: "c",
        becomes: "left",
        status: "announced",
        problem: undefined,
        supported: false,
        membership: {
          handle: "c",
          becomes: "left",
          atMs: bye.message.timestampMs,
          logs: new Map([["c", placeOf(bye)]]),
          changedBy: undefined,
        },
      },
    ]);
    expect(due(seen)).toEqual([bye.message.id]);
  });

  test("is supported by those who have acked that line", () => {
    const talk = new MemberTalk();
    talk.ack("b", talk.leave("c"));
    expect(known(talk.seenBy("b"))[0]?.supported).toBe(true);
    expect(known(talk.seenBy("a"))[0]?.supported).toBe(false);
  });

  test("leaves no more once it is away", () => {
    const talk = new MemberTalk();
    talk.leave("c");
    expect(known(talk.seenBy("a", { left: away("c") }))).toEqual([]);
  });

  test("does not leave by the words of another one", () => {
    const talk = new MemberTalk();
    const { message } = talk.script.say("c", NOON, { type: "shutdown", body: { leaves: true } });
    talk.say("c", { type: "feedback" }, { message: { ...message, from: "b" } });
    const seen = talk.seenBy("a");
    expect(seen.state.members.farewells.size).toBe(1);
    expect(known(seen)).toEqual([]);
  });

  test("does not leave again by the line of before its return", () => {
    const talk = new MemberTalk();
    talk.say("c", { type: "feedback" });
    talk.leave("c");
    expect(known(talk.seenBy("a", { left: back("c", NOON, { c: 3 }) }))).toEqual([]);
    expect(known(talk.seenBy("a", { left: back("c", NOON, { c: 2 }) }))).toHaveLength(1);
  });
});

describe("in the logs of pairs an agent that leaves by itself", () => {
  test("has left when it has written so to each member", () => {
    const talk = new MemberTalk("pairwise");
    const toB = talk.leave("c_to_b");
    expect(known(talk.seenBy("a"))).toEqual([]);
    const toA = talk.leave("c_to_a");
    expect(known(talk.seenBy("a"))).toMatchObject([
      {
        by: toA.message.id,
        membership: {
          atMs: toA.message.timestampMs,
          logs: new Map([
            ["c_to_a", placeOf(toA)],
            ["c_to_b", placeOf(toB)],
          ]),
        },
      },
    ]);
  });

  test("has left at the later date, and with the support of one line", () => {
    const talk = new MemberTalk("pairwise");
    talk.ack("a_to_c", talk.leave("c_to_a"));
    const toB = talk.leave("c_to_b");
    const [leaving] = known(talk.seenBy("a"));
    expect(leaving?.membership?.atMs).toBe(toB.message.timestampMs);
    expect(leaving?.supported).toBe(true);
  });

  test("need not write to one that is away: that log ends where we hold it", () => {
    const talk = new MemberTalk("pairwise");
    const toB = talk.say("c_to_b", { type: "feedback" });
    const toA = talk.leave("c_to_a");
    expect(known(talk.seenBy("a", { left: away("b") }))[0]?.membership?.logs).toEqual(
      new Map([
        ["c_to_a", placeOf(toA)],
        ["c_to_b", placeOf(toB)],
      ]),
    );
  });

  test("has not left by being alone", () => {
    const talk = new MemberTalk("pairwise", ["a", "b"]);
    talk.say("a_to_b", { type: "feedback" });
    expect(known(talk.seenBy("a", { left: away("b") }))).toEqual([]);
  });

  test("has not left when only one that is away is told", () => {
    const talk = new MemberTalk("pairwise");
    talk.leave("c_to_b");
    expect(known(talk.seenBy("a", { left: away("b") }))).toEqual([]);
  });
});

test("after a move to outboxes the last line is in the outbox, and closed logs end as they are held", () => {
  const talk = new MemberTalk("moving", ["a", "b"]);
  const closed = talk.say("b_to_a", { type: "feedback" });
  expect(known(talk.seenBy("a"))).toEqual([]);
  const bye = talk.leave("b");
  expect(known(talk.seenBy("a"))[0]?.membership?.logs).toEqual(
    new Map([
      ["b_to_a", placeOf(closed)],
      ["b", placeOf(bye)],
    ]),
  );
});
