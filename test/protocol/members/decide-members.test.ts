import { expect, test } from "vitest";
import { decideMembers } from "../../../src/protocol/members/decide-members.ts";
import { away, MemberTalk, type Pinned } from "./member-talk.ts";

function told(talk: MemberTalk, self: string, pinned: Pinned = {}): unknown[] {
  const { state, env } = talk.seenBy(self, pinned);
  return decideMembers(state, env);
}

const AGREED =
  "a proposed it, and every member has agreed; it holds here once you apply it: deaddrop member accept";

/** Agent a proposes it, and all whom it asks agree. */
function agreed(action: "add_member" | "remove_member", member: string, by: string[]) {
  const talk = new MemberTalk("outbox", ["a", "b", "c", "d"]);
  const of = talk.propose("a", action, member, { required: by });
  talk.agree(of, by);
  return { talk, id: of.message.id };
}

test("the operator of each member is told of a change that is due", () => {
  const { talk, id } = agreed("remove_member", "c", ["b", "d"]);
  const incident = {
    key: `members_due:${id}`,
    cause: "members_due",
    subject: "c leaves this wire",
    detail: AGREED,
    concernsWire: false,
  };
  expect(told(talk, "a")).toEqual([{ do: "tell", incident: { ...incident, peer: "c" } }]);
  expect(told(talk, "b")).toEqual([{ do: "tell", incident: { ...incident, peer: "a" } }]);
});

test("the operator of the agent that it is about is told nothing", () => {
  expect(told(agreed("remove_member", "c", ["b", "d"]).talk, "c")).toEqual([]);
});

test("nothing is told of a change that is open", () => {
  const talk = new MemberTalk();
  talk.propose("a", "remove_member", "c");
  expect(told(talk, "b")).toEqual([]);
});

test("it is said whether an agent joins or comes back", () => {
  const joins = agreed("add_member", "e", ["b", "c", "d"]);
  expect(told(joins.talk, "b")).toMatchObject([{ incident: { subject: "e joins this wire" } }]);
  const back = agreed("add_member", "d", ["b", "c"]);
  expect(told(back.talk, "b", { left: away("d") })).toMatchObject([
    { incident: { subject: "d comes back to this wire" } },
  ]);
});

test("of one that leaves by itself it is said that it has written its last line", () => {
  const talk = new MemberTalk();
  talk.leave("c");
  expect(told(talk, "a")).toMatchObject([
    {
      incident: {
        peer: "c",
        subject: "c leaves this wire",
        detail:
          "c has written its last line; it holds here once you apply it: deaddrop member accept",
      },
    },
  ]);
});
