import { schedule } from "node-cron";
import type { Agent } from "../agent/agent.ts";
import type { Logger } from "../agent/session/world.ts";

/** A key older than this is named once a day. Spec 2.5. */
const OLD_KEY_DAYS = 180;
const DAY_MS = 24 * 60 * 60_000;

/** Calendar work: what belongs to a time of day and not to the loop. Spec 4.2. */
export function scheduleChores(agent: Agent, log: Logger): { stop(): void } {
  const task = schedule("17 3 * * *", () => warnOfOldKeys(agent, log, Date.now()), {
    timezone: "UTC",
  });
  return {
    stop: () => {
      Promise.resolve(task.stop()).catch((error: unknown) => {
        log.warn({ detail: String(error) }, "the calendar could not be stopped");
      });
    },
  };
}

function warnOfOldKeys(agent: Agent, log: Logger, nowMs: number): void {
  for (const { handle, keys } of agent.place.store.peers.values()) {
    for (const { keyId, active, addedAt } of keys) {
      const ageDays = Math.floor((nowMs - Date.parse(addedAt)) / DAY_MS);
      if (active && ageDays > OLD_KEY_DAYS) {
        log.warn({ handle, key_id: keyId, age_days: ageDays }, "this key is due to be rotated");
      }
    }
  }
}
