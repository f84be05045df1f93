import type { ReceiptsState, UnreadLine } from "../../../src/protocol/receipts/receipts-state.ts";

/** Unread messages, in the order of their receipt. */
export function unreadView(state: ReceiptsState): (UnreadLine & { log: string })[] {
  const lines = [...state.taken].flatMap(([log, { unread }]) =>
    unread.map((line) => ({ ...line, log })),
  );
  return lines.sort((a, b) => a.at - b.at);
}
