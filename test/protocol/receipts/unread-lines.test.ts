import { describe, expect, test } from "vitest";
import {
  addUnread,
  keepUnread,
  noUnread,
  unreadAt,
  urgentAfter,
  type UnreadLine,
} from "../../../src/protocol/receipts/unread-lines.ts";
import { eventId } from "../../support/scripts/event-id.ts";
import { unreadLines } from "../../support/scripts/unread-view.ts";

const line = (at: number, change: Partial<UnreadLine> = {}): UnreadLine => ({
  id: eventId(`line ${at}`),
  line: at,
  at: 1_000 + at,
  thread: `thread ${at}`,
  ...change,
});

function listOf(...lines: readonly UnreadLine[]) {
  const unread = noUnread();
  for (const each of lines) addUnread(unread, each);
  return unread;
}

describe("unread messages of a log", () => {
  const LINES = [
    line(1),
    line(2, { urgent: true }),
    line(4, { urgent: true, quiet: true }),
    line(7, { quiet: true }),
  ];

  test("come back as they were added", () => {
    const unread = listOf(...LINES);
    expect(unreadLines(unread)).toStrictEqual(LINES);
    expect(unreadAt(unread, -1)).toStrictEqual(LINES[3]);
    expect([unreadAt(unread, 4), unreadAt(unread, -5)]).toEqual([undefined, undefined]);
    expect([urgentAfter(unread, 0), urgentAfter(unread, 2)]).toEqual([[2, 4], [4]]);
  });

  test("share the name of a thread that follows itself", () => {
    const unread = listOf(line(1, { thread: "x" }), line(2, { thread: "x" }), line(3));
    expect(unread.threads).toEqual(["x", "x", "thread 3"]);
  });

  test("are taken out with what is special about them", () => {
    const unread = listOf(...LINES);
    keepUnread(unread, (_line, place) => place % 2 === 0);
    expect(unreadLines(unread)).toStrictEqual([LINES[0], LINES[2]]);
    expect([...unread.special.keys()]).toEqual([LINES[2]?.id]);
    expect(urgentAfter(unread, 0)).toEqual([4]);
    keepUnread(unread, () => false);
    expect(unread).toEqual(noUnread());
  });

  test("stay the same columns when all are kept", () => {
    const unread = listOf(...LINES);
    const { ids } = unread;
    keepUnread(unread, () => true);
    expect(unread.ids).toBe(ids);
    expect(unreadLines(unread)).toStrictEqual(LINES);
  });
});
