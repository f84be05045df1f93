import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync } from "node:fs";
import { join } from "node:path";
import { Core, type CorePlace } from "../../src/agent/core.ts";
import { DecisionRecord } from "../../src/agent/duties/decision-record.ts";
import type { Duty, Ground } from "../../src/agent/duties/duty.ts";
import { readMark, writeMark, type Mark } from "../../src/agent/lines/mark.ts";
import { FolderTransport, makeWireLayout } from "../../src/carriers/folder.ts";
import type { OwnLines, Transport } from "../../src/carriers/carrier.ts";
import { sentState } from "../../src/protocol/beats/receipts.ts";
import { nodeDisk } from "../../src/storage/disk/node-disk.ts";
import { Store, type HeldLine } from "../../src/store/store.ts";
import type { Draft } from "../../src/wire/compose.ts";
import { fromPlain } from "../../src/wire/json/json.ts";
import { DEFAULT_HEARTBEAT_TIERS } from "../../src/trust/policy/heartbeat-tiers.ts";
import { DEFAULT_LIMITS } from "../../src/wire/limits.ts";
import { placeJson } from "../../src/wire/places.ts";
import { keyId, makeSigner, publicKeyOf, verifyEach } from "../../src/wire/signature.ts";
import { mortalDisk, type MortalDisk } from "./disk/mortal-disk.ts";

export const WIRE_ID = "0d4be1a97725c83f";
const real = nodeDisk();

/** Makes the transports of an agent. */
export type Transports = (wire: CoreWire, agent: CoreAgent, ours: OwnLines) => readonly Transport[];

/** Makes the duties of an agent. */
export type Duties = (agent: CoreAgent) => (ground: Ground) => readonly Duty[];

/** Changes what an agent is told of the wire; asked each time its process begins. */
export type PlaceOf = (agent: CoreAgent, place: CorePlace) => CorePlace;

/** A wire in a folder, its agents over real files and databases, and the time that passes there. */
export class CoreWire {
  /** Where the wire and the homes of its agents are. */
  readonly root: string;
  readonly dir: string;
  readonly names: readonly string[];
  readonly agents = new Map<string, CoreAgent>();
  readonly transports: Transports;
  readonly duties: Duties;
  readonly placeOf: PlaceOf;
  nowMs = Date.parse("2026-06-01T12:00:00Z");

  constructor(
    root: string,
    names: readonly string[],
    transports: Transports = folderOnly,
    duties: Duties = () => () => [],
    placeOf: PlaceOf = (_agent, place) => place,
  ) {
    this.root = mkdtempSync(join(root, "wire-"));
    this.dir = join(this.root, "files");
    mkdirSync(this.dir);
    this.names = names;
    this.transports = transports;
    this.duties = duties;
    this.placeOf = placeOf;
    for (const name of names) this.agents.set(name, new CoreAgent(this, name));
  }

  agent(name: string): CoreAgent {
    const agent = this.agents.get(name);
    if (agent === undefined) throw new Error(`nobody is ${name}`);
    return agent;
  }

  /** Everybody reads and acts, until nothing new comes. */
  async settle(rounds = 4, stepMs = 1_000): Promise<void> {
    for (let round = 0; round < rounds; round += 1) {
      this.nowMs += stepMs;
      for (const agent of this.agents.values()) while (await agent.core.round());
    }
  }

  beat(): void {
    for (const agent of this.agents.values()) {
      agent.core.heart.beat();
      agent.core.publish();
    }
  }

  close(): void {
    for (const { core } of this.agents.values()) core.close();
  }
}

function folderOnly(wire: CoreWire, agent: CoreAgent, ours: OwnLines): Transport[] {
  return [makeFolder(wire, agent, ours, wire.dir)];
}

export function makeFolder(
  wire: CoreWire,
  { name, disk }: CoreAgent,
  ours: OwnLines,
  wireDir: string,
): FolderTransport {
  const layout = wireLayout(name, wire.names);
  return new FolderTransport({
    ...{ disk, wireDir, mode: 0o600, ours, layout: () => layout },
    world: {
      clock: { wallMs: () => wire.nowMs },
      after: () => () => undefined,
      watch: () => () => undefined,
    },
  });
}

export function wireLayout(handle: string, names: readonly string[]) {
  return makeWireLayout({ handle, handles: names, members: membersOf(names) });
}

function membersOf(names: readonly string[]): ReadonlyMap<string, boolean> {
  return new Map(names.map((each) => [each, true]));
}

const keys = new Map<string, Uint8Array>();
function keyOf(name: string): Uint8Array {
  const key = keys.get(name) ?? publicKeyOf(secretOf(name));
  keys.set(name, key);
  return key;
}

export function secretOf(name: string): Uint8Array {
  return createHash("sha256").update(name).digest();
}

/** One agent, its home, and the process that runs it. */
export class CoreAgent {
  readonly name: string;
  readonly home: string;
  readonly #wire: CoreWire;
  #process: MortalDisk = mortalDisk(real);
  /** Counts databases: a process that dies leaves its own open. */
  #opened = 0;
  core: Core;

  constructor(wire: CoreWire, name: string) {
    this.#wire = wire;
    this.name = name;
    this.home = join(wire.root, name);
    mkdirSync(this.home);
    writeMark(real, this.markPath, { seq: 0, id: null });
    this.core = this.#open();
  }

  get disk(): MortalDisk["disk"] {
    return this.#process.disk;
  }

  get storePath(): string {
    return join(this.home, `store-${this.#opened}.db`);
  }

  get markPath(): string {
    return join(this.home, "mark");
  }

  get inboxPath(): string {
    return join(this.home, "inbox.jsonl");
  }

