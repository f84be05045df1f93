import type { OwnLines as OwnLinesPort, Transport } from "../carriers/carrier.ts";
import { Allowances } from "./lines/allowances.ts";
import { CarrierReading, type Pass } from "./lines/carrier-reading.ts";
import { Intake, type Judging } from "./lines/intake.ts";
import { readMark, writeMark, type Mark } from "./lines/mark.ts";
import { OwnLines, type Readiness, type Signing } from "./lines/own-lines.ts";
import { closingsOf, type Draft as CloseDraft, type Situation } from "../protocol/asks/closing.ts";
import { Members } from "../protocol/asks/members.ts";
import type { History } from "../protocol/asks/history.ts";
import type { PinnedRoster } from "../protocol/asks/roster.ts";
import { readBeat, type AgentState } from "../protocol/beats/beat.ts";
import { beatBody, composeBeat, type BeatStatus } from "../protocol/beats/compose.ts";
import { escalationDue } from "../protocol/escalations/silence.ts";
import {
  mayBeSentInSafeMode,
  safeModeOf,
  type SafeModeReader,
} from "../protocol/escalations/safe-mode.ts";
import type { SafeMode } from "../protocol/escalations/safe-mode-end.ts";
import { inboxRows, mailId, PlainFile } from "./plain-files.ts";
import { fromPlain } from "../wire/json/json.ts";
import { serveWants } from "../protocol/beats/serving.ts";
import { readLine } from "../protocol/admit/read-line.ts";
import type { Disk } from "../storage/disk/disk.ts";
import { Store, type HeldLine, type StoreWriter } from "../store/store.ts";
import type { AnswerTimes } from "../wire/limits.ts";
import { HOUR_MS, MINUTE_MS } from "../wire/durations.ts";
import type { Draft } from "../wire/compose.ts";
import { isChained, type ChainPlace, type Place } from "../wire/places.ts";
import type { Signer, VerifyAll } from "../wire/signature.ts";
import type { Clock } from "./session/clock.ts";

/** Who the agent is, whom it believes, and what its wire is. It changes when an operator says so. */
export interface CorePlace extends Omit<Judging, "isMember" | "isFirstReading" | "mark"> {
  readonly signer: Signer;
  readonly version: "v3.1" | "v3.0";
  readonly pinned: PinnedRoster;
  readonly answerTimes: AnswerTimes;
  /** Of the tiers of heartbeats: ms between beats. */
  readonly cadences: { readonly T1_active: number; readonly T3_long_idle: number };
  readonly markPath: string;
  /** Where mail is repeated for people and programs that read files. */
  readonly inboxPath: string;
}

export interface CoreWorld {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly verifyAll: VerifyAll;
}

/** What became of a send: all lines are committed, or none is. */
export type Sent =
  | { readonly is: "sent"; readonly lines: readonly HeldLine[] }
  | { readonly is: "not ready"; readonly readiness: Exclude<Readiness, { is: "ready" }> }
  | { readonly is: "unheld"; readonly place: Place }
  | { readonly is: "safe mode"; readonly mode: SafeMode };

/** What the agent says of itself. */
export interface OwnState {
  readonly state: AgentState;
  readonly lastAction: string | undefined;
}

/** Answers to our lines that are looked at for silent addressees of incidents. */
const MOST_INCIDENTS = 256;
/** In one round it decides at most so often. */
const MOST_DECIDED = 16;
/** Copies for others that one round puts into our carriers. */
const MOST_COPIES = 256;

/**
 * One agent on one wire: takes lines in, decides what follows, signs its own and publishes them. Calls do not
 * overlap. What it holds is the store; nothing else has to agree with it. Spec of the next wire, 4.1, 4.7.
 */
export class Core {
  readonly store: Store;
  readonly own: OwnLines;
  readonly history: History;
  readonly #place: CorePlace;
  readonly #world: CoreWorld;
  readonly #members: Members;
  readonly #reading: CarrierReading;
  readonly #transports: readonly Transport[];
  readonly #inbox: PlainFile;
  #mark: Mark | undefined;
  #pass: Pass | undefined;
  #said: OwnState = { state: "idle", lastAction: undefined };
  /** What our last chained beat said. */
  #wasBusy = false;
  #beatDueMs = -Infinity;

