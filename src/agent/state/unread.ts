import type { ReceiptsState } from "../../protocol/receipts/receipts.ts";

/** How many unread messages these ids name. */
export function unreadIds(state: ReceiptsState, ids: readonly string[] | "all"): number {
  const wanted = new Set(ids === "all" ? [] : ids);
  let count = 0;
  for (const { unread, more } of state.taken.values()) {
    if (ids === "all") count += unread.length + (more?.count ?? 0);
    else count += unread.filter(({ id }) => wanted.has(id)).length;
  }
  return count;
}
