import { Buffer } from "node:buffer";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, onTestFinished } from "vitest";
import { Agent } from "../../../src/agent/agent.ts";
import type { StopHook } from "../../../src/agent/parked.ts";
import { systemClock } from "../../../src/agent/session/clock.ts";
import { silentLogger, type World } from "../../../src/agent/session/world.ts";
import { DeaddropError } from "../../../src/api/errors.ts";
import { carriersOf, pairPath } from "../../../src/carriers/folder.ts";
import { StorageError } from "../../../src/storage/disk/disk.ts";
import { agentPaths, wirePaths, type AgentPaths, type Places } from "../../../src/storage/paths.ts";
import type { Notice } from "../../../src/store/notices.ts";
import {
  composeLine,
  composeLoose,
  signFields,
  type ChainHead,
  type Composed,
  type Draft,
} from "../../../src/wire/compose.ts";
import { fromPlain, type JsonObject, type JsonValue } from "../../../src/wire/json/json.ts";
import { makeSigner, publicKeyOf, type Signer } from "../../../src/wire/signature.ts";
import { Crashed, MemoryDisk, seeded, type MemoryProcess } from "../disk/memory-disk.ts";
import type { PowerCut } from "../disk/memory-inode.ts";
import { verifyHere } from "../verify-here.ts";
import { expectAuditEquals } from "./scene-audit.ts";
import { BEGIN_MS, makeScene, WIRE, WIRE_ID, type SceneOptions } from "./scene-folder.ts";
import { outcomeOf, type Outcome } from "./scene-outcome.ts";
import { transcriptOf } from "./scene-transcript.ts";

export type { Outcome, SceneOptions };

const POLL_MS = 30_000;
/** In a pass of hours, where beats are what daemons wake for. */
const LONG_POLL_MS = 300_000;
const LONG_PASS_MS = 4 * 3_600_000;
/** As of a daemon for which no command is set. */
const NO_STOP_HOOK: StopHook = { run: () => ({ outcome: "none", detail: "no command is set" }) };
/** Rounds in a row that are asked for at once; a backlog needs a few. */
const MOST_OVERDUE = 100;

/** What of a hand-made line departs from an honest one. */
export interface HandMade extends Partial<Omit<Draft, "body">> {
  readonly body?: JsonValue;
  readonly wireId?: string;
  readonly atMs?: number;
  /** The line that it claims to follow; by default the last chained one of its author. */
  readonly after?: ChainHead | "nothing";
  /** It is in no chain. */
  readonly isLoose?: boolean;
}

/** A draft with its body as plain JSON. */
export type PlainDraft = Omit<Draft, "body"> & { readonly body: unknown };

/** Whoever takes part: an agent with its daemon running, or switched off. */
interface Member {
  readonly handle: string;
  readonly places: Places;
  process: MemoryProcess;
  agent: Agent | undefined;
  /** By how much its wall clock is wrong. */
  wallOffMs: number;
  /** How often its store was lost. */
  lost: number;
}

/**
 * Several real agents in one process, on one simulated disk and clock; their databases are real files. What runs is
 * the daemon's own composition, only the edges are ours. Time moves when the scene says so.
 */
export class SimulatedWire {
  readonly disk: MemoryDisk;
  readonly wirePath = WIRE;
  readonly roster: readonly string[];
  readonly #seeds: ReadonlyMap<string, Uint8Array>;
  readonly #members = new Map<string, Member>();
  readonly #paths = new Map<string, AgentPaths>();
  readonly #options: SceneOptions;
  readonly #stores = mkdtempSync(join(tmpdir(), "deaddrop-scene-"));
  #nowMs = BEGIN_MS;
  #monoMs = 0;
  #shown = new Map<string, number>();
  /** By handle, for daemons that start from now on. */
  readonly stopHooks = new Map<string, StopHook>();
  /** The notices that agents were told, in order, as a listener hears of them. */
  readonly heard: { readonly handle: string; readonly notice: Notice }[] = [];

