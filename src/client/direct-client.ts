import { nodeDisk } from "../storage/disk/node-disk.ts";
import type { Places } from "../storage/paths.ts";
import { verifyAll } from "../wire/signature.ts";
import { openAgent } from "../agent/agent.ts";
import type { Client, ClientPlace } from "../api/client.ts";
import type { ViewArgs, ViewName, ViewParameters } from "../api/views.ts";
import { systemClock } from "../agent/session/clock.ts";
import { makeQueue } from "../agent/session/queue.ts";
import { makeSendQueue } from "../agent/effects/group-commit.ts";
import { silentLogger, type Logger, type World } from "../agent/session/world.ts";

/** The real world of a process. */
export function realWorld(places: Places, wireDir: string, log: Logger): World {
  return {
    disk: nodeDisk({ wireDir }),
    places,
    clock: systemClock,
    random: Math.random,
    verifyAll,
    log,
  };
}

/**
 * An agent opened in this process; it holds the identity's lock only while a call runs. Calls that
 * come together wait for each other, and sends among them go out as one group.
 */
export function openDirectClient(places: Places, at: ClientPlace): Client {
  const { wireDir, handle, peers } = at;
  const agent = openAgent(realWorld(places, wireDir, silentLogger), { wireDir, handle, peers });
  const queue = makeQueue();
  const sends = makeSendQueue(agent, queue);
  return {
    handle,
    wireDir,
    viaDaemon: false,
    send: (drafts) => sends.send(drafts),
    view: <N extends ViewName>(name: N, ...[args]: ViewParameters<N>) =>
      queue(() => agent.view(name, args as ViewArgs[N])),
    markRead: (ids) => queue(() => agent.markRead(ids)),
    setStatus: (status) => queue(() => agent.setStatus(status)),
    resetPeer: (peer) => queue(() => agent.resetPeer(peer)),
    reclaim: () => queue(() => agent.reclaim()),
    tick: () => queue(() => agent.takeIn()),
    reload: () => queue(() => agent.reload()),
    close: () => agent.close(),
  };
}