  get mark(): Mark | undefined {
    return readMark(real, this.markPath);
  }

  /** The process ends, and another one begins. */
  restart(): void {
    this.core.close();
    this.#begin(this.storePath);
  }

  /** The process dies at its so-manieth change of files from now. */
  dieIn(steps: number): void {
    this.#process.dieAt(this.#process.steps + steps);
  }

  /** The disk is full for some changes of files, from one of the next on. */
  fillDiskIn(steps: number, count: number): void {
    this.#process.fillAt(this.#process.steps + steps, count);
  }

  /** Nothing more happens to the process. */
  heal(): void {
    this.#process.dieAt(Infinity);
    this.#process.fillAt(Infinity, 0);
  }

  /** The process dies now, and another one begins with what is on disk. */
  die(): void {
    this.#process.kill();
    const { core } = this;
    this.#begin(this.storePath);
    core.store.close();
  }

  loseStore(): void {
    this.core.close();
    this.#begin(undefined);
  }

  /** Copies the store while no process runs. */
  keepStore(): string {
    this.restart();
    const kept = join(this.home, `kept-${this.#opened}.db`);
    this.core.close();
    copyFileSync(this.storePath, kept);
    this.#begin(this.storePath);
    return kept;
  }

  putBackStore(kept: string): void {
    this.core.close();
    this.#begin(kept);
  }

  say(subject: string, said: Partial<Draft> = {}): HeldLine {
    const to = this.#wire.names.filter((name) => name !== this.name);
    const sent = this.core.send([{ type: "ship", to, subject, body: "", ...said }]);
    if (sent.is !== "sent") throw new Error(`${this.name} may not send: ${JSON.stringify(sent)}`);
    this.core.publish();
    return sent.lines[0] as HeldLine;
  }

  propose(decision: string, required: readonly string[]): HeldLine {
    const body = fromPlain({ required, decision });
    return this.say(decision, { type: "proposal", to: required, ackRequired: true, body });
  }

  answer(ask: HeldLine, approve: boolean): HeldLine {
    return this.say("answer", {
      ...{ type: "ack", to: [ask.author], correlationId: ask.thread },
      body: fromPlain({ acks: placeJson(ask), approve }),
    });
  }

  get mail(): string[] {
    const { store } = this.core;
    return store.mail.after({}, 0, 10_000).map((n) => subjectOf(store.line(n)));
  }

  /** What became of the asks of a thread here. */
  states(thread: string): string[] {
    return this.core.store.asks.ofThread(thread, 10).map(({ state }) => state);
  }

  receipt(line: HeldLine, by: string): string {
    const { store, history } = this.core;
    const place = { author: line.author, seq: line.seq ?? 0, id: line.id };
    const tip = (author: string) => {
      const { seq, id } = store.chains.whole(author);
      return id === null ? undefined : { author, seq, id };
    };
    const facts = { tip, publishedMs: () => 0, lifeMs: () => undefined };
    return sentState(history, facts, { place, thread: line.thread }, by).is;
  }

  /** Each process has a database of its own: a copy of what the one before has left. */
  #begin(from: string | undefined): void {
    this.#opened += 1;
    for (const end of ["", "-wal"])
      if (from !== undefined && existsSync(from + end))
        copyFileSync(from + end, this.storePath + end);
    this.#process = mortalDisk(real);
    this.core = this.#open();
  }

  #open(): Core {
    const wire = this.#wire;
    const clock = {
      wallMs: () => wire.nowMs,
      // No two agents name their threads by one instant.
      micros: () => 300 * wire.names.indexOf(this.name),
      monoMs: () => wire.nowMs,
      nextTurn: () => Promise.resolve(),
    };
    const { disk, name, markPath, inboxPath } = this;
    const place = wire.placeOf(this, { ...corePlace(name, wire.names), markPath, inboxPath });
    const world = { disk, clock, verifyAll, random: () => 0.5 };
    const core = new Core(world, place, Store.open(this.storePath), this.mark);
    core.use(wire.transports(wire, this, core.ours), wire.duties(this)(core));
    return core;
  }
}

/** What an agent of such a wire is told of it. */
export function corePlace(
  name: string,
  names: readonly string[],
): Omit<CorePlace, "markPath" | "inboxPath"> {
  return {
    ...{ self: name, wireId: WIRE_ID, limits: DEFAULT_LIMITS, version: "v3.1" },
    signing: { enforceSigned: true, allowUnsignedFrom: [] },
    signer: makeSigner(name, secretOf(name)),
    pinned: { roster: membersOf(names), epoch: 0 },
    tiers: DEFAULT_HEARTBEAT_TIERS,
    domains: new Map(),
    believed: (author) => ({
      ...{ tier: "ATTESTED", blocked: false, held: undefined },
      ...{ allowUnchained: false, mayBeUnsigned: false },
      keys: [{ keyId: keyId(author, keyOf(author)), key: keyOf(author), active: true }],
    }),
  };
}

export function verifyAll(items: Parameters<typeof verifyEach>[0]): Promise<boolean[]> {
  return Promise.resolve(verifyEach(items));
}

function subjectOf(line: HeldLine | undefined): string {
  const fields = JSON.parse(Buffer.from(line?.bytes ?? "{}").toString()) as { subject: string };
  return fields.subject;
}

/** A wire on which the daemons of `recorders` keep `decisions.jsonl`. */
export function recordingWire(
  root: string,
  names: readonly string[],
  recorders: readonly string[] = names,
): CoreWire {
  return new CoreWire(
    root,
    names,
    undefined,
    ({ name, home }) =>
      (ground) =>
        recorders.includes(name) ? [new DecisionRecord(ground, join(home, "..", "files"))] : [],
  );
}
