import { createHash } from "node:crypto";
import { Intake, type Believed, type Judging } from "../../../src/agent/lines/intake.ts";
import { readBeat } from "../../../src/protocol/beats/beat.ts";
import {
  beatBody,
  composeBeat,
  type BeatStatus,
  type BeatWords,
} from "../../../src/protocol/beats/compose.ts";
import { serveWants } from "../../../src/protocol/beats/serving.ts";
import type { Beats } from "../../../src/store/beats.ts";
import { Database } from "../../../src/store/database.ts";
import { Store, type HeldLine } from "../../../src/store/store.ts";
import { signFields } from "../../../src/wire/compose.ts";
import {
  fromPlain,
  isJsonObject,
  parseObject,
  type JsonValue,
} from "../../../src/wire/json/json.ts";
import { kindOf } from "../../../src/wire/kinds.ts";
import { DEFAULT_LIMITS } from "../../../src/wire/limits.ts";
import type { ChainPlace } from "../../../src/wire/places.ts";
import { makeSigner, publicKeyOf, verifyEach, type Signer } from "../../../src/wire/signature.ts";

export const WIRE_ID = "0d4be1a97725c83f";
const SKEW_MS = 300_000;

/** One line in a carrier; `reaches` says what becomes of it for a reader. */
interface Carried {
  readonly id: string;
  readonly bytes: Uint8Array;
  /** For each reader from which round on it is seen, and how often; Infinity: never. */
  readonly seenFrom: ReadonlyMap<string, readonly number[]>;
}

/** What a carrier does to a line that is appended: in how many rounds a reader sees it, each time it does. */
export type Fate = (owner: string, reader: string, id: string) => readonly number[];

interface Said {
  readonly type?: string;
  readonly to?: readonly string[];
  readonly body?: unknown;
}

function secretOf(name: string): Uint8Array {
  return createHash("sha256").update(name).digest();
}

const keys = new Map<string, Believed["keys"][number]>();
function keyOf(author: string): Believed["keys"][number] {
  const known = keys.get(author);
  if (known !== undefined) return known;
  const { keyId } = makeSigner(author, secretOf(author));
  const key = { keyId, key: publicKeyOf(secretOf(author)), active: true };
  keys.set(author, key);
  return key;
}

/** Agents with real stores that see each other's carriers, badly. */
export class Wire {
  readonly agents: readonly Agent[];
  readonly carriers = new Map<string, Carried[]>();
  readonly fate: Fate;
  nowMs = Date.parse("2026-06-01T12:00:00Z");
  round = 0;

  constructor(names: readonly string[], fate: Fate) {
    this.fate = fate;
    for (const name of names) this.carriers.set(name, []);
    this.agents = names.map((name) => new Agent(this, name, names));
  }

  append(owner: string, id: string, bytes: Uint8Array): void {
    const readers = this.agents.map(({ name }) => name);
    const seenFrom = new Map(
      readers.map((reader) => {
        const rounds = reader === owner ? [1] : this.fate(owner, reader, id);
        return [reader, rounds.map((after) => this.round + after)] as const;
      }),
    );
    this.carriers.get(owner)?.push({ id, bytes, seenFrom });
  }

  /** Every agent reads what it sees, serves what is wanted, and beats. */
  async turn(stepMs: number): Promise<void> {
    this.round += 1;
    this.nowMs += stepMs;
    const there = this.agents.filter(({ isGone }) => !isGone);
    for (const agent of there) await agent.read();
    for (const agent of there) agent.beat();
  }

  agent(name: string): Agent {
    const found = this.agents.find((each) => each.name === name);
    if (found === undefined) throw new Error(`nobody is ${name}`);
    return found;
  }
}

export class Agent {
  readonly name: string;
  store = new Store(Database.open(":memory:"));
  /** What its chained beats said, and the last of its beats. */
  readonly beats: BeatWords[] = [];
  lastBeat: BeatWords | undefined;
  last: ChainPlace | undefined;
  mayChain = true;
  /** Its daemon does not run; what it said is in its carrier. */
  isGone = false;
  readonly #wire: Wire;
  readonly #names: readonly string[];
  readonly #signer: Signer;
  #intake = this.#newIntake();

  constructor(wire: Wire, name: string, names: readonly string[]) {
    this.#wire = wire;
    this.name = name;
    this.#names = names;
    this.#signer = makeSigner(name, secretOf(name));
  }

  get records(): Beats {
    return this.store.beats(this.name);
  }

  /** Its private state is gone; its key and its mark are not. */
  loseStore(): void {
    this.store = new Store(Database.open(":memory:"));
    this.#intake = this.#newIntake();
    this.mayChain = false;
    this.#readTo = 0;
  }

  /** Signs, holds and publishes the next line of its chain. */
  say(said: Said): ChainPlace {
    const { bytes, place } = this.#sign(said, this.last);
    this.last = place;
    this.#takeOwn.push(bytes);
    this.#wire.append(this.name, place.id, bytes);
    return place;
  }

  /** The same, in a carrier that looks different for each reader. */
  sayFor(
    readers: readonly string[],
    said: Said,
    after: ChainPlace | undefined,
    shown: Map<string, readonly string[]>,
  ): ChainPlace {
    const { bytes, place } = this.#sign(said, after);
    shown.set(place.id, readers);
    this.#wire.append(this.name, place.id, bytes);
    return place;
  }

  /** What it saw in this round and before is read. */
  #readTo = 0;
  readonly #takeOwn: Uint8Array[] = [];

