import type { AgentReach, ClientPlace } from "../api/client.ts";
import { askDirectly, type Answer, type OperationName } from "../api/operations.ts";
import { Agent } from "../agent/agent.ts";
import { makeQueue } from "../agent/session/queue.ts";
import { makeService } from "../agent/session/group-commit.ts";
import { silentLogger } from "../agent/session/world.ts";
import { StorageError } from "../storage/disk/disk.ts";
import { nodeDisk } from "../storage/disk/node-disk.ts";
import { scratchDisk } from "../storage/disk/scratch-disk.ts";
import type { DaemonPaths, Places } from "../storage/paths.ts";
import { realWorld } from "./direct-client.ts";
import { holderOf, READING } from "./no-answer.ts";

/** Whether another process holds the lock of the identity; true when that cannot be seen. */
export function isHeld({ lock }: Pick<DaemonPaths, "lock">): boolean {
  const disk = nodeDisk();
  try {
    if (disk.stat(lock) === undefined) return false;
    const file = disk.open(lock, "read");
    try {
      return !file.lock(0);
    } finally {
      file.close();
    }
  } catch (error) {
    if (error instanceof StorageError) return true;
    throw error;
  }
}

/**
 * An agent whose daemon runs and cannot be asked, opened on a copy of its files in memory: views are
 * answered, with all that the logs hold by now, and not a byte is written. What acts throws `why`.
 */
export function reachReadOnly(
  places: Places,
  at: ClientPlace & Pick<DaemonPaths, "lock">,
  why: Error,
): AgentReach {
  const { wireDir, handle, peers, lock } = at;
  const disk = scratchDisk(nodeDisk({ wireDir }));
  const real = realWorld(places, wireDir, silentLogger, disk);
  const world = { ...real, daemonElsewhere: { pid: holderOf(lock) } };
  const agent = new Agent(world, { wireDir, handle, peers });
  const ask = askDirectly(makeService(agent, makeQueue()));
  return {
    viaDaemon: false,
    readOnly: why,
    ask: async <N extends OperationName>(name: N, ...args: readonly unknown[]) => {
      if (!READING.has(name)) throw why;
      return (await (ask as (...all: unknown[]) => Promise<unknown>)(name, ...args)) as Answer<N>;
    },
    close: () => agent.close(),
  };
}
