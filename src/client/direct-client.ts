import { StorageError } from "../storage/disk/disk.ts";
import { nodeDisk } from "../storage/disk/node-disk.ts";
import { ScratchDisk } from "../storage/disk/scratch-disk.ts";
import type { DaemonPaths, Places } from "../storage/paths.ts";
import { verifyAll } from "../workers/check-pool.ts";
import { Agent } from "../agent/agent.ts";
import type { AgentReach, ClientPlace } from "../api/client.ts";
import { askDirectly, type Ask } from "../api/operations.ts";
import { systemClock } from "../agent/session/clock.ts";
import { makeQueue } from "../agent/session/queue.ts";
import { makeService } from "../agent/session/group-commit.ts";
import { silentLogger, type Logger, type World } from "../agent/session/world.ts";
import { holderOf, READING } from "./no-answer.ts";

/** The real world of a process. */
export function realWorld(
  places: Places,
  wireDir: string,
  log: Logger,
  disk = nodeDisk({ wireDir }),
): World {
  return {
    disk,
    places,
    clock: systemClock,
    random: Math.random,
    verifyAll,
    log,
    // A command starts no carriers: it reads and publishes once.
    carriers: ({ core }) => ({
      ...{ disk, log, env: process.env, random: Math.random, clock: systemClock },
      cadenceMs: () => core().ownCadenceMs,
      after: () => () => undefined,
      watch: () => () => undefined,
      failed: (error) => {
        throw error;
      },
    }),
  };
}

/**
 * An agent opened in this process; it holds the identity's lock only while a call runs. Calls that
 * come together wait for each other, and sends among them go out as one group.
 */
export function reachDirectly(places: Places, at: ClientPlace): AgentReach {
  return reachIn(realWorld(places, at.wireDir, silentLogger), at);
}

function reachIn(world: World, { wireDir, handle, peers }: ClientPlace): AgentReach {
  const agent = new Agent(world, { wireDir, handle, peers });
  return {
    viaDaemon: false,
    ask: askDirectly(makeService(agent, makeQueue())),
    close: () => agent.close(),
  };
}

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
  const { wireDir, lock } = at;
  const disk = new ScratchDisk(nodeDisk({ wireDir }));
  const real = realWorld(places, wireDir, silentLogger, disk);
  const reach = reachIn({ ...real, daemonElsewhere: { pid: holderOf(lock) } }, at);
  const ask: Ask = (name, ...args) =>
    READING.has(name) ? reach.ask(name, ...args) : Promise.reject(why);
  return { ...reach, readOnly: why, ask };
}
