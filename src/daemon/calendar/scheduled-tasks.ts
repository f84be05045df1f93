import { schedule } from "node-cron";
import type { Agent } from "../../agent/agent.ts";
import type { Logger } from "../../agent/session/world.ts";
import { DAY_MS } from "../../wire/durations.ts";
import { MAX_KEY_AGE_DAYS } from "../../trust/store.ts";
import { ownLogFile, rotateLog } from "./log-rotation.ts";

/** What a daemon does by the calendar, beside what this module does itself. */
export interface CalendarWork {
  /** Each day, in the first minutes of it, UTC: a year may be over. Spec 1.10. */
  newDay(): Promise<void>;
  /** Each night, UTC. Spec 4.2. */
  night(): Promise<void>;
  /** Ends what still runs of it. */
  stop(): void;
}

/** Work that belongs to a time of day or a minute and not to the loop. Spec 4.2, 8.6. */
export function scheduleTasks(
  agent: Pick<Agent, "place">,
  log: Logger,
  env: NodeJS.ProcessEnv,
  work: CalendarWork,
): Pick<CalendarWork, "newDay" | "stop"> {
  const utc = { timezone: "UTC" };
  const tasks = [
    schedule("2 0 * * *", () => work.newDay(), utc),
    schedule("17 3 * * *", () => warnOfOldKeys(agent, log, Date.now()), utc),
    schedule("41 3 * * *", () => work.night(), utc),
  ];
  const logFile = ownLogFile(env);
  if (logFile !== undefined) {
    // At once as well: a daemon that starts again and again lives for less than a minute.
    keepSmall(logFile, log);
    tasks.push(schedule("* * * * *", () => keepSmall(logFile, log)));
  }
  return {
    newDay: () => work.newDay(),
    stop: () => {
      work.stop();
      for (const task of tasks) {
        Promise.resolve(task.stop()).catch((error: unknown) => {
          log.warn({ detail: String(error) }, "a scheduled task could not be stopped");
        });
      }
    },
  };
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

function keepSmall(path: string, log: Logger): void {
  try {
    rotateLog(path);
  } catch (error) {
    // The daemon goes on with a log that grows; the next minute tries again.
    log.warn({ detail: String(error) }, "the log file could not be rotated");
  }
}
