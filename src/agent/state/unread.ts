import { agentNoticesView } from "../../protocol/agent-notices/agent-notices-state.ts";
import type { ReceiptsState } from "../../protocol/receipts/receipts-state.ts";
import type { State } from "../../protocol/state.ts";
import { idKey, type LineRow } from "../../storage/files/line-row.ts";
import type { Files } from "../session/world.ts";

/** How many unread messages and notices these ids name. */
export function unreadIds(
  { receipts, agentNotices }: Pick<State, "receipts" | "agentNotices">,
  ids: readonly string[] | "all",
): number {
  const wanted = new Set(ids === "all" ? [] : ids);
  const notices = agentNoticesView(agentNotices, true);
  let count = notices.filter(({ id }) => ids === "all" || wanted.has(id)).length;
  for (const { unread, more } of receipts.taken.values()) {
    if (ids === "all") count += unread.lines.length + (more?.count ?? 0);
    else for (const id of wanted) count += unread.ids.placesOf(id).length;
  }
  return count;
}

/**
 * The logical offset of the oldest unread line in the inbox, or the inbox's end; 0 where only the number
 * of the unread lines of a log is known.
 */
export function oldestUnread(
  { journal, inbox }: Pick<Files, "journal" | "inbox">,
  state: ReceiptsState,
): number {
  const firsts = new Set<number>();
  for (const { unread, more } of state.taken.values()) {
    const first = unread.ids.at(0);
    if (first !== undefined) firsts.add(idKey(first));
    else if (more !== undefined) return 0;
  }
  let oldest = inbox.end;
  const isFirst = (row: LineRow): boolean => {
    const { inbox: at } = row;
    if (at === undefined || !firsts.delete(row.idKey)) return false;
    oldest = Math.min(oldest, at);
    return true;
  };
  if (firsts.size > 0) journal.find(isFirst, { most: firsts.size, order: "newest first" });
  return oldest;
}