  /** @param transports are made from the port through which they read our chain */
  constructor(
    world: CoreWorld,
    place: CorePlace,
    store: Store,
    mark: Mark | undefined,
    transports: (ours: OwnLinesPort) => readonly Transport[],
  ) {
    this.store = store;
    this.#world = world;
    this.#place = place;
    this.#mark = mark;
    this.own = new OwnLines(store, place.self);
    this.history = store.history(place.wireId);
    this.#members = new Members(this.history, place.pinned);
    this.#reading = new CarrierReading(store, new Intake(store, world.verifyAll), new Allowances());
    this.#inbox = new PlainFile(world.disk, place.inboxPath, inboxRows(store), mailId);
    this.#transports = transports({
      handle: place.self,
      chain: () => this.own.chain(),
      beforeAppend: (last) => {
        this.#raiseMark(last.seq);
      },
    });
  }

  /** The members of the roster in force, and whether each chains. */
  get members(): ReadonlyMap<string, boolean> {
    return this.#members.inForce.roster;
  }

  /** Whether and why most types are not sent now. Spec of the next wire, 3.5. */
  get safeMode(): SafeMode | undefined {
    return safeModeOf(this.history, this.store.escalations.open(), this.#safeModeReader);
  }

  /** What the last pass over the carriers has found. */
  get lastPass(): Pass | undefined {
    return this.#pass;
  }

  /** When the next beat is due: monotonic ms. */
  get nextDueMs(): number {
    return this.#beatDueMs;
  }

  get readiness(): Readiness {
    // Nothing is signed before our own carriers were read to their end.
    if (this.#reading.knownMs(this.#place.self) === undefined && !this.#reading.isLive)
      return {
        is: "behind",
        whole: this.store.chains.whole(this.#place.self).seq,
        mark: this.#mark?.seq ?? 0,
      };
    return this.own.readiness(this.#mark);
  }

  /** One round: take in, decide, publish. True: more can be read at once. */
  async round(): Promise<boolean> {
    const { clock } = this.#world;
    this.#pass = await this.#reading.pass(this.#transports, {
      by: this.#judging,
      now: () => ({ wallMs: clock.wallMs(), monoMs: clock.monoMs() }),
      fold: (into, taken) => {
        this.own.noteForeign(into, taken.foreign);
        this.#fold(into, taken.lines);
        this.#close(into, new Set(taken.lines.flatMap((n) => this.store.line(n)?.thread ?? [])));
      },
      nextTurn: () => clock.nextTurn(),
    });
    for (let decided = 0; decided < MOST_DECIDED && this.#decide(); decided += 1);
    this.publish();
    this.#inbox.write();
    return this.#pass.hasMore;
  }

  /** One transaction: signs and holds all of them, or none. They go out with the next `publish`. */
  send(drafts: readonly Draft[]): Sent {
    const { readiness } = this;
    if (readiness.is !== "ready") return { is: "not ready", readiness };
    const unheld = drafts.flatMap((draft) => this.own.unheldPlace(draft) ?? [])[0];
    if (unheld !== undefined) return { is: "unheld", place: unheld };
    const mode = this.safeMode;
    const isHeldBack = ({ type, body }: Draft): boolean => !mayBeSentInSafeMode(type, body);
    if (mode !== undefined && drafts.some(isHeldBack)) return { is: "safe mode", mode };
    const lines = this.store.write((into) => {
      const sent = drafts.map((draft) => this.#say(into, draft));
      this.#close(into, new Set(sent.map(({ thread }) => thread)));
      return sent;
    });
    return { is: "sent", lines };
  }

  /** Nothing more is written. */
  close(): void {
    this.#inbox.close();
    this.store.close();
  }

  publish(): void {
    for (const transport of this.#transports) transport.publish("soon");
  }

  setState(said: OwnState): void {
    this.#said = said;
  }

  /** Marks mail as read: of each author all up to the lines that are named, or everything. */
  markRead(ns: readonly number[] | "all"): number {
    return this.store.write((into) =>
      ns === "all" ? this.store.mail.markAllRead() : into.markRead(ns),
    );
  }

  /** Signs a beat now: chained when it says something new. False: nothing may be signed, and nothing is wanted. */
  beat(): boolean {
    const { clock } = this.#world;
    const nowMs = clock.wallMs();
    const records = this.store.beats(this.#place.self);
    const { seq } = this.store.chains.whole(this.#place.self);
    const mayChain = this.readiness.is === "ready";
    const lackedMark = this.#lackedMark;
    const isBusy = this.#said.state === "busy";
    const words = composeBeat(
      {
        ...{
          self: this.#place.self,
          turn: seq + 1,
          nowMs,
          mayChain,
          isBusy,
          wasBusy: this.#wasBusy,
        },
        ...{ lackedMark, owesIncident: this.#owesIncident() },
        isReadToEnd: (author, sinceMs) => (this.#reading.knownMs(author) ?? -Infinity) > sinceMs,
      },
      records,
    );
    const cadenceMs = this.#place.cadences.T1_active;
    this.#beatDueMs = clock.monoMs() + cadenceMs;
    // A key that may be in use elsewhere signs nothing but what asks for its own lines.
    if (!mayChain && words.wants.length === 0) return false;
    const body = beatBody(this.#status(nowMs + cadenceMs), words);
    this.store.write((into) => {
      records.noteSaid(words, nowMs);
      const draft: Draft = {
        ...{ to: ["*"], type: "heartbeat", subject: "alive", priority: "low", body },
      };
      if (words.isChained) {
        this.#say(into, draft);
        this.#wasBusy = isBusy;
      } else this.own.sayLoose(into, draft, this.#signing());
    });
    return true;
  }

  get #judging(): Judging {
    const isMember = (author: string): boolean => this.members.has(author);
    const isFirstReading = !this.#reading.isLive;
    return { ...this.#place, isMember, isFirstReading, mark: this.#mark };
  }

  get #lackedMark(): ChainPlace | undefined {
    const { self } = this.#place;
    const mark = this.#mark;
    if (mark?.id === undefined || mark.id === null) return undefined;
    const place = { author: self, seq: mark.seq, id: mark.id };
    return this.store.chains.stateOf(place) === "linked" ? undefined : place;
  }

  #signing(): Signing {
    const { signer, wireId, version } = this.#place;
    const { clock } = this.#world;
    return { signer, wireId, version, nowMs: Math.floor(clock.wallMs()), micros: clock.micros() };
  }

  #say(into: StoreWriter, draft: Draft): HeldLine {
    const line = this.own.append(into, draft, this.#signing());
    this.#fold(into, [line.n]);
    return line;
  }

  /** What follows from lines that were just taken in, in tables of the store. */
  #fold(into: StoreWriter, ns: readonly number[]): void {
    for (const n of ns) {
      // Of beats in no chain only the latest of an author is held.
      const line = this.store.line(n);
      if (line?.type === "heartbeat") this.#foldBeat(line);
      else if (line !== undefined) this.#foldWord(line);
    }
    into.judgeAsks(this.#place.wireId, ns.length + MOST_DECIDED);
  }

  #foldWord(line: HeldLine): void {
    const { self, answerTimes } = this.#place;
    this.store.owed.take(this.history, line, {
      self,
      members: this.members.keys(),
      ...(line.isOurs ? { readers: [self] } : {}),
      proposalHours: answerTimes.proposalHours,
      cadenceMsOf: (handle) => this.#cadenceMs(handle),
    });
    if (isChained(line) && line.branch !== null)
      this.store.escalations.take(
        this.history,
        line,
        this.#safeModeReader,
        (handle) => this.#place.believed(handle).tier,
      );
    if (line.verdict === "mail" || line.verdict === "passed" || line.type === "release")
      this.store.claims.take(this.history, line);
  }

  /** A beat of another agent: that it lives, and what it wants of us. */
  #foldBeat(line: HeldLine): void {
    const { self, limits } = this.#place;
    if (line.author === self) return;
    const read = readLine(line.bytes, this.#place.wireId);
    if (!read.ok) return;
    const { cadenceMs, state, wants } = readBeat(read.line.body, line.sentMs, self);
    const records = this.store.beats(self);
    const times = { datedMs: line.sentMs, receivedMs: line.receivedMs, isLive: line.isLive };
    const skewMs = limits.maxClockSkewSeconds * 1_000;
    records.noteBeat(
      line.author,
      { ...times, cadenceMs, isPaused: state === "paused" },
      { skewMs, lackedMs: undefined },
    );
    if (wants.length === 0 || !line.isLive) return;
    const nowMs = this.#world.clock.wallMs();
    const served = serveWants(
      records,
      line.author,
      { isChained: line.seq !== null, wants },
      { nowMs, isCarried: () => false },
    );
    records.noteServed(line.author, served, nowMs);
  }

  /** Closes what is ours to close in these threads, or in all; true when something was signed. */
  #close(into: StoreWriter, threads: ReadonlySet<string> | "all"): boolean {
    if (this.readiness.is !== "ready") return false;
    const now = this.#situation();
    const { self } = this.#place;
    const open =
      threads === "all"
        ? this.store.openAsks(self)
        : [...threads].flatMap((thread) => this.store.openAsks(self, thread));
    let hasClosed = false;
    for (const each of open) {
      const others = this.store.openAsks(self, each.ask.thread);
      if (!others.some((other) => isSameAsk(other, each))) continue;
      const closings = closingsOf(this.history, now, each, others);
      for (const closing of closings) this.#say(into, closeDraft(closing));
      hasClosed ||= closings.length > 0;
    }
    return hasClosed;
  }

  /** What time alone makes due; true when something was signed. */
  #decide(): boolean {
    const { clock } = this.#world;
    const hasClosed = this.store.write((into) => {
      this.store.claims.expire(clock.wallMs());
      this.store.escalations.settle(this.history, this.#safeModeReader);
      return this.#escalate(into) || this.#close(into, "all");
    });
    this.#copyWanted();
    if (clock.monoMs() >= this.#beatDueMs) return this.beat() && hasClosed;
    return hasClosed;
  }

  /** Names addressees of our incidents that have read them and say nothing; true when something was signed. */
  #escalate(into: StoreWriter): boolean {
    if (this.readiness.is !== "ready") return false;
    const { self } = this.#place;
    const owed = this.store.owed.owedTo(self, 0, MOST_INCIDENTS);
    let hasSigned = false;
    for (const { kind, place: incident, by: of } of owed) {
      if (kind !== "incident" || !isChained(incident)) continue;
      const { seq, id, fork } = this.store.chains.whole(of);
      const isRead = this.#reading.knownMs(of) !== undefined && fork === null;
      if (id === null || !isRead) continue;
      const whole = { author: of, seq, id };
      const addressee = { incident, of, whole, cadenceMs: this.#cadenceMs(of) };
      const body = escalationDue(this.history, addressee, this.#safeModeReader);
      const thread = this.store.lineAt(incident)?.thread;
      if (body === undefined || thread === undefined) continue;
      const about = { type: "incident", to: [of], subject: "no answer", correlationId: thread };
      this.#say(into, { ...about, priority: "high", body: fromPlain(body) });
      hasSigned = true;
    }
    return hasSigned;
  }

  get #safeModeReader(): SafeModeReader {
    const { self, cadences } = this.#place;
    return { self, members: new Set(this.members.keys()), cadences };
  }

  /** Puts lines that others lack into our carriers. */
  #copyWanted(): void {
    const records = this.store.beats(this.#place.self);
    const due = records.dueCopies(MOST_COPIES);
    if (due.length === 0) return;
    this.store.write(() => {
      for (const n of due) this.store.extras.add(this.#line(n).bytes, this.#world.clock.wallMs());
      records.noteCopied(due);
    });
  }

  #situation(): Situation {
    const { self, answerTimes } = this.#place;
    return {
      us: self,
      nowMs: this.#world.clock.wallMs(),
      answerMs: answerTimes.answerMinutes * MINUTE_MS,
      proposalMs: answerTimes.proposalHours * HOUR_MS,
      whole: (author) => {
        const { seq, id } = this.store.chains.whole(author);
        return id === null ? undefined : { author, seq, id };
      },
      isForked: (author) => this.store.chains.whole(author).fork !== null,
      isMember: (author) => this.members.has(author),
      cadenceMs: (author) => this.#cadenceMs(author),
      isReadToEnd: (author) => this.#reading.knownMs(author) !== undefined,
    };
  }

  #cadenceMs(handle: string): number {
    const { cadences, self } = this.#place;
    const life = this.store.beats(self).life(handle);
    return life?.cadenceMs ?? cadences.T1_active;
  }

  #owesIncident(): boolean {
    const { self } = this.#place;
    const isIncident = ({ kind }: { readonly kind: string }): boolean => kind === "incident";
    const some = 64;
    return (
      this.store.owed.owedBy(self, 0, some).some(isIncident) ||
      this.store.owed.owedTo(self, 0, some).some(isIncident)
    );
  }

  #status(nextMs: number): BeatStatus {
    const unread = this.store.mail.count({ unread: true });
    const { state, lastAction } = this.#said;
    return {
      ...{ wakeups: 1, state, tier: "T1_active", nextMs, unread, lastAction },
      ...{ agentLastSeenMs: undefined, notWoken: new Map() },
    };
  }

  /** Before a line is published the mark beside our key says that it is ours. */
  #raiseMark(seq: number): void {
    if (this.#mark !== undefined && this.#mark.seq >= seq) return;
    const [n] = this.store.chains.followed(this.#place.self, seq - 1, 1);
    if (n === undefined) throw new Error("a line of ours is published that is not held");
    const mark = { seq, id: this.#line(n).id };
    writeMark(this.#world.disk, this.#place.markPath, mark);
    this.#mark = mark;
  }

  #line(n: number): HeldLine {
    const line = this.store.line(n);
    if (line === undefined) throw new Error(`line ${n} is not held`);
    return line;
  }
}

/** Over the database at `storePath`, which is made when it is missing. @throws StorageError */
export function openCore(
  world: CoreWorld,
  place: CorePlace,
  storePath: string,
  transports: (ours: OwnLinesPort) => readonly Transport[],
): Core {
  const mark = readMark(world.disk, place.markPath);
  return new Core(world, place, Store.open(storePath), mark, transports);
}

function isSameAsk(
  one: { readonly ask: { readonly place: Place }; readonly of: string | undefined },
  other: { readonly ask: { readonly place: Place }; readonly of: string | undefined },
): boolean {
  return one.ask.place.id === other.ask.place.id && one.of === other.of;
}

function closeDraft({ type, to, thread, body }: CloseDraft): Draft {
  return { type, to, correlationId: thread, subject: "closed", body };
}
