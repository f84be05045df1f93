import { Buffer } from "node:buffer";
import { join } from "node:path";
import { expect } from "vitest";
import { openAgent, type Agent } from "../../src/daemon/agent.ts";
import type { IncidentView, SafeModeView } from "../../src/daemon/client-types.ts";
import { silentLogger, type World } from "../../src/daemon/edges.ts";
import { runAudit } from "../../src/audit/audit.ts";
import { wirePlan } from "../../src/audit/plan.ts";
import { identityPaths, placesFrom, wirePaths, type Places } from "../../src/storage/paths.ts";
import { loadPlace } from "../../src/daemon/place.ts";
import { makeIdentity } from "../../src/storage/identity.ts";
import { newPeer, type Peer, type TrustStore } from "../../src/trust/store.ts";
import { serialiseTrustStore } from "../../src/trust/trust-file.ts";
import type { Tier } from "../../src/trust/tiers.ts";
import { composeLine, type ChainHead, type Composed, type Draft } from "../../src/wire/compose.ts";
import { fromPlain, toPlain, type JsonValue } from "../../src/wire/json.ts";
import { makeLayout } from "../../src/wire/layout.ts";
import { parseMessage, type Message } from "../../src/wire/message.ts";
import { keyId, makeSigner, publicKeyOf, verifyAll } from "../../src/wire/signature.ts";
import { MemoryDisk, seeded, type MemoryProcess } from "./memory-disk.ts";

/** A Monday morning, UTC: where scenes begin. */
const BEGIN_MS = Date.UTC(2026, 5, 1, 9);
const POLL_MS = 30_000;
const WIRE = "/wire/_coordination";
const WIRE_ID = "5ce9e0f1a2b3c4d5";
const TIERS = {
  schema_version: "v1",
  tiers: {
    T0_HEADS_DOWN: { cadence_seconds: 30 },
    T1_active: { cadence_seconds: 90 },
    T2_idle: { cadence_seconds: 270 },
    T3_long_idle: { cadence_seconds: 1200 },
  },
  transitions: {},
};

export interface SceneOptions {
  readonly layout?: "pairwise" | "outbox";
  readonly signing?: { enforce_signed: boolean; allow_unsigned_from: string[] };
  /** How an agent rates a peer; TRUSTED unless said: `{ forge: { scribe: "VERIFIED" } }`. */
  readonly tiers?: Readonly<Record<string, Readonly<Record<string, Tier>>>>;
  readonly domains?: object;
}

/** What of a hand-made line departs from an honest one. */
export interface HandMade extends Partial<Omit<Draft, "body">> {
  readonly body?: JsonValue;
  readonly wireId?: string;
  readonly atMs?: number;
  readonly after?: ChainHead | "nothing";
}

/** Whoever takes part: an agent with its daemon running, or switched off. */
interface Member {
  readonly handle: string;
  readonly places: Places;
  process: MemoryProcess;
  agent: Agent | undefined;
}

/**
 * Several real agents in one process, on one simulated disk and clock: what runs is the daemon's
 * own composition, only the edges are ours. Time moves when the scene says so.
 */
export class SimulatedWire {
  readonly disk: MemoryDisk;
  readonly wirePath = WIRE;
  readonly roster: readonly string[];
  readonly #seeds: ReadonlyMap<string, Uint8Array>;
  readonly #members = new Map<string, Member>();
  readonly #options: SceneOptions;
  #nowMs = BEGIN_MS;
  #monoMs = 0;
  #shown = new Map<string, number>();

