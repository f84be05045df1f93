import type { Notice } from "../../store/notices.ts";
import type { Known } from "../duties/duty.ts";

/** What the agent was told by its daemon. */
export interface ListedNotice extends Notice {
  readonly read: boolean;
}

const MOST_LISTED = 256;

/** The newest notices, or the newest unread ones; oldest first. Spec 3.12. */
export function agentNoticesView(
  { store }: Pick<Known, "store">,
  { unread = false }: { readonly unread?: boolean },
): ListedNotice[] {
  return store.notices
    .newest(MOST_LISTED, unread)
    .map(({ at, id, kind, about, text, isRead }) => ({ at, id, kind, about, text, read: isRead }));
}
