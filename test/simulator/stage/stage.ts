import { basename, join } from "node:path";
import { openAgent, type Agent } from "../../../src/agent/agent.ts";
import { silentLogger, type World } from "../../../src/agent/session/world.ts";
import { DeaddropError } from "../../../src/api/errors.ts";
import { makeQueue, type Queue } from "../../../src/agent/session/queue.ts";
import { remoteLink } from "../../../src/daemon/transport/open-transport.ts";
import { makeTicker, type Ticker } from "../../../src/daemon/ticker.ts";
import { StorageError } from "../../../src/storage/disk/disk.ts";
import { agentPaths, type AgentPaths, type Places } from "../../../src/storage/paths.ts";
import { makeLayout, pairNames, type Layout, type Log } from "../../../src/wire/layout.ts";
import { verifySignature, type SignatureCheck } from "../../../src/wire/signature.ts";
import { Crashed, type MemoryProcess } from "../../support/disk/memory-disk.ts";
import type { PowerCut } from "../../support/disk/memory-inode.ts";
import { BEGIN_MS, WIRE, WIRE_ID, type SceneOptions } from "../../support/scenes/scene-folder.ts";
import { carry, type Carried, type CarriedBy } from "./carried.ts";
import { makeHosts, type Host, type Whole } from "./hosts.ts";
import type { Luck } from "./luck.ts";
import { SimulatedRemote } from "./simulated-remote.ts";
import { Timers } from "./timers.ts";

const POLL_MS = 30_000;

/** A daemon that runs: the agent, its queue of work, and the loop that decides when it looks. */
interface Running {
  readonly agent: Agent;
  readonly queue: Queue;
  readonly ticker: Ticker;
  /** What brings the logs of other hosts, where there are any. */
  readonly carried: Carried | undefined;
}

export interface Member {
  readonly handle: string;
  readonly host: Host;
  readonly places: Places;
  process: MemoryProcess;
  running: Running | undefined;
  isStarting: boolean;
  /** How far its wall clock is off. */
  clockOffMs: number;
  /** It has been set by more than a minute: what it says of the time between receipts is off. */
  clockWasSet: boolean;
  /** The most that it ever was ahead. */
  mostAheadMs: number;
  /** It has been set back by so much that timestamps may be too. Spec 1.2. */
  clockSetBack: boolean;
  /** An older copy of a log of its own was put back. */
  logWasPutBack: boolean;
  /** What the watcher has told it, by log: sizes of files. */
  readonly watched: Map<string, string>;
}

/**
 * Several real daemons in one process, without sockets: the core, the storage and the loop are the
 * product's own; disk, clocks, watcher and chance are ours. Nothing happens but by `ring` and by
 * what is asked of a member, and both end before they return, unless they wait for an alarm.
 */
export class Stage {
  readonly hosts: readonly Host[];
  readonly timers = new Timers();
  readonly layout: Layout;
  readonly logs: readonly Log[];
  readonly luck: Luck;
  readonly seeds: ReadonlyMap<string, Uint8Array>;
  readonly members = new Map<string, Member>();
  /** What joins the hosts; undefined where all share one folder. */
  readonly remote: SimulatedRemote | undefined;
  /** Called when a daemon has started: what it promised before must stand there. */
  onStart: (member: Member) => void = () => undefined;
  /** Called after each thing that happens while time passes. */
  onRing: () => void = () => undefined;
  /** Signatures take no time any more: what is asked is answered at once. */
  isCalm = false;
  crashes = 0;
  powerCuts = 0;
  #fault: Error | undefined;
  readonly #verdicts = new Map<string, boolean>();

  /**
   * @param by.groups who shares a host; all, unless said
   * @param by.mayMove a pairwise wire may move to outboxes: then it has logs of both kinds
   */
  constructor(
    roster: readonly string[],
    options: SceneOptions,
    luck: Luck,
    {
      groups = [roster],
      mayMove = false,
    }: { readonly groups?: readonly (readonly string[])[]; readonly mayMove?: boolean } = {},
  ) {
    this.luck = luck;
    this.seeds = new Map(roster.map((handle, at) => [handle, new Uint8Array(32).fill(at + 1)]));
    this.layout = mayMove
      ? makeLayout("outbox", roster, undefined, pairNames(roster))
      : makeLayout(options.layout ?? "pairwise", roster);
    this.logs = [...this.layout.logs.values()];
    const world = { random: luck.random, nowMs: () => this.nowMs };
    this.hosts = makeHosts(roster, groups, { ...world, options, seeds: this.seeds });
    this.remote = groups.length > 1 ? new SimulatedRemote(this.timers, luck) : undefined;
    for (const host of this.hosts) {
      for (const [handle, places] of host.places)
        this.members.set(handle, newMember(handle, host, places));
    }
  }

