import { describe, expect, test } from "vitest";
import { supportProblem } from "../../../src/protocol/members/due-changes.ts";
import type { MemberChange } from "../../../src/protocol/members/member-changes.ts";
import type { LogPlace } from "../../../src/wire/roster/members.ts";
import type { ScriptLine } from "../../support/scripts/wire-script.ts";
import { away, MemberTalk, placeOf, type Pinned } from "./member-talk.ts";

type Asked = Pick<MemberChange, "action" | "member" | "after" | "required" | "from" | "logs">;

function asked(action: Asked["action"], member: string, change: Partial<Asked> = {}): Asked {
  return { action, member, after: undefined, required: [], from: "a", logs: new Map(), ...change };
}

/** What agent a is told of a change on that talk. */
function problem(talk: MemberTalk, change: Asked, pinned: Pinned = {}, id?: string) {
  const { state, env } = talk.seenBy("a", pinned);
  return supportProblem(state, change, id, env);
}

const PAIRWISE = "more than two members need one outbox each: deaddrop layout outbox";
const THREE =
  "a removal needs three members; one that is gone leaves with: deaddrop config accept --member-left";
const BEFORE = "another change of members was applied before it";

describe("a change of members", () => {
  const three = new MemberTalk();
  const others = (...required: string[]) => ({ required });
  test.each<[string, Asked, Pinned, string | undefined]>([
    [
      "asks all members that it is not about",
      asked("remove_member", "c", others("b")),
      {},
      undefined,
    ],
    [
      "adds one where all members are asked",
      asked("add_member", "d", others("c", "b")),
      {},
      undefined,
    ],
    ["leaves out no member", asked("add_member", "d", others("b")), {}, "it does not ask c"],
    ["names all whom it leaves out", asked("add_member", "d"), {}, "it does not ask b, c"],
    ["adds no member", asked("add_member", "c", others("b")), {}, "c is a member already"],
    ["removes no stranger", asked("remove_member", "d", others("b", "c")), {}, "d is no member"],
    [
      "is proposed by a member",
      asked("add_member", "d", { from: "e", ...others("a", "b", "c") }),
      {},
      "e is no member",
    ],
    [
      "is not proposed by one that is away",
      asked("add_member", "d", { from: "c", ...others("a", "b") }),
      { left: away("c") },
      "c is no member",
    ],
    [
      "lets in one that is away without asking it",
      asked("add_member", "c", others("b")),
      { left: away("c") },
      undefined,
    ],
    ["removes one of three", asked("remove_member", "b", others("c")), {}, undefined],
    ["removes none of two", asked("remove_member", "b"), { left: away("c") }, THREE],
    [
      "follows the last one",
      asked("add_member", "d", { after: "last", ...others("b", "c") }),
      { changedBy: "last" },
      undefined,
    ],
    [
      "follows no older one",
      asked("add_member", "d", { after: "old", ...others("b", "c") }),
      { changedBy: "last" },
      BEFORE,
    ],
    [
      "is not the first one when there was one",
      asked("add_member", "d", others("b", "c")),
      { changedBy: "last" },
      BEFORE,
    ],
  ])("%s", (_rule, change, pinned, expected) => {
    expect(problem(three, change, pinned)).toBe(expected);
  });

  test("makes no third member in logs of pairs", () => {
    const pair = new MemberTalk("pairwise", ["a", "b"]);
    const third = asked("add_member", "c", others("b"));
    expect(problem(pair, third)).toBe(PAIRWISE);
    expect(problem(new MemberTalk("outbox", ["a", "b"]), third)).toBeUndefined();
    expect(problem(pair, asked("add_member", "b"), { left: away("b") })).toBeUndefined();
    const removal = asked("remove_member", "c", others("b"));
    expect(problem(new MemberTalk("pairwise"), removal)).toBeUndefined();
  });
});

