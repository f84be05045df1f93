import type { AgentRounds } from "../agent/agent.ts";
import type { Queue } from "../agent/session/queue.ts";
import type { Logger } from "../agent/session/world.ts";
import { makeAlarm, type Wake } from "./wake.ts";

/** After so much quiet, logs are synced and a checkpoint is written. */
const QUIET_MS = 2_000;
/** The same on a wire that is never quiet. */
const SYNC_AT_LATEST_MS = 30_000;

/** Syncs the agent some time after its rounds, and not after each of them. */
export interface Syncing {
  /** A round has ended. */
  after(): void;
  stop(): void;
}

export function syncWhenQuiet(
  agent: AgentRounds,
  queue: Queue,
  { log, wake }: { readonly log: Logger; readonly wake: Wake },
): Syncing {
  const alarm = makeAlarm(() => agent.monoMs(), wake);
  let sinceMs: number | undefined;

  function sync(): void {
    sinceMs = undefined;
    queue(() => agent.sync()).catch((error: unknown) => {
      log.warn({ detail: String(error) }, "not synced; it is tried again after the next round");
    });
  }

  return {
    after() {
      // Another wake-up for nothing: what of ours was removed is looked for now.
      if (sinceMs === undefined && agent.isSynced) {
        sync();
        return;
      }
      sinceMs ??= agent.monoMs();
      const atLatestMs = sinceMs + SYNC_AT_LATEST_MS - agent.monoMs();
      alarm.set(Math.max(0, Math.min(QUIET_MS, atLatestMs)), sync);
    },
    stop: () => alarm.callOff(),
  };
}