  constructor(roster: readonly string[], options: SceneOptions = {}) {
    this.roster = roster;
    this.#options = options;
    const keyOf = (handle: string, at: number) =>
      options.keys?.[handle] ?? new Uint8Array(32).fill(at + 1);
    this.#seeds = new Map(roster.map((handle, at) => [handle, keyOf(handle, at)]));
    this.disk = new MemoryDisk({ seed: options.seed ?? 7, nowMs: () => this.#nowMs });
    for (const [handle, places] of makeScene(this.disk.process(), roster, options, this.#seeds)) {
      const process = this.disk.process();
      this.#members.set(handle, {
        ...{ handle, places, process, agent: undefined, wallOffMs: 0, lost: 0 },
      });
    }
    onTestFinished(() => {
      this.close();
    });
  }

  /** Ends all daemons without a word, and removes their databases. */
  close(): void {
    for (const member of this.#members.values()) {
      try {
        member.agent?.close();
      } catch (error) {
        if (!(error instanceof StorageError) && !(error instanceof Crashed)) throw error;
      }
      member.agent = undefined;
    }
    rmSync(this.#stores, { recursive: true, force: true });
  }

  /** Milliseconds since the scene began. */
  get elapsedMs(): number {
    return this.#nowMs - BEGIN_MS;
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  /** Starts the daemons of these agents; of all of them when none is named. */
  async start(...handles: readonly string[]): Promise<void> {
    for (const handle of handles.length === 0 ? this.roster : handles) {
      await this.begin(handle, this.disk.process());
    }
    await this.settle();
  }

  /** Starts one daemon as this process, which may have faults ahead; nothing else happens yet. */
  async begin(handle: string, process: MemoryProcess): Promise<void> {
    const member = this.#member(handle);
    member.process = process;
    const agent = new Agent(this.#world(member), { wireDir: WIRE, handle });
    try {
      agent.lockIdentity(0);
    } catch (error) {
      if (process.alive) agent.close();
      throw error;
    }
    member.agent = agent;
  }

  /** What a command uses while no daemon runs: the lock is its own only during a call. */
  command(handle: string, process: MemoryProcess): Agent {
    const member = this.#member(handle);
    member.process = process;
    return new Agent({ ...this.#world(member), hooks: {} }, { wireDir: WIRE, handle });
  }

  async stop(handle: string): Promise<void> {
    const member = this.#member(handle);
    await member.agent?.farewell();
    member.agent?.close();
    member.agent = undefined;
    await this.settle();
  }

  /** Whether its daemon runs: in scenes with faults it may have died. */
  isUp(handle: string): boolean {
    return this.#member(handle).agent !== undefined;
  }

  /** The disk as this agent's process sees it: where faults are put. */
  process(handle: string): MemoryProcess {
    return this.#member(handle).process;
  }

  /** The process as which an agent is started next. */
  give(handle: string, process: MemoryProcess): void {
    this.#member(handle).process = process;
  }

  /** Where an agent keeps what is its own. */
  paths(handle: string): AgentPaths {
    const { places } = this.#member(handle);
    // They never change, and to load a place is slow.
    const wireKey = this.#options.wireId ?? WIRE_ID;
    const known = this.#paths.get(handle) ?? agentPaths(places, { wireDir: WIRE, wireKey, handle });
    this.#paths.set(handle, known);
    return known;
  }

  placesOf(handle: string): Places {
    return this.#member(handle).places;
  }

  publicKey(handle: string): Uint8Array {
    return publicKeyOf(this.#seeds.get(handle) ?? new Uint8Array(0));
  }

  /** The host of all of them loses its power. */
  powerCut(how: PowerCut): void {
    this.disk.powerCut(how);
    for (const member of this.#members.values()) member.agent = undefined;
  }

  /** Does something with an agent; in scenes with faults trouble is its answer, and death its end. */
  async attempt<T>(handle: string, act: (agent: Agent) => Promise<T>): Promise<T | undefined> {
    const member = this.#member(handle);
    if (member.agent === undefined) return undefined;
    try {
      return await act(member.agent);
    } catch (error) {
      if (this.#options.withFaults !== true) throw error;
      if (error instanceof Crashed) member.agent = undefined;
      else if (!(error instanceof StorageError) && !isStorageTrouble(error)) throw error;
      return undefined;
    }
  }

  /** The process dies without a word. */
  kill(handle: string): void {
    const member = this.#member(handle);
    member.process.kill();
    member.agent = undefined;
  }

  /** The store of an agent whose daemon is stopped is lost. */
  loseStore(handle: string): void {
    this.#member(handle).lost += 1;
  }

  agent(handle: string): Agent {
    const { agent } = this.#member(handle);
    if (agent === undefined) throw new Error(`${handle}'s daemon does not run in this scene`);
    return agent;
  }

  /** An agent sends, and everybody reads it; returns the event id of its (first) line. */
  async send(from: string, draft: PlainDraft): Promise<string> {
    const id = await this.post(from, draft);
    await this.settle();
    return id;
  }

  /** An agent sends, and nobody has read it yet. */
  async post(from: string, draft: PlainDraft): Promise<string> {
    const [answer] = await this.agent(from).send([[{ ...draft, body: fromPlain(draft.body) }]]);
    const id = answer?.messages[0]?.event_id;
    if (id === undefined) throw new Error("nothing was sent");
    return id;
  }

  /** Ticks all daemons until none of them has anything to do at this moment. */
  async settle(): Promise<void> {
    for (let isBusy = true; isBusy;) {
      const before = this.#sizes();
      isBusy = false;
      for (const handle of this.roster) {
        if (await this.attempt(handle, (agent) => agent.tick())) isBusy = true;
      }
      isBusy ||= this.#sizes() !== before;
    }
  }

  /** Lets time pass: daemons tick when a beat is due, and otherwise at their safety poll. */
  async pass(ms: number): Promise<void> {
    const endMs = this.#monoMs + ms;
    const pollMs = ms >= LONG_PASS_MS ? LONG_POLL_MS : POLL_MS;
    let overdue = 0;
    while (this.#monoMs < endMs) {
      const due = [...this.#members.values()].map(({ agent }) => agent?.nextDueMs() ?? Infinity);
      // What a round cannot do must not ask for another one at once: a daemon would never sleep.
      overdue = Math.min(...due) <= this.#monoMs ? overdue + 1 : 0;
      if (overdue > MOST_OVERDUE) throw new Error("a daemon asks for round after round");
      const next = Math.max(this.#monoMs + 1, Math.min(endMs, this.#monoMs + pollMs, ...due));
      this.#nowMs += next - this.#monoMs;
      this.#monoMs = next;
      await this.settle();
    }
  }

  /** The host sleeps: wall and monotonic clocks go on, nobody ticks meanwhile. */
  suspend(ms: number): void {
    this.#nowMs += ms;
    this.#monoMs += ms;
  }

  /** Somebody sets an agent's wall clock to what is so much wrong; its monotonic one goes on. */
  setClock(handle: string, wrongByMs: number): void {
    this.#member(handle).wallOffMs = wrongByMs;
  }

  /** Bytes of a file of the wire, by its name; of any other by its path. */
  read(name: string): string {
    const file = this.disk.process().open(resolve(WIRE, name), "read");
    const text = Buffer.from(file.read(file.stat().size, 0)).toString("utf8");
    file.close();
    return text;
  }

  lines(name: string): string[] {
    return this.read(name).split("\n").slice(0, -1);
  }

  /** Another program writes there, as anybody who can write in the folder may. */
  append(name: string, text: string | Uint8Array): void {
    const file = this.disk.process().open(join(WIRE, name), "append");
    file.append(typeof text === "string" ? Buffer.from(text, "utf8") : text);
    file.datasync();
    file.close();
  }

  /** The file into which an agent writes what is for another one. */
  carrier(handle: string, reader?: string): string {
    const to = reader ?? this.roster.find((each) => each !== handle) ?? handle;
    return this.#isPair ? pairPath(handle, to) : `outbox/${handle}.jsonl`;
  }

  get #isPair(): boolean {
    return (this.#options.members ?? this.roster).length === 2;
  }

  /** A line signed with an agent's own key and written by hand: what a hostile member can make. */
  forge(handle: string, draft: HandMade): Composed {
    const { wireId = WIRE_ID, atMs = this.#nowMs, after, isLoose = false, ...rest } = draft;
    const said = { to: ["*"], type: "feedback", subject: "by hand", body: "x", ...rest };
    const at = { timestamp: new Date(atMs).toISOString(), wireId };
    if (isLoose) return composeLoose(said, at, this.#signer(handle));
    const head = after === "nothing" ? undefined : (after ?? this.head(handle));
    return composeLine(said, { ...at, head }, this.#signer(handle));
  }

  /** Any object, signed with an agent's own key as entries of decisions.jsonl are. */
  sign(handle: string, fields: object): string {
    const { line } = signFields(fromPlain(fields) as JsonObject, this.#signer(handle));
    return Buffer.from(line).toString("utf8");
  }

  /** The last chained line that stands in a carrier of an agent. */
  head(handle: string): ChainHead | undefined {
    const line = this.#said(handle).findLast((each) => each.includes('"seq":'));
    if (line === undefined) return undefined;
    const { seq, event_id: id } = JSON.parse(line) as { seq: number; event_id: string };
    return { seq, id };
  }

  /** What stands in the carrier of an agent that has its whole chain. */
  #said(handle: string): string[] {
    const path = this.carrier(handle);
    return this.disk.lookUp(join(WIRE, path)) === undefined ? [] : this.lines(path);
  }

  /** Another process holds the kernel lock of a shared file until it closes it. */
  lock(name: string): { close(): void } {
    const file = this.disk.process().open(join(WIRE, name), "append");
    if (!file.lock(0)) throw new Error(`${name} is locked already`);
    return file;
  }

  replace(name: string, text: string): void {
    this.disk.process().replace(join(WIRE, name), Buffer.from(text, "utf8"), 0o644);
  }

  /** The lines written since the last call, a row each; beats only when asked for. */
  transcript(options: { beats?: boolean } = {}): string {
    const fresh = this.roster.flatMap((handle) => {
      const lines = this.#said(handle);
      const shown = this.#shown.get(handle) ?? 0;
      this.#shown.set(handle, lines.length);
      return lines.slice(shown);
    });
    return transcriptOf(fresh, options.beats === true);
  }

  /** What follows from the wire for one agent, in plain JSON. */
  async outcome(handle: string): Promise<Outcome> {
    return outcomeOf(this.agent(handle));
  }

  /** What carriers hold gives a store that was lost the outcomes that were seen live. Spec 4.1. */
  async expectReplayEqualsLive(handle: string): Promise<Outcome> {
    const live = await this.outcome(handle);
    const member = this.#member(handle);
    member.agent?.close();
    this.loseStore(handle);
    member.process = this.disk.process();
    const agent = new Agent(this.#world(member), { wireDir: WIRE, handle });
    agent.lockIdentity(0);
    member.agent = agent;
    while (await agent.tick());
    expect(decidedIn(await outcomeOf(agent))).toEqual(decidedIn(live));
    return live;
  }

  /** And an audit of the carriers gives the same outcomes. Spec 4.10. */
  async expectReplayAndAuditEqualLive(handle: string): Promise<void> {
    const live = await this.expectReplayEqualsLive(handle);
    const { place } = this.agent(handle);
    const violations = this.#options.violations ?? {};
    await expectAuditEquals(live, { world: this.#world(this.#member(handle)), place, violations });
  }

  #signer(handle: string): Signer {
    const seed = this.#seeds.get(handle);
    if (seed === undefined) throw new Error(`${handle} is not in this scene`);
    return makeSigner(handle, seed);
  }

  #member(handle: string): Member {
    const member = this.#members.get(handle);
    if (member === undefined) throw new Error(`${handle} is not in this scene`);
    return member;
  }

  #world(member: Member): World {
    const random = seeded(member.handle.length);
    const stop = this.stopHooks.get(member.handle) ?? NO_STOP_HOOK;
    return {
      disk: member.process,
      places: member.places,
      clock: {
        wallMs: () => Math.floor(this.#nowMs) + member.wallOffMs,
        micros: () => 0,
        monoMs: () => this.#monoMs,
        nextTurn: () => systemClock.nextTurn(),
      },
      random,
      verifyAll: verifyHere,
      log: this.#options.log ?? silentLogger,
      storeFile: () => join(this.#stores, `${member.handle}-${member.lost}.db`),
      carriers: ({ core }) => ({
        disk: member.process,
        env: {},
        log: silentLogger,
        random,
        clock: {
          wallMs: () => Math.floor(this.#nowMs) + member.wallOffMs,
          monoMs: () => this.#monoMs,
        },
        cadenceMs: () => core().ownCadenceMs,
        after: () => () => undefined,
        watch: () => () => undefined,
        failed: (error) => {
          throw error;
        },
      }),
      hooks: {
        onNotice: (notice) => this.heard.push({ handle: member.handle, notice }),
        stop,
      },
    };
  }

  /** Of the files that agents write into the wire. */
  #sizes(): string {
    const { decisions, incidents } = wirePaths(WIRE);
    const chains = new Map(this.roster.map((handle) => [handle, !this.#isPair]));
    const own = this.roster.flatMap((handle) =>
      carriersOf(handle, chains).map(({ path }) => join(WIRE, path)),
    );
    const pair = this.#isPair ? this.roster.map((each) => join(WIRE, this.carrier(each))) : [];
    const paths = [...own, ...pair, decisions, incidents];
    return paths.map((path) => this.disk.lookUp(path)?.size ?? 0).join(" ");
  }
}

/** What every reader of the same lines finds, whenever it has read them. */
function decidedIn({ proposals, ratified, requests }: Outcome) {
  const byId = (one: { id: string }, other: { id: string }) => (one.id < other.id ? -1 : 1);
  return { proposals: proposals.toSorted(byId), ratified: ratified.toSorted(byId), requests };
}

function isStorageTrouble(error: unknown): boolean {
  return error instanceof DeaddropError && error.code === "storage";
}