describe("one that has agreed to a change", () => {
  const FOUR = ["a", "b", "c", "d"];
  const second = asked("remove_member", "d", { required: ["b", "c"] });
  const agreedTo = (of: ScriptLine, status: string): string =>
    `you have agreed to another change of members, which is ${status}: ${of.message.id.slice(0, 12)}`;

  test("agrees to no other one while that is open, proposed or acked by it", () => {
    const proposed = new MemberTalk("outbox", FOUR);
    const own = proposed.propose("a", "remove_member", "c");
    expect(problem(proposed, second)).toBe(agreedTo(own, "open"));
    const acked = new MemberTalk("outbox", FOUR);
    const theirs = acked.propose("b", "remove_member", "c");
    expect(problem(acked, second)).toBeUndefined();
    acked.ack("a", theirs);
    expect(problem(acked, second)).toBe(agreedTo(theirs, "open"));
  });

  test("agrees to no other one when that is agreed", () => {
    const talk = new MemberTalk("outbox", FOUR);
    const own = talk.propose("a", "remove_member", "c");
    talk.agree(own, ["b", "d"]);
    expect(problem(talk, second)).toBe(agreedTo(own, "ratified"));
  });

  test("may agree to it again", () => {
    const talk = new MemberTalk("outbox", FOUR);
    const { id } = talk.propose("a", "remove_member", "d").message;
    expect(problem(talk, second, {}, id)).toBeUndefined();
    expect(problem(talk, second)).toBeDefined();
  });

  test("may agree to another one when that has been rejected", () => {
    const talk = new MemberTalk("outbox", FOUR);
    const own = talk.propose("a", "remove_member", "c");
    talk.ack("b", own, { approve: false });
    talk.beat("a", talk.allOf(["b"]));
    expect(problem(talk, second)).toBeUndefined();
  });

  test("may agree to another one that follows another change", () => {
    const talk = new MemberTalk("outbox", FOUR);
    talk.propose("a", "remove_member", "c");
    const next = asked("remove_member", "d", { after: "last", required: ["b", "c"] });
    expect(problem(talk, next, { changedBy: "last" })).toBeUndefined();
  });

  test("may agree to one besides a leaving that it has acked", () => {
    const talk = new MemberTalk("outbox", FOUR);
    talk.ack("a", talk.leave("c"));
    expect(problem(talk, second)).toBeUndefined();
  });
});

describe("a removal", () => {
  const PASSED = "c has written more since, which members have received; propose the removal again";
  const ofC = (last?: ScriptLine): Asked => {
    const logs = new Map<string, LogPlace>(last === undefined ? [] : [["c", placeOf(last)]]);
    return asked("remove_member", "c", { required: ["b"], logs });
  };

  /** Agent c says something, beats, and says more; b covers so many lines of it. */
  function talkOfC(covered?: number) {
    const talk = new MemberTalk();
    const said = talk.say("c", { type: "feedback" });
    const beat = talk.beat("c");
    const more = talk.say("c", { type: "feedback" });
    const last = talk.beat("c");
    if (covered !== undefined) talk.beat("b", { c: { lines: covered } });
    return { talk, said, beat, more, last };
  }

  test("is not agreed to when a member has covered words behind the last line", () => {
    const { talk, said, beat } = talkOfC(4);
    expect(problem(talk, ofC(said))).toBe(PASSED);
    expect(problem(talk, ofC(beat))).toBe(PASSED);
  });

  test("is agreed to when only heartbeats are behind the last line", () => {
    const { talk, more, last } = talkOfC(4);
    expect(problem(talk, ofC(more))).toBeUndefined();
    expect(problem(talk, ofC(last))).toBeUndefined();
  });

  test("is agreed to while no member has covered more than the last line", () => {
    const { said } = talkOfC();
    expect(problem(talkOfC().talk, ofC(said))).toBeUndefined();
    expect(problem(talkOfC(1).talk, ofC(said))).toBeUndefined();
    expect(problem(talkOfC(2).talk, ofC(said))).toBe(PASSED);
  });

  test("that names no last line goes by all that was said", () => {
    expect(problem(talkOfC(1).talk, ofC())).toBe(PASSED);
    const silent = new MemberTalk();
    silent.beat("c");
    silent.beat("b", { c: { lines: 1 } });
    expect(problem(silent, ofC())).toBeUndefined();
    expect(problem(new MemberTalk(), ofC())).toBeUndefined();
  });

  test("is agreed to when a member names another line than the one that is there", () => {
    const talk = new MemberTalk();
    talk.say("c", { type: "feedback" });
    talk.beat("b", { c: { lines: 1, wrong: true } });
    expect(problem(talk, ofC())).toBeUndefined();
  });

  test("looks at all logs of the agent", () => {
    const talk = new MemberTalk("pairwise");
    const toA = talk.say("c_to_a", { type: "feedback" });
    talk.say("c_to_b", { type: "feedback" });
    talk.beat("b_to_c", { c_to_b: { lines: 1 } });
    const removal = asked("remove_member", "c", {
      required: ["b"],
      logs: new Map([["c_to_a", placeOf(toA)]]),
    });
    expect(problem(talk, removal)).toBe(PASSED);
  });
});

test("one that comes back may have written what members have received", () => {
  const talk = new MemberTalk();
  talk.say("c", { type: "feedback" });
  talk.beat("b", { c: { lines: 1 } });
  const adds = asked("add_member", "c", { required: ["b"] });
  expect(problem(talk, adds, { left: away("c") })).toBeUndefined();
});
