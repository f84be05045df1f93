import type { Agent } from "../../../src/agent/agent.ts";
import type { Queue } from "../../../src/agent/session/queue.ts";
import { silentLogger, type RemoteLogs } from "../../../src/agent/session/world.ts";
import { joinTransport } from "../../../src/daemon/transport/join-transport.ts";
import { keepLines, localFolder } from "../../../src/daemon/transport/local-side.ts";
import type { Ticker } from "../../../src/daemon/ticker.ts";
import type { Places } from "../../../src/storage/paths.ts";
import { Replica, type ReplicaOptions } from "../../../src/transport/copies/replica.ts";
import { openHostState } from "../../../src/transport/host-state.ts";
import type { Remote } from "../../../src/transport/remote.ts";
import { RemoteTransport } from "../../../src/transport/remote-transport.ts";
import { transportPaths } from "../../../src/transport/transport-settings.ts";
import { Crashed, type MemoryProcess } from "../../support/disk/memory-disk.ts";
import type { Luck } from "./luck.ts";
import type { SimulatedRemote } from "./simulated-remote.ts";
import type { Timers } from "./timers.ts";

/** A daemon's transport: all of it is the product's own but what moves the bytes. */
export interface Carried {
  readonly remote: RemoteLogs;
  start(): void;
  changed(name: string): void;
  /** As a daemon ends: what it said last is pushed first, unless the remote is in trouble. */
  stop(): Promise<void>;
}

export interface CarriedBy {
  readonly host: string;
  readonly process: MemoryProcess;
  readonly places: Places;
  readonly agent: Agent;
  readonly queue: Queue;
  readonly ticker: Ticker;
  wallMs(): number;
  failed(error: unknown): void;
  /** A fetch for its host that was asked for then (monotonic ms) has ended. */
  fetched(beganMs: number): void;
}

const URL = "simulated://wire";

export function carry(
  by: CarriedBy,
  {
    remote,
    timers,
    luck,
  }: { readonly remote: SimulatedRemote; readonly timers: Timers; readonly luck: Luck },
): Carried {
  const { process, places, agent, queue, ticker } = by;
  const { place } = agent;
  const host = openHostState(process, transportPaths(places, place.paths.wireKey), URL);
  const folder = localFolder(process, places, place);
  const sides: Omit<ReplicaOptions, "agreed" | "grown" | "today"> = {
    folder,
    isSigned: (log, line) => agent.isSignedLine(log, line),
    isWhole: (log) => agent.isWholeLog(log),
    keep: (log, lines) => keepLines(process, place.paths, log, lines),
  };
  const inProcess = (act: () => void): void => {
    try {
      if (process.alive) act();
    } catch (error) {
      if (!(error instanceof Crashed)) throw error;
      by.failed(error);
    }
  };
  const again = new Replica({
    ...{ ...sides, agreed: host.agreed, grown: new Map() },
    today: () => "2026-06-01",
  });
  const transport = new RemoteTransport(
    {
      ...sides,
      host,
      world: {
        clock: { wallMs: () => by.wallMs(), monoMs: () => timers.monoMs },
        after: (inMs, act) => timers.after(inMs, () => inProcess(act)),
        random: luck.random,
        cadenceMs: () => agent.cadenceMs(),
        log: silentLogger,
        failed: (error) => by.failed(error),
      },
    },
    reached(by, remote, timers, {
      mayMove: () => host.mayMove(),
      async bringOlder() {
        if (remote.isCalm || !luck.chance(0.15)) return;
        // What was fetched before comes once more, or only now.
        for (const version of remote.olderVersions()) {
          await again.bring(remote.filesOf(version).remote, host.mayMove());
        }
      },
    }),
  );
  const joined = joinTransport(
    { agent, queue, disk: process, log: silentLogger, pulled: () => ticker.soon() },
    { transport, host, folder },
  );
  return {
    remote: joined.remote,
    start() {
      transport.start();
      transport.push("soon");
    },
    changed: (name) => inProcess(() => joined.changed(name)),
    async stop() {
      if (transport.health().problem === undefined) {
        await transport.turn({ fetch: false, push: true });
      }
      await transport.stop();
    },
  };
}

interface Moving {
  mayMove(): boolean;
  bringOlder(): Promise<void>;
}

/** The remote as one process reaches it. */
function reached(
  { host, process, fetched }: CarriedBy,
  remote: SimulatedRemote,
  timers: Timers,
  { mayMove, bringOlder }: Moving,
): Remote {
  const call = <T>(work: () => T): Promise<T> => remote.call(host, () => process.alive, work);
  return {
    kind: "git",
    url: URL,
    async fetch() {
      const beganMs = timers.monoMs;
      const version = await call(() => remote.version);
      if (mayMove()) fetched(beganMs);
      await bringOlder();
      return { version, files: () => Promise.resolve(remote.filesOf(version)) };
    },
    push: (base, changes) => call(() => remote.take(base, changes)),
    noteTaken: () => undefined,
    acceptHistory: () => undefined,
    stop: () => undefined,
  };
}