  constructor(roster: readonly string[], options: SceneOptions = {}) {
    this.roster = roster;
    this.#options = options;
    this.#seeds = new Map(roster.map((handle, at) => [handle, new Uint8Array(32).fill(at + 1)]));
    this.disk = new MemoryDisk({ seed: 7, nowMs: () => this.#nowMs });
    this.#makeWire();
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
      const member = this.#member(handle);
      member.process = this.disk.process();
      member.agent = openAgent(this.#world(member), { wireDir: WIRE, handle });
      await member.agent.hold(0);
    }
    await this.settle();
  }

  async stop(handle: string): Promise<void> {
    const member = this.#member(handle);
    await member.agent?.farewell();
    member.agent?.close();
    member.agent = undefined;
    await this.settle();
  }

  /** The process dies without a word. */
  kill(handle: string): void {
    const member = this.#member(handle);
    member.process.kill();
    member.agent = undefined;
  }

  agent(handle: string): Agent {
    const { agent } = this.#member(handle);
    if (agent === undefined) throw new Error(`${handle}'s daemon does not run in this scene`);
    return agent;
  }

  /** An agent sends; returns the event id of its (first) line. */
  async send(from: string, draft: Omit<Draft, "body"> & { body: unknown }): Promise<string> {
    const [answer] = await this.agent(from).send([[{ ...draft, body: fromPlain(draft.body) }]]);
    const id = answer?.messages[0]?.event_id;
    if (id === undefined) throw new Error("nothing was sent");
    await this.settle();
    return id;
  }

  /** Ticks all daemons until none of them has anything to do at this moment. */
  async settle(): Promise<void> {
    for (let quiet = 0; quiet < 2;) {
      const before = this.#sizes();
      for (const { agent } of this.#members.values()) await agent?.tick();
      quiet = this.#sizes() === before ? quiet + 1 : 0;
    }
  }

  /** Lets time pass: daemons tick when a beat is due, and otherwise at their safety poll. */
  async pass(ms: number): Promise<void> {
    const endMs = this.#monoMs + ms;
    while (this.#monoMs < endMs) {
      const due = [...this.#members.values()].map(({ agent }) => agent?.nextDueMs() ?? Infinity);
      const next = Math.max(this.#monoMs + 1, Math.min(endMs, this.#monoMs + POLL_MS, ...due));
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

  /** Bytes of a file of the wire, by its name. */
  read(name: string): string {
    const process = this.disk.process();
    const file = process.open(join(WIRE, name), "read");
    const text = Buffer.from(file.read(file.stat().size, 0)).toString("utf8");
    file.close();
    return text;
  }

  lines(name: string): string[] {
    return this.read(name).split("\n").slice(0, -1);
  }

  /** Another program writes there, as anybody who can write in the folder may. */
  append(name: string, text: string): void {
    const file = this.disk.process().open(join(WIRE, name), "append");
    file.append(Buffer.from(text, "utf8"));
    file.datasync();
    file.close();
  }

  /**
   * A line signed with an agent's own key and written by hand: what a hostile member can make.
   * `after`: the line that it claims to follow; by default the last chained one of that log.
   */
  forge(handle: string, log: string, draft: HandMade): Composed {
    const seed = this.#seeds.get(handle);
    if (seed === undefined) throw new Error(`${handle} is not in this scene`);
    const { wireId = WIRE_ID, atMs = this.#nowMs, after, ...rest } = draft;
    const head = after === "nothing" ? undefined : (after ?? this.head(log));
    return composeLine(
      { to: ["*"], type: "feedback", subject: "by hand", body: "x", ...rest },
      { timestamp: new Date(atMs).toISOString(), log, wireId, head },
      makeSigner(handle, seed),
    );
  }

  /** The last chained line that stands in a log. */
  head(log: string): ChainHead | undefined {
    const path = makeLayout(this.#options.layout ?? "pairwise", this.roster).logs.get(log)?.path;
    const line = this.lines(path ?? "").findLast((each) => each.includes('"seq":'));
    if (line === undefined) return undefined;
    const { seq, event_id: id } = JSON.parse(line) as { seq: number; event_id: string };
    return { seq, id };
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
    const rows: { at: number; row: string }[] = [];
    const layout = makeLayout(this.#options.layout ?? "pairwise", this.roster);
    for (const { name, path } of layout.logs.values()) {
      const lines = this.lines(path);
      for (const line of lines.slice(this.#shown.get(name) ?? 0)) {
        const parsed = parseMessage(Buffer.from(line, "utf8"));
        const row = parsed.ok ? rowOf(parsed.message) : `?? ${line.slice(0, 60)}`;
        const at = parsed.ok ? parsed.message.timestampMs : 0;
        if (parsed.ok && parsed.message.type === "heartbeat" && options.beats !== true) continue;
        rows.push({ at, row });
      }
      this.#shown.set(name, lines.length);
    }
    rows.sort((a, b) => a.at - b.at);
    return rows.map(({ at, row }) => `${clock(at - BEGIN_MS)} ${row}`).join("\n");
  }

  /** What follows from the wire for one agent, in plain JSON. */
  async outcome(handle: string): Promise<Outcome> {
    return outcomeOf(this.agent(handle));
  }

  /**
   * The promise of spec 2.4 and 3: a replay without checkpoint gives what was seen live, and an
   * audit of the logs alone gives the same threads, decisions, reverts and incidents.
   */
  async expectReplayAndAuditEqualLive(handle: string): Promise<void> {
    const live = await this.outcome(handle);
    const member = this.#member(handle);
    member.agent?.close();
    member.process.kill();
    member.process = this.disk.process();
    const place = loadPlace(member.process, member.places, { wireDir: WIRE, handle });
    member.process.remove(place.paths.checkpoint);
    const agent = openAgent(this.#world(member), { wireDir: WIRE, handle });
    await agent.hold(0);
    member.agent = agent;
    expect(await outcomeOf(agent)).toEqual(live);

    const { config, tiers, layout, store } = place;
    const by = { config, tiers, roster: layout.roster, journal: undefined };
    const report = runAudit(wirePlan(member.process, WIRE, { from: "pinned", store }, by));
    expect(report.violations).toEqual([]);
    const ratified = report.decisions.map(({ proposal_id: id, ratified_by: by }) => ({ id, by }));
    expect(ratified).toEqual(live.ratified);
    expect(incidentsOf(report.incidents)).toEqual(live.incidents);
    expect(report.threads).toBe(live.threadCount);
  }

  #member(handle: string): Member {
    const member = this.#members.get(handle);
    if (member === undefined) throw new Error(`${handle} is not in this scene`);
    return member;
  }

  #world(member: Member): World {
    const random = seeded(member.handle.length);
    return {
      disk: member.process,
      places: member.places,
      clock: {
        wallMs: () => this.#nowMs,
        micros: () => 0,
        monoMs: () => this.#monoMs,
      },
      random,
      verifyAll,
      log: silentLogger,
    };
  }

  #sizes(): string {
    const process = this.disk.process();
    const layout = makeLayout(this.#options.layout ?? "pairwise", this.roster);
    const paths = [...layout.logs.values()].map(({ path }) => join(WIRE, path));
    const shared = [wirePaths(WIRE).decisions, wirePaths(WIRE).incidents];
    return [...paths, ...shared].map((path) => process.stat(path)?.size ?? 0).join(" ");
  }

  #makeWire(): void {
    const process = this.disk.process();
    const { layout = "pairwise", signing, domains = {} } = this.#options;
    process.makeFolder(WIRE, 0o700);
    const config = {
      wire_id: WIRE_ID,
      protocol_version: "v3.1",
      layout,
      roster: this.roster,
      v3_signing: signing ?? { enforce_signed: true, allow_unsigned_from: [] },
      domains,
      limits: { rate_limit_msg_per_min: 600 },
    };
    const write = (path: string, value: object | string, mode = 0o600): void => {
      const text = typeof value === "string" ? value : `${JSON.stringify(value)}\n`;
      process.replace(path, Buffer.from(text, "utf8"), mode);
    };
    write(join(WIRE, "config.json"), config);
    write(join(WIRE, "tiers.json"), TIERS);
    if (layout === "outbox") process.makeFolder(join(WIRE, "outbox"), 0o700);
    process.makeFolder(join(WIRE, "archive"), 0o700);
    const logs = [...makeLayout(layout, this.roster).logs.values()].map(({ path }) => path);
    for (const path of [...logs, "decisions.jsonl", "incident_log.jsonl"]) {
      process.open(join(WIRE, path), "append").close();
    }
    const seeds = new Map(
      this.roster.map((handle, at) => [handle, new Uint8Array(32).fill(at + 1)]),
    );
    for (const [handle, seed] of seeds) {
      const home = `/home/${handle}`;
      const places = placesFrom({ HOME: home }, home, `/tmp/${handle}`);
      makeIdentity(process, identityPaths(places, handle), handle, seed);
      const member = { handle, places, process, agent: undefined };
      this.#members.set(handle, member);
      const place = loadPlace(process, places, { wireDir: WIRE, handle });
      write(place.paths.trust, serialiseTrustStore(this.#storeOf(handle, this.#seeds)));
    }
  }

  #storeOf(handle: string, seeds: ReadonlyMap<string, Uint8Array>): TrustStore {
    const peers = new Map<string, Peer>();
    for (const [peer, seed] of seeds) {
      if (peer === handle) continue;
      const key = publicKeyOf(seed);
      const tier = this.#options.tiers?.[handle]?.[peer] ?? "TRUSTED";
      const since = BEGIN_MS - 86_400_000;
      const addedAt = new Date(since).toISOString();
      peers.set(peer, {
        ...newPeer(peer),
        tier,
        tierSetAtMs: since,
        attestedSinceMs: tier === "VERIFIED" || tier === "UNTRUSTED" ? undefined : since,
        keys: [{ keyId: keyId(peer, key), key, addedAt, active: true }],
      });
    }
    return { version: 1, peers };
  }
}

export interface Outcome {
  readonly proposals: { id: string; status: string; decidedBy: string | null }[];
  readonly ratified: { id: string; by: string }[];
  readonly recorded: string[];
  readonly incidents: unknown[];
  readonly safeMode: SafeModeView | null;
  readonly pending: unknown[];
  readonly threadCount: number;
  readonly unread: number;
}

async function outcomeOf(agent: Agent): Promise<Outcome> {
  const proposals = await agent.view("proposals", undefined);
  const decisions = await agent.view("decisions", {});
  const status = await agent.view("status", undefined);
  const pending = await agent.view("pending", undefined);
  const ids = new Set<string>();
  const threads = [];
  for (const { correlation_id: id } of await agent.view("search", { text: "", limit: 10_000 })) {
    if (ids.has(id)) continue;
    ids.add(id);
    threads.push(...(await agent.view("thread", { id })));
  }
  return {
    proposals: proposals.map(({ proposal_id: id, status: is, decided_by: decidedBy }) => ({
      id,
      status: is,
      decidedBy,
    })),
    ratified: proposals.flatMap(({ proposal_id: id, status: is, decided_by: by }) =>
      is === "ratified" && by !== null ? [{ id, by }] : [],
    ),
    recorded: [...decisions.in_force, ...decisions.superseded].map((entry) => entry.proposal_id),
    incidents: incidentsOf(await agent.view("incidents", undefined)),
    safeMode: status.safe_mode,
    pending: pending.map(({ event_id: id, owed_by: by }) => ({ id, by })),
    threadCount: threads.length,
    unread: status.unread,
  };
}

/** What does not depend on who looks or when: due times are by the looker's own clock. */
function incidentsOf(incidents: readonly IncidentView[]): unknown[] {
  return incidents.map(({ event_id, status, severity, addressees }) => ({
    event_id,
    status,
    severity,
    addressees: addressees.map(({ handle, acked, escalated }) => ({ handle, acked, escalated })),
  }));
}

function rowOf({ from, to, type, subject, body }: Message): string {
  const note = type === "heartbeat" ? beatNote(toPlain(body)) : JSON.stringify(subject);
  return `${from} → ${to?.join(",") ?? "*"} ${type} ${note}`;
}

function beatNote(body: unknown): string {
  const { tier, state } = body as { tier?: string; state?: string };
  return `${tier} ${state}`;
}

/** h:mm:ss since the scene began. */
function clock(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${Math.floor(seconds / 3_600)}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
}
