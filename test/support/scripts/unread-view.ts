import type { ReceiptsState } from "../../../src/protocol/receipts/receipts-state.ts";
import {
  unreadAt,
  type UnreadLine,
  type UnreadLines,
} from "../../../src/protocol/receipts/unread-lines.ts";

/** Unread messages, in the order of their receipt. */
export function unreadView(state: ReceiptsState): (UnreadLine & { log: string })[] {
  const lines = [...state.taken].flatMap(([log, { unread }]) =>
    unreadLines(unread).map((line) => ({ ...line, log })),
  );
  return lines.sort((a, b) => a.at - b.at);
}

/** Unread messages of one log. */
export function unreadLines(unread: UnreadLines): UnreadLine[] {
  return [...unread.lines.keys()].map((place) => unreadAt(unread, place)!);
}
