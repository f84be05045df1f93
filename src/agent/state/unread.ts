import { agentNoticesView } from "../../protocol/agent-notices/agent-notices-state.ts";
import type { ReceiptsState } from "../../protocol/receipts/receipts.ts";
import type { State } from "../../protocol/state.ts";
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
    if (ids === "all") count += unread.length + (more?.count ?? 0);
    else count += unread.filter(({ id }) => wanted.has(id)).length;
  }
  return count;
}

/** The logical offset of the oldest unread line in the inbox, or the inbox's end. Reads the journal. */
export function oldestUnread(
  { journal, inbox }: Pick<Files, "journal" | "inbox">,
  state: ReceiptsState,
): number {
  const firsts = new Map<string, number>();
  for (const [log, { unread, more }] of state.taken) {
    const line = unread[0]?.line ?? more?.from;
    if (line !== undefined) firsts.set(log, line);
  }
  let oldest = inbox.end;
  if (firsts.size === 0) return oldest;
  for (const { entry } of journal.read()) {
    if (entry.k !== "line" || entry.inbox === undefined) continue;
    if (entry.line >= (firsts.get(entry.log) ?? Infinity)) oldest = Math.min(oldest, entry.inbox);
  }
  return oldest;
}
