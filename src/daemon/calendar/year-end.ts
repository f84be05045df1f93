import type { Agent } from "../../agent/agent.ts";
import type { Queue } from "../../agent/session/queue.ts";
import type { Logger } from "../../agent/session/world.ts";
import { DeaddropError } from "../../api/errors.ts";
import { StorageError } from "../../storage/disk/disk.ts";

/**
 * Archives the last year that is over, when a log or shared file still begins in it: at the turn of the
 * year, or when a daemon starts that was down then. Spec 1.10. What fails is tried again the next day.
 */
export async function archiveClosedYear(
  agent: Pick<Agent, "archive" | "place">,
  queue: Queue,
  log: Logger,
): Promise<void> {
  if (!agent.place.settings.archiveAtYearEnd) return;
  try {
    const { year, files } = await queue(() => agent.archive());
    for (const row of files) {
      if (row.outcome === "archived") log.info({ year, ...row }, "archived");
      if (row.outcome === "failed") log.warn({ year, ...row }, "not archived");
    }
  } catch (error) {
    // Our private files are in trouble, which its owner has told.
    if (!(error instanceof DeaddropError) && !(error instanceof StorageError)) throw error;
    log.warn({ detail: error.message }, "the year could not be archived");
  }
}