  get nowMs(): number {
    return BEGIN_MS + this.timers.monoMs;
  }

  member(handle: string): Member {
    return this.members.get(handle) as Member;
  }

  paths({ handle, places }: Member): AgentPaths {
    return agentPaths(places, { wireDir: WIRE, wireKey: WIRE_ID, handle });
  }

  /** Where its owner writes it. */
  home({ owner }: Log): Host {
    return this.member(owner).host;
  }

  path(log: Log): string {
    return join(WIRE, log.path);
  }

  /** What stands in a log, archived or not, as its author has it. */
  log(log: Log): Whole | undefined {
    return this.home(log).whole(this.path(log));
  }

  /** Starts a daemon as that process, which may have faults ahead of it. */
  async start(member: Member, process: MemoryProcess = member.host.disk.process()): Promise<void> {
    if (member.running !== undefined || (member.isStarting && member.process.alive)) return;
    member.isStarting = true;
    member.process = process;
    const queue = makeQueue();
    const begin = async (): Promise<void> => {
      const link = remoteLink();
      const agent = openAgent(
        { ...this.#world(member, process), remote: link },
        {
          wireDir: WIRE,
          handle: member.handle,
        },
      );
      try {
        await agent.lockIdentity(0);
      } catch (error) {
        // A dead process closes nothing.
        if (process.alive) agent.close();
        throw error;
      }
      const ticker = makeTicker(agent, queue, silentLogger, {
        wake: (inMs, wake) =>
          this.timers.after(inMs, () => {
            if (process.alive) wake();
          }),
        pollMs: POLL_MS,
        alive: () => undefined,
        aliveEveryMs: undefined,
      });
      const failed = (error: unknown): void => this.#died(member, process, error);
      ticker.failed.catch(failed);
      const carried = this.#carry(member, { process, agent, queue, ticker, failed });
      link.to = carried?.remote;
      member.running = { agent, queue, ticker, carried };
      // What its disk did not take yet is checked when all is well again, at the end.
      if (agent.stuck === undefined) this.onStart(member);
      ticker.soon();
      carried?.start();
    };
    queue(begin)
      .catch((error: unknown) => this.#died(member, process, error))
      .finally(() => {
        if (member.process === process) member.isStarting = false;
      });
    await this.quiet();
  }

  /** Asks something of an agent; undefined when it is down, dies, or its disk fails. */
  async ask<T>(member: Member, act: (agent: Agent) => Promise<T>): Promise<T | undefined> {
    const { running, process } = member;
    if (running === undefined) return undefined;
    let answer: T | undefined;
    running
      .queue(() => act(running.agent))
      .then(
        (given) => {
          answer = given;
          running.ticker.later();
        },
        (error: unknown) => this.#died(member, process, error),
      );
    await this.quiet();
    return answer;
  }

  /** The same, with what to do when the answer comes, which may be steps later. */
  async tell<T>(
    member: Member,
    act: (agent: Agent) => Promise<T>,
    then: (answer: T) => void,
  ): Promise<void> {
    await this.ask(member, async (agent) => {
      const answer = await act(agent);
      if (member.process.alive) then(answer);
    });
  }

  /** The last beat and the end, as on SIGTERM. */
  async leave(member: Member): Promise<void> {
    const { running, process } = member;
    if (running === undefined) return;
    running.ticker.stop();
    running
      .queue(() => running.agent.farewell())
      .then(() => running.carried?.stop())
      .then(() => {
        running.agent.close();
        process.kill();
        if (member.running === running) member.running = undefined;
      })
      .catch((error: unknown) => {
        this.#died(member, process, error);
        this.kill(member);
      });
    await this.quiet();
  }

  kill(member: Member): void {
    this.crashes += 1;
    member.process.kill();
    member.running = undefined;
  }

  /** The power of one host goes. */
  powerCut(host: Host, how: PowerCut): void {
    this.powerCuts += 1;
    host.powerCuts += 1;
    host.disk.powerCut(how);
    for (const member of this.on(host)) member.running = undefined;
  }

  on(host: Host): Member[] {
    return [...this.members.values()].filter((member) => member.host === host);
  }

  /** The next thing that is due happens. */
  async ring(): Promise<void> {
    if (!this.timers.ringNext()) this.timers.skip(POLL_MS);
    await this.quiet();
  }

  /** Rings until so much time has passed. */
  async pass(ms: number): Promise<void> {
    const endMs = this.timers.monoMs + ms;
    while (this.timers.nextMs <= endMs) {
      await this.ring();
      this.watch(() => [0]);
      this.onRing();
    }
    this.timers.skip(Math.max(0, endMs - this.timers.monoMs));
  }

  /**
   * What has changed in the folder is told to whoever watches it, after these delays: none when the
   * event is lost, two when it comes twice.
   */
  watch(delays: () => readonly number[]): void {
    for (const path of this.#watchedPaths) {
      for (const member of this.members.values()) {
        const inode = member.host.disk.lookUp(join(WIRE, path));
        const now = `${inode?.ino} ${inode?.size}`;
        if (member.watched.get(path) === now) continue;
        member.watched.set(path, now);
        if (member.running === undefined) continue;
        const { process } = member;
        for (const delay of delays()) {
          this.timers.after(delay, () => {
            if (!process.alive) return;
            member.running?.ticker.soon();
            member.running?.carried?.changed(basename(path));
          });
        }
      }
    }
  }

  get #watchedPaths(): string[] {
    const logs = this.logs.map(({ path }) => path);
    return this.remote === undefined ? logs : [...logs, "decisions.jsonl", "incident_log.jsonl"];
  }

  /** Lets everything run that waits for no alarm; a fault of our own ends the play. */
  async quiet(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    for (const member of this.members.values()) {
      if (!member.process.alive) member.running = undefined;
    }
    if (this.#fault !== undefined) throw this.#fault;
  }

  #carry(
    member: Member,
    by: Pick<CarriedBy, "process" | "agent" | "queue" | "ticker" | "failed">,
  ): Carried | undefined {
    if (this.remote === undefined) return undefined;
    const { remote, timers, luck } = this;
    const { host, places } = member;
    return carry(
      {
        ...{ ...by, places, host: host.name },
        wallMs: () => this.nowMs + member.clockOffMs,
        fetched: (beganMs) => (host.fetchedMs = Math.max(host.fetchedMs, beganMs)),
      },
      { remote, timers, luck },
    );
  }

  #died(member: Member, process: MemoryProcess, error: unknown): void {
    if (error instanceof Crashed) {
      this.crashes += 1;
      if (member.process === process) member.running = undefined;
      return;
    }
    if (error instanceof StorageError || error instanceof DeaddropError) return;
    this.#fault ??= error instanceof Error ? error : new Error(String(error));
  }

