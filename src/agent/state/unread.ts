import { agentNoticesView } from "../../protocol/agent-notices/agent-notices-state.ts";
import type { State } from "../../protocol/state.ts";

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
