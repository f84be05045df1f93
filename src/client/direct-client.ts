import { nodeDisk } from "../storage/disk/node-disk.ts";
import type { Places } from "../storage/paths.ts";
import { verifyAll } from "../workers/check-pool.ts";
import { Agent } from "../agent/agent.ts";
import type { AgentReach, ClientPlace } from "../api/client.ts";
import { askDirectly } from "../api/operations.ts";
import { systemClock } from "../agent/session/clock.ts";
import { makeQueue } from "../agent/session/queue.ts";
import { makeService } from "../agent/session/group-commit.ts";
import { silentLogger, type Logger, type World } from "../agent/session/world.ts";

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
  const { wireDir, handle, peers } = at;
  const agent = new Agent(realWorld(places, wireDir, silentLogger), { wireDir, handle, peers });
  return {
    viaDaemon: false,
    ask: askDirectly(makeService(agent, makeQueue())),
    close: () => agent.close(),
  };
}