  #world(member: Member, process: MemoryProcess): World {
    return {
      disk: process,
      places: member.places,
      clock: {
        wallMs: () => this.nowMs + member.clockOffMs,
        micros: () => 0,
        monoMs: () => this.timers.monoMs,
        // What is done within one turn is the simulator's to say.
        nextTurn: () => Promise.resolve(),
      },
      random: this.luck.random,
      verifyAll: (items) => this.#verifyAll(process, items),
      log: silentLogger,
    };
  }

  /** Now and then signatures take their time, and others act meanwhile. */
  #verifyAll(process: MemoryProcess, items: readonly SignatureCheck[]): Promise<boolean[]> {
    const valid = items.map((item) => this.#verdict(item));
    if (items.length === 0 || this.isCalm || !this.luck.chance(0.1)) return Promise.resolve(valid);
    return new Promise((resolve) => {
      this.timers.after(this.luck.between(1, 400), () => {
        if (process.alive) resolve(valid);
      });
    });
  }

  /** Several members ask for the same: it is computed once. */
  #verdict({ publicKey, bytes, signature }: SignatureCheck): boolean {
    const key = [publicKey, signature, bytes]
      .map((part) => Buffer.from(part).toString("latin1"))
      .join(" ");
    const known = this.#verdicts.get(key);
    if (known !== undefined) return known;
    const valid = verifySignature(publicKey, bytes, signature);
    this.#verdicts.set(key, valid);
    return valid;
  }
}

function newMember(handle: string, host: Host, places: Places): Member {
  return {
    ...{ handle, host, places },
    process: host.disk.process(),
    running: undefined,
    isStarting: false,
    clockOffMs: 0,
    clockSetBack: false,
    mostAheadMs: 0,
    clockWasSet: false,
    logWasPutBack: false,
    watched: new Map(),
  };
}
