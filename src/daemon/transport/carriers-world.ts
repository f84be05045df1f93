import type { CarriersUser, World } from "../../agent/session/world.ts";
import type { CarriersWorld } from "../../carriers/open-carriers.ts";
import { filesystemKind } from "../../storage/disk/fs-kind.ts";
import { SECOND_MS } from "../../wire/durations.ts";
import { watchWire } from "../watch-wire.ts";

/** What carriers are given of a process. */
export interface CarriersProcess extends Pick<World, "disk" | "clock"> {
  readonly env: NodeJS.ProcessEnv;
  readonly log: { warn(facts: object, message: string): void };
  /** A bug: the process must end. */
  failed(error: unknown): void;
}

/** Where the filesystem reports no changes made elsewhere, files are looked at so often. */
const WITHOUT_EVENTS_MS = 5 * SECOND_MS;

/** The real world for carriers that exchange with other machines: a daemon's, or a command's for one turn. */
export function carriersWorld(
  { disk, clock, env, log, failed }: CarriersProcess,
  { wireDir, core }: CarriersUser,
): CarriersWorld {
  return {
    ...{ disk, env, log, failed, clock },
    after(inMs, act) {
      const timer = setTimeout(act, inMs);
      return () => clearTimeout(timer);
    },
    random: () => Math.random(),
    cadenceMs: () => core().ownCadenceMs,
    watch(listener) {
      const watcher = watchWire(
        wireDir,
        {
          ...{ usePolling: !filesystemKind(wireDir).events, intervalMs: WITHOUT_EVENTS_MS },
          onError: (error) =>
            log.warn({ detail: String(error) }, "no file events: we look from time to time"),
        },
        listener,
      );
      return () => {
        watcher.close().catch(failed);
      };
    },
  };
}
