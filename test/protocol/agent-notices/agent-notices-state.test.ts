import { describe, expect, test } from "vitest";
import {
  matterKey,
  type AgentNotice,
  type Matter,
} from "../../../src/protocol/agent-notices/agent-notice.ts";
import {
  emptyAgentNotices,
  note,
  setAgentNoticesBack,
  takeNoticed,
  withinHour,
} from "../../../src/protocol/agent-notices/agent-notices-state.ts";
import { MAX_NOTICES_PER_HOUR } from "../../../src/protocol/notices.ts";
import { hours, NOON } from "../../support/scripts/wire-script.ts";

// What waits to be told to our agent, and what is remembered of what it was told.

/** Matters of our own that wait, and keys of matters that were told. */
const [OWN_DUE, KNOWN] = [1_024, 4_096];

const matter = (about: string, peer?: string): Matter => {
  return { kind: "rejected", about, text: `${about} ended.`, peer };
};

const many = (count: number, peer?: string): Matter[] =>
  Array.from({ length: count }, (_each, at) => matter(`${peer ?? "own"}-${at}`, peer));

function told(at: number, ...notices: readonly (Partial<AgentNotice> & { peer?: string })[]) {
  const all = notices.map((each, index) => {
    const about = `m${index}`;
    return { at: "", id: about, kind: "rejected" as const, about, text: "It ended.", ...each };
  });
  return { kind: "noticed" as const, at, notices: all, places: all.map(() => 0) };
}

describe("matters that wait", () => {
  test("a matter is noted once, and not again when it was told", () => {
    const state = emptyAgentNotices();
    note(state, [matter("m0"), matter("m0"), matter("m1")]);
    expect([...state.due.values()].map(({ about }) => about)).toEqual(["m0", "m1"]);
    takeNoticed(state, told(NOON, {}));
    note(state, [matter("m0")]);
    expect([...state.due.values()].map(({ about }) => about)).toEqual(["m1"]);
  });

  test("of one peer no more wait than are told in an hour, and two", () => {
    const state = emptyAgentNotices();
    const most = MAX_NOTICES_PER_HOUR + 2;
    note(state, [...many(most + 3, "mason"), ...many(1, "scribe"), ...many(1)]);
    const peers = [...state.due.values()].map(({ peer }) => peer);
    expect(peers).toEqual([...Array.from({ length: most }, () => "mason"), "scribe", undefined]);
    expect(state.due.has(matterKey(matter(`mason-${most - 1}`, "mason")))).toBe(true);
    expect(state.due.has(matterKey(matter(`mason-${most}`, "mason")))).toBe(false);
  });

  test("of our own the oldest goes, and none of a peer", () => {
    const state = emptyAgentNotices();
    note(state, [...many(1, "mason"), ...many(OWN_DUE)]);
    expect(state.due.size).toBe(OWN_DUE + 1);
    note(state, [matter("last")]);
    expect(state.due.size).toBe(OWN_DUE + 1);
    const about = [...state.due.values()].map((each) => each.about);
    expect([about[0], about[1], about.at(-1)]).toEqual(["mason-0", "own-1", "last"]);
  });
});

describe("what was told", () => {
  test("the oldest of very many is forgotten", () => {
    const state = emptyAgentNotices();
    takeNoticed(state, { ...told(NOON), passed: many(KNOWN).map(matterKey) });
    expect(state.known.size).toBe(KNOWN);
    takeNoticed(state, { ...told(NOON), passed: ["one more"] });
    expect(state.known.size).toBe(KNOWN);
    expect(state.known.has(matterKey(matter("own-0")))).toBe(false);
    expect(state.known.has(matterKey(matter("own-1")))).toBe(true);
    expect(state.known.has("one more")).toBe(true);
  });

  test("counts against its peer for less than an hour, and to one more than the limit", () => {
    const state = emptyAgentNotices();
    takeNoticed(state, told(NOON, { peer: "mason" }, { about: "ours" }));
    expect([...state.recent.keys()]).toEqual(["mason"]);
    expect(withinHour(state, "mason", NOON + hours(1) - 1)).toEqual([NOON]);
    expect(withinHour(state, "mason", NOON + hours(1))).toEqual([]);
    expect(withinHour(state, "scribe", NOON)).toEqual([]);
    for (let at = 1; at <= 10; at += 1) takeNoticed(state, told(NOON + at, { peer: "mason" }));
    const last = Array.from({ length: MAX_NOTICES_PER_HOUR + 1 }, (_each, at) => NOON + 4 + at);
    expect(state.recent.get("mason")).toEqual(last);
  });

  test("is told of no later time than that to which our clock was set back", () => {
    const state = emptyAgentNotices();
    takeNoticed(state, told(NOON, { peer: "mason" }));
    takeNoticed(state, told(NOON + 5, { peer: "mason" }));
    setAgentNoticesBack(state, NOON + 2);
    expect(state.recent.get("mason")).toEqual([NOON, NOON + 2]);
  });

  test("of a peer that is well again nothing is remembered, and safe mode is as told last", () => {
    const state = emptyAgentNotices();
    const peers: [string, "held" | "silent"][] = [
      ["mason", "held"],
      ["scribe", "silent"],
    ];
    takeNoticed(state, { ...told(NOON), peers, safeMode: "an escalation" });
    expect([...state.peers]).toEqual(peers);
    takeNoticed(state, { ...told(NOON), peers: [["mason", "well"]] });
    expect([...state.peers]).toEqual([["scribe", "silent"]]);
    expect(state.safeMode).toBe("an escalation");
    takeNoticed(state, { ...told(NOON), safeMode: null });
    expect(state.safeMode).toBeNull();
  });
});
