import { copyFileSync, renameSync, statSync, truncateSync } from "node:fs";
import { schedule } from "node-cron";
import type { Agent } from "../../agent/agent.ts";
import type { Queue } from "../../agent/session/queue.ts";
import type { Logger } from "../../agent/session/world.ts";
import { DeaddropError } from "../../api/errors.ts";
import { StorageError } from "../../storage/disk/disk.ts";
import { errnoOf } from "../../storage/disk/errno.ts";
import { DAY_MS } from "../../wire/durations.ts";
import { MAX_KEY_AGE_DAYS } from "../../trust/store.ts";

/** What the daemon's log may take: the live file and five closed ones. Spec 8.6. */
const LOG_MAX_BYTES = 10 * 1024 * 1024;
const LOGS_KEPT = 5;

/** What a daemon does by the calendar, beside what this module does itself. */
export interface CalendarWork {
  /** Each day, in the first minutes of it, UTC: a year may be over. Spec 1.10. */
  newDay(): Promise<void>;
  /** Each night, UTC. Spec 4.2. */
  night(): Promise<void>;
}

/** Work that belongs to a time of day or a minute and not to the loop. Spec 4.2, 8.6. */
export function scheduleTasks(
  agent: Pick<Agent, "place">,
  log: Logger,
  env: NodeJS.ProcessEnv,
  work: CalendarWork,
): { stop(): void } {
  const utc = { timezone: "UTC" };
  const tasks = [
    schedule("2 0 * * *", () => work.newDay(), utc),
    schedule("17 3 * * *", () => warnOfOldKeys(agent, log, Date.now()), utc),
    schedule("41 3 * * *", () => work.night(), utc),
  ];
  // systemd has a journal and a terminal has no file; else our output is appended to a file that nothing rotates.
  const logFile = env["DEADDROP_LOG_FILE"];
  if (logFile !== undefined) {
    // At once as well: a daemon that starts again and again lives for less than a minute.
    rotateLog(logFile, log);
    tasks.push(schedule("* * * * *", () => rotateLog(logFile, log)));
  }
  return {
    stop() {
      for (const task of tasks) {
        Promise.resolve(task.stop()).catch((error: unknown) => {
          log.warn({ detail: String(error) }, "a scheduled task could not be stopped");
        });
      }
    },
  };
}

/**
 * Archives the last year that is over, when a log or shared file still begins in it: at the turn of the
 * year, or when a daemon starts that was down then. Spec 1.10. What fails is tried again the next day.
 */
export async function archiveClosedYear(
  agent: Pick<Agent, "archive" | "place">,
  queue: Queue,
  log: Logger,
): Promise<void> {
  if (!agent.place.settings["archive.at_year_end"]) return;
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

function warnOfOldKeys(agent: Pick<Agent, "place">, log: Logger, nowMs: number): void {
  for (const { handle, keys } of agent.place.store.peers.values()) {
    for (const { keyId, active, addedAt } of keys) {
      const ageDays = Math.floor((nowMs - Date.parse(addedAt)) / DAY_MS);
      if (active && ageDays > MAX_KEY_AGE_DAYS) {
        log.warn({ handle, key_id: keyId, age_days: ageDays }, "this key is due to be rotated");
      }
    }
  }
}

/**
 * Moves a log that has grown too large to `<path>.1`, the older ones up by one, and deletes the oldest. The live
 * file stays open for appending, so it is copied and truncated in place; what is written between the two is lost,
 * which is acceptable for a log.
 *
 * @internal
 */
export function rotateLog(
  path: string,
  log: Logger,
  maxBytes = LOG_MAX_BYTES,
  kept = LOGS_KEPT,
): void {
  try {
    const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    if (size <= maxBytes) return;
    for (let age = kept - 1; age >= 1; age -= 1)
      renameIfThere(`${path}.${age}`, `${path}.${age + 1}`);
    copyFileSync(path, `${path}.1`);
    truncateSync(path);
  } catch (error) {
    // The daemon goes on with a log that grows; the next minute tries again.
    log.warn({ detail: String(error) }, "the log file could not be rotated");
  }
}

function renameIfThere(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
  }
}
