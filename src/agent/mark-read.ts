import type { Core } from "./core.ts";

/** As an id it means what our operator was told: all of that is marked. */
export const INCIDENTS_TOLD = "incident-notices";
/** Lines with one id that are marked. */
const MOST_LINES = 8;

/**
 * Marks what these ids name as read, mail by event ids and notices by theirs, or all mail and notices. Returns how
 * many of them were unread. Spec 3.12, 4.9.
 */
export function markIdsRead(core: Core, ids: readonly string[] | "all"): number {
  if (ids === "all") return core.markRead("all");
  const { store } = core;
  if (ids.includes(INCIDENTS_TOLD)) return store.write(() => store.told.markRead());
  const events = ids.filter((id) => /^[0-9a-f]{64}$/u.test(id));
  const ns = events.flatMap((id) => store.mail.after({ id, unread: true }, 0, MOST_LINES));
  return core.markRead(
    ns,
    ids.filter((id) => id.startsWith("n-")),
  );
}