  async read(): Promise<void> {
    for (const [owner, carried] of this.#wire.carriers) {
      const seen = carried.flatMap(({ bytes, seenFrom }) =>
        (seenFrom.get(this.name) ?? [])
          .filter((round) => this.#readTo < round && round <= this.#wire.round)
          .map(() => bytes),
      );
      await this.#take(owner, seen);
    }
    this.#readTo = this.#wire.round;
    await this.#take(this.name, this.#takeOwn.splice(0));
  }

  beat(): void {
    const { nowMs } = this.#wire;
    const { records } = this;
    if (!this.mayChain && records.whole(this.name) === (this.last?.seq ?? 0)) this.mayChain = true;
    const words = composeBeat(
      {
        ...{ self: this.name, turn: (this.last?.seq ?? 0) + 1, nowMs, mayChain: this.mayChain },
        ...{ isBusy: false, wasBusy: false, owesIncident: false },
        isReadToEnd: (author, sinceMs) => this.#names.includes(author) && sinceMs < nowMs,
        lackedMark: this.mayChain ? undefined : this.last,
      },
      records,
    );
    this.lastBeat = words;
    this.store.write(() => records.noteSaid(words, nowMs));
    if (words.isChained) {
      this.beats.push(words);
      this.say({ type: "heartbeat", body: beatBody(this.#status, words) });
    } else if (words.wants.length > 0) {
      for (const agent of this.#wire.agents)
        if (agent !== this) agent.serve(this.name, false, beatBody(this.#status, words));
    }
  }

  /** What a beat of another agent wants. */
  serve(reader: string, isChained: boolean, body: JsonValue): void {
    const { nowMs } = this.#wire;
    const { wants } = readBeat(body, nowMs, this.name);
    const { records } = this;
    const isCarried = ({ place }: { readonly place: ChainPlace }): boolean =>
      this.#wire.carriers.get(place.author)?.some(({ id }) => id === place.id) === true;
    this.store.write(() => {
      const served = serveWants(records, reader, { isChained, wants }, { nowMs, isCarried });
      records.noteServed(reader, served, nowMs);
    });
    const due = records.dueCopies(10_000);
    for (const { id, bytes } of due.map((n) => lineOf(this.store, n)))
      this.#wire.append(this.name, id, bytes);
    this.store.write(() => records.noteCopied(due));
  }

  /** Marks mail as read. */
  markRead(limit: number): void {
    const unread = this.store.mail.fresh(0, limit);
    this.store.write((into) => into.markRead(unread));
  }

  #sign(
    { type = "ship", to = ["*"], body = "" }: Said,
    after: ChainPlace | undefined,
  ): { readonly bytes: Uint8Array; readonly place: ChainPlace } {
    const seq = (after?.seq ?? 0) + 1;
    const timestamp = new Date(this.#wire.nowMs + seq).toISOString();
    const fields = fromPlain({
      ...{ timestamp, from: this.name, to, type, kind: kindOf(type), subject: "s", body },
      ...{ correlation_id: timestamp, ack_required: false, wire: WIRE_ID, seq },
      ...(after === undefined ? {} : { prev: after.id }),
    });
    if (!isJsonObject(fields)) throw new Error("no object");
    const { line, id } = signFields(fields, this.#signer);
    return { bytes: line, place: { author: this.name, seq, id } };
  }

  async #take(owner: string, lines: readonly Uint8Array[]): Promise<void> {
    const { nowMs } = this.#wire;
    const checked = await this.#intake.check(lines, this.#judging);
    const source = { owner, isLive: true };
    const taken: number[] = [];
    this.store.write((into) => {
      taken.push(...this.#intake.take(into, checked, source, this.#judging, nowMs).lines);
      taken.push(...this.#intake.settle(into, this.#judging, nowMs).lines);
    });
    for (const n of taken) {
      const { author, type, bytes, seq, sentMs, receivedMs } = lineOf(this.store, n);
      if (type !== "heartbeat" || author === this.name) continue;
      const body = bodyOf(bytes);
      const { cadenceMs, state } = readBeat(body, sentMs, this.name);
      this.store.write(() =>
        this.records.noteBeat(
          author,
          { datedMs: sentMs, receivedMs, cadenceMs, isPaused: state === "paused" },
          { skewMs: SKEW_MS, lackedMs: undefined },
        ),
      );
      this.serve(author, seq !== null, body);
    }
  }

  get #status(): BeatStatus {
    return {
      ...{ wakeups: 1, state: "idle", tier: "T1_active", nextMs: this.#wire.nowMs + 90_000 },
      ...{ unread: 0, lastAction: undefined, agentLastSeenMs: undefined, notWoken: new Map() },
    };
  }

  get #judging(): Judging {
    return {
      ...{
        self: this.name,
        wireId: WIRE_ID,
        limits: { ...DEFAULT_LIMITS, max_message_body_kb: 1 },
      },
      isFirstReading: false,
      mark: { seq: this.last?.seq ?? 0, id: this.last?.id ?? null },
      signing: { enforceSigned: true, allowUnsignedFrom: [] },
      believed: (author) => ({
        ...{ tier: "VERIFIED", blocked: false, held: undefined },
        ...{ allowUnchained: false, mayBeUnsigned: false },
        keys: [keyOf(author)],
      }),
      isMember: (author) => this.#names.includes(author),
    };
  }

  #newIntake(): Intake {
    return new Intake(this.store, (items) => Promise.resolve(verifyEach(items)));
  }
}

function lineOf(store: Store, n: number): HeldLine {
  const line = store.line(n);
  if (line === undefined) throw new Error(`line ${n} is not held`);
  return line;
}

function bodyOf(bytes: Uint8Array): JsonValue {
  const parsed = parseObject(bytes);
  return (parsed.ok ? parsed.value["body"] : undefined) ?? null;
}
