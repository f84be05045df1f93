import { describe, expect, test } from "vitest";
import { addUnread, noUnread } from "../../../src/protocol/receipts/unread-lines.ts";
import { eventId } from "../../support/scripts/event-id.ts";
import {
  answeredIn,
  isUnread,
  emptyReceipts,
  takenOf,
  unreadCount,
  unreadIds,
} from "../../../src/protocol/receipts/receipts-state.ts";
import { makeLayout, pairNames } from "../../../src/wire/layout.ts";
import { scriptEnv } from "../../support/scripts/wire-script.ts";

// What was taken in of the logs of peers.

const ROSTER = ["a", "b", "c"];

/** So many unread lines of each log; of the last one more than are remembered one by one. */
function filled() {
  const state = emptyReceipts();
  const lines = (log: string, count: number) => {
    const unread = noUnread();
    for (let at = 0; at < count; at += 1) {
      addUnread(unread, { id: eventId(`${log} ${at}`), line: at + 1, at: 0, thread: "t" });
    }
    return unread;
  };
  takenOf(state, "b_to_a").unread = lines("b", 2);
  takenOf(state, "c_to_a").unread = lines("c", 1);
  takenOf(state, "c_to_a").more = { from: 2, count: 7 };
  return state;
}

describe("of a log", () => {
  test("nothing is taken in when it is asked for the first time", () => {
    const state = emptyReceipts();
    const taken = takenOf(state, "b_to_a");
    expect(taken).toEqual({
      refused: { ranges: [], lastTaken: 0 },
      unread: noUnread(),
      more: undefined,
      readFloor: 0,
      news: undefined,
    });
    expect([...state.taken]).toEqual([["b_to_a", taken]]);
    taken.readFloor = 7;
    expect(takenOf(state, "b_to_a")).toBe(taken);
    expect(takenOf(state, "c_to_a").readFloor).toBe(0);
  });
});

describe("unread messages", () => {
  const env = scriptEnv(makeLayout("pairwise", ROSTER), "a");

  test("are counted, of one peer or of all, with those that are only a number", () => {
    const state = filled();
    expect(unreadCount(state, env)).toBe(10);
    expect(unreadCount(state, env, "b")).toBe(2);
    expect(unreadCount(state, env, "c")).toBe(8);
    expect(unreadCount(state, env, "a")).toBe(0);
    expect(unreadCount(emptyReceipts(), env)).toBe(0);
  });

  test("of a log that the layout does not have are nobody's", () => {
    const state = emptyReceipts();
    takenOf(state, "nowhere").more = { from: 1, count: 3 };
    expect([unreadCount(state, env), unreadCount(state, env, "b")]).toEqual([3, 0]);
  });

  test("are named by their ids, of the logs that are asked for", () => {
    const state = filled();
    expect([...unreadIds(state)]).toEqual(["b 0", "b 1", "c 0"].map(eventId));
    expect([...unreadIds(state, ["c_to_a", "nowhere"])]).toEqual([eventId("c 0")]);
    expect([...unreadIds(state, [])]).toEqual([]);
    expect(["b 1", "c 0", "c 1"].map((name) => isUnread(state, eventId(name)))).toEqual([
      ...[true, true, false],
    ]);
  });
});

describe("a log is answered", () => {
  test.each([
    ["b_to_a", "a_to_b"],
    ["a_to_b", undefined],
    ["b_to_c", undefined],
    ["nowhere", undefined],
  ])("in ours of the same pair: %s in %s", (log, expected) => {
    const env = scriptEnv(makeLayout("pairwise", ROSTER), "a");
    expect(answeredIn(log, env)).toBe(expected);
  });

  test("in our outbox, also once that has taken the place of ours of the pair", () => {
    const moving = makeLayout("outbox", ROSTER, undefined, pairNames(ROSTER));
    for (const layout of [makeLayout("outbox", ROSTER), moving]) {
      expect(answeredIn("b", scriptEnv(layout, "a"))).toBe("a");
    }
    expect(answeredIn("b_to_a", scriptEnv(moving, "a"))).toBe("a");
  });
});
