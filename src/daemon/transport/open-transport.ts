import type { Agent } from "../../agent/agent.ts";
import { makeQueue, type Queue } from "../../agent/session/queue.ts";
import type { Logger, RemoteLogs } from "../../agent/session/world.ts";
import { DeaddropError } from "../../api/errors.ts";
import type { TransportControl, TransportView } from "../../api/transport.ts";
import { nodeDisk } from "../../storage/disk/node-disk.ts";
import type { Places } from "../../storage/paths.ts";
import type { Transport } from "../../transport/port.ts";
import {
  readTransportSettings,
  transportPaths,
  type GitSettings,
} from "../../transport/transport-settings.ts";
import { buildGit } from "./build-git.ts";
import { joinTransport, type JoinedTransport } from "./join-transport.ts";
import { MINUTE_MS } from "../../wire/durations.ts";

/** The transport of a daemon, if its operator has set one up on this machine. Spec 5. */
export interface DaemonTransport {
  readonly control: TransportControl;
  /** Something in the wire's folder has changed. */
  changed(name: string | undefined): void;
  start(): void;
  /** After a round: it is opened again when the wire has other logs by now. */
  rounded(): void;
  /** One fetch and one push; in `daemon --once`. */
  turn(): Promise<void>;
  /** Pushes what was said last, unless the remote is in trouble. */
  stop(): Promise<void>;
}

/** What the agent is told of its transport: it is opened before the transport is. */
export interface RemoteLink extends RemoteLogs {
  to: RemoteLogs | undefined;
}

export function remoteLink(): RemoteLink {
  return {
    to: undefined,
    isRemote(handle) {
      return this.to?.isRemote(handle) === true;
    },
    fetchedMs(nowMs) {
      return this.to?.fetchedMs(nowMs);
    },
    fetchSoon() {
      this.to?.fetchSoon();
    },
  };
}

export interface TransportNeeds {
  readonly agent: Agent;
  readonly queue: Queue;
  readonly places: Places;
  readonly link: RemoteLink;
  readonly log: Logger;
  /** Lines have come. */
  pulled(): void;
  failed(error: unknown): void;
}

/** One transport with what belongs to it. */
interface Opened extends JoinedTransport {
  readonly transport: Transport;
  readonly branch: string;
}

/** A command that closes it for a change opens it again; one that died does not. */
const CLOSED_LIMIT_MS = MINUTE_MS;

/** Throws DeaddropError ("config") when the settings cannot be read. */
export function openTransport(needs: TransportNeeds): DaemonTransport {
  const held = new HeldTransport(needs);
  // Two commands, or a command and the limit, may change it at once.
  const changes = makeQueue();
  let closed: NodeJS.Timeout | undefined;

  const end = (): Promise<void> =>
    changes(() => {
      clearTimeout(closed);
      return held.end();
    });
  const reopen = (): Promise<void> =>
    changes(() => {
      clearTimeout(closed);
      return held.reopen();
    });

  return {
    control: {
      view: () => held.view(),
      fetchSoon: () => held.now?.transport.fetchSoon(),
      acceptHistory: () => held.now?.transport.acceptHistory(),
      async close() {
        await end();
        clearTimeout(closed);
        closed = setTimeout(() => {
          reopen().catch(needs.failed);
        }, CLOSED_LIMIT_MS).unref();
      },
      reopen,
    },
    changed: (name) => held.now?.changed(name),
    start: () => held.start(),
    rounded() {
      if (!held.isOutdated()) return;
      reopen().catch(needs.failed);
    },
    async turn() {
      await held.now?.transport.turn({ fetch: true, push: true });
    },
    async stop() {
      const isWell = held.now?.transport.health().problem === undefined;
      if (isWell) await held.now?.transport.turn({ fetch: false, push: true });
      await end();
    },
  };
}

/** The one transport of the daemon that is open now, if any. */
class HeldTransport {
  readonly #needs: TransportNeeds;
  #isStarted = false;
  #logs = "";
  now: Opened | undefined;

  constructor(needs: TransportNeeds) {
    this.#needs = needs;
    this.#open();
  }

  /** Whether the logs of the wire are others than those that it was opened for. */
  isOutdated(): boolean {
    return this.now !== undefined && this.#logs !== logsOf(this.#needs.agent);
  }

  view(): TransportView | null {
    return this.now === undefined ? null : viewOf(this.now);
  }

  start(): void {
    this.#isStarted = true;
    this.now?.transport.start();
    // What was written while no daemon ran.
    this.now?.transport.push("soon");
  }

  async end(): Promise<void> {
    const ended = this.now;
    this.now = undefined;
    await ended?.transport.stop();
  }

  async reopen(): Promise<void> {
    await this.end();
    this.#open();
    if (this.#isStarted) this.start();
  }

  #open(): void {
    this.#logs = logsOf(this.#needs.agent);
    this.now = open(this.#needs);
    this.#needs.link.to = this.now?.remote;
  }
}

function logsOf({ place: { layout } }: Pick<Agent, "place">): string {
  return [...layout.logs.values()].map(({ path }) => path).join("\n");
}

function open(needs: TransportNeeds): Opened | undefined {
  const { agent, places } = needs;
  const disk = nodeDisk();
  const { settings } = transportPaths(places, agent.place.paths.wireKey);
  const read = readTransportSettings(disk, settings);
  if (!read.ok) {
    throw new DeaddropError("config", `${settings}: ${read.problem}`, {
      hint: "set it up again: deaddrop transport switch git --remote URL",
    });
  }
  return read.git === undefined ? undefined : openWith(needs, read.git);
}

function openWith(needs: TransportNeeds, settings: GitSettings): Opened {
  const { agent, queue, places, log, pulled, failed } = needs;
  const disk = nodeDisk();
  const user = {
    ...{ disk, places, place: agent.place },
    isSigned: (name: string, line: Uint8Array) => agent.isSignedLine(name, line),
    isWhole: (name: string) => agent.isWholeLog(name),
  };
  const built = buildGit(user, settings, {
    ...{ env: process.env, log, failed },
    monoMs: () => agent.monoMs(),
    cadenceMs: () => agent.cadenceMs(),
  });
  const joined = joinTransport({ agent, queue, disk, log, pulled }, built);
  return { ...joined, transport: built.transport, branch: settings.branch };
}

function viewOf({ transport, branch }: Opened): TransportView {
  const { kind, remote, isMover, fetchedMs, pushedMs, ...health } = transport.health();
  const { waiting, heldLogs, problem } = health;
  return {
    ...{ kind, remote, branch, waiting, is_mover: isMover, held_logs: [...heldLogs] },
    fetched_at: timeOf(fetchedMs),
    pushed_at: timeOf(pushedMs),
    problem: problem === undefined ? null : problemOf(problem),
  };
}

function problemOf({
  code,
  detail,
  hint,
  sinceMs,
}: NonNullable<ReturnType<Transport["health"]>["problem"]>): NonNullable<TransportView["problem"]> {
  return { code, detail, hint, since: new Date(sinceMs).toISOString() };
}

function timeOf(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}
