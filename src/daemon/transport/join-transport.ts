import type { Agent } from "../../agent/agent.ts";
import type { Queue } from "../../agent/session/queue.ts";
import type { Logger, RemoteLogs } from "../../agent/session/world.ts";
import type { Disk } from "../../storage/disk/disk.ts";
import type { LocalFolder } from "../../transport/copies/local-folder.ts";
import type { HostState } from "../../transport/host-state.ts";
import type { Transport } from "../../transport/port.ts";
import { watchNews } from "./news-of-ours.ts";
import { tellTroubles } from "./transport-incidents.ts";

/** Whom a transport works for. */
export interface TransportUser {
  readonly agent: Pick<Agent, "tell" | "foundElsewhere" | "monoMs">;
  readonly queue: Queue;
  readonly disk: Disk;
  readonly log: Logger;
  /** Lines have come. */
  pulled(): void;
}

/** What the agent and its daemon know of a transport. */
export interface JoinedTransport {
  readonly remote: RemoteLogs;
  /** Something in the wire's folder has changed: the file of that name, or any. */
  changed(name: string | undefined): void;
}

/** Joins a transport to an agent: what comes is read, what is wrong is told, what is ours is pushed. Spec 5. */
export function joinTransport(
  { agent, queue, disk, log, pulled }: TransportUser,
  {
    transport,
    host,
    folder,
  }: { readonly transport: Transport; readonly host: HostState; readonly folder: LocalFolder },
): JoinedTransport {
  const tell = tellTroubles(agent, queue, log);
  transport.onPulled(({ troubles }) => {
    tell(troubles);
    pulled();
  });
  const news = watchNews(disk, folder);
  return {
    remote: {
      isRemote: (handle) => !folder.local().has(handle),
      fetchedMs: (nowMs) => host.fetchedMs(nowMs),
      fetchSoon: () => transport.fetchSoon(),
    },
    changed(name) {
      const when = news.changed(name);
      if (when !== undefined) transport.push(when);
    },
  };
}
