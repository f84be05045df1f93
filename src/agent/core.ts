import type { Duty } from "./duties/duty.ts";
import { DeaddropError } from "../api/errors.ts";
import { NOT_WHILE_PARKED } from "../protocol/asks/requests.ts";
import { advertisedCadenceMs, presence } from "../protocol/beats/life.ts";
import type { OwnLines as OwnLinesPort, Transport, Urgency } from "../carriers/carrier.ts";
import type { Membership } from "../carriers/folder.ts";
import { Heart } from "./heart.ts";
import { CarrierReading, type Pass, type ReadingNow } from "./lines/carrier-reading.ts";
import type { Judging, Taken } from "./lines/intake.ts";
import { writeMark, type Mark } from "./lines/mark.ts";
import { OwnLines, type Readiness, type Signing } from "./lines/own-lines.ts";
import { closingsOf, type Draft as CloseDraft, type Situation } from "../protocol/asks/closing.ts";
import { Members } from "../protocol/asks/members.ts";
import type { History } from "../protocol/asks/history.ts";
import type { PinnedRoster, RosterInForce } from "../protocol/asks/roster.ts";
import { readBeat } from "../protocol/beats/beat.ts";
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
import { StorageError } from "../storage/disk/disk.ts";
import type { SendKey } from "../store/sends.ts";
import type { HeldLine, Store, StoreWriter } from "../store/store.ts";
import { INCIDENTS_TOLD, type OperatorIncident } from "../store/told.ts";
import { HOUR_MS, MINUTE_MS } from "../wire/durations.ts";
import type { Draft } from "../wire/compose.ts";
import {
  isChained,
  isSamePlace,
  namingBy,
  placesNamed,
  type ChainPlace,
  type Naming,
  type Place,
} from "../wire/places.ts";
import type { Signer } from "../wire/signature.ts";
import type { Domain } from "../trust/policy/config.ts";
import type { HeartbeatTiers } from "../trust/policy/heartbeat-tiers.ts";
import { isState } from "../trust/tiers.ts";
import { readParked, wake, withParking } from "./parked.ts";
import type { World } from "./session/world.ts";

/** Who the agent is, whom it believes, and what its wire is. It changes when an operator says so. */
export interface CorePlace extends Omit<Judging, "isMember" | "isFirstReading" | "mark"> {
  readonly signer: Signer;
  readonly version: "v3.1" | "v3.0";
  readonly pinned: PinnedRoster;
  readonly tiers: HeartbeatTiers;
  /** Domains of the pinned configuration, by name. */
  readonly domains: ReadonlyMap<string, Domain>;
  readonly markPath: string;
  /** Where mail is repeated for people and programs that read files. */
  readonly inboxPath: string;
  /** Omits `last_action` from heartbeats. Spec 8.6. */
  readonly hidesLastAction?: boolean;
}

export interface CoreWorld extends Pick<World, "disk" | "clock" | "verifyAll" | "random"> {
  /** False: nobody keeps it running, so it sends no beats. */
  readonly beats?: boolean;
  /** Operator incidents are logged here too. */
  readonly log?: Pick<World["log"], "warn">;
}

/** What became of a send: all lines are committed, or none is. */
export type Sent =
  | { readonly is: "sent"; readonly lines: readonly HeldLine[] }
  | { readonly is: "not ready"; readonly readiness: Exclude<Readiness, { is: "ready" }> }
  | { readonly is: "unheld"; readonly place: Place }
  | { readonly is: "safe mode"; readonly mode: SafeMode }
  /** A request, a proposal or a claim of an agent that is parked. Spec 3.8. */
  | { readonly is: "parked" }
  /** A draft has `parks`, which its daemon alone writes. */
  | { readonly is: "reserved" };

/** A mark above whatever our key has signed: all of it is taken in, and nothing is signed. */
export const EVERYTHING: Mark = { seq: Number.MAX_SAFE_INTEGER, id: null };
/** Answers to our lines that are looked at for silent addressees of incidents. */
const MOST_INCIDENTS = 256;
/** What an answer does with the line that it answers. */
const ANSWERING: ReadonlySet<Naming> = new Set(["answers", "about", "counters"]);
/** In one round it decides at most so often. */
const MOST_DECIDED = 16;
/** Lines with one id that are marked as read. */
const MOST_OF_ONE_ID = 8;
/** Copies for others that one round puts into our carriers. */
const MOST_COPIES = 256;

/**
 * One agent on one wire: takes lines in, decides what follows, signs its own and publishes them. Calls do not
 * overlap. What it holds is the store; nothing else has to agree with it. Spec 4.1, 4.7.
 */
export class Core {
  readonly store: Store;
  readonly #own: OwnLines;
  readonly history: History;
  /** The agent puts another one there when its operator has changed it. */
  place: CorePlace;
  readonly world: CoreWorld;
  #members: Members;
  readonly #reading: CarrierReading;
  #transports: readonly Transport[] = [];
  readonly #inbox: PlainFile;
  #duties: readonly Duty[] = [];
  #mark: Mark | undefined;
  #pass: Pass | undefined;
  #troubles: readonly StorageError[] = [];
  /** Our beats, and what the agent says of itself. */
  readonly heart: Heart;
  /** Our chain, as transports publish it. */
  readonly ours: OwnLinesPort;
  /** How often lines of ours were taken in from carriers. */
  #adopted = 0;
  /** Owners of carriers that cannot be read, as far as that was logged. */
  readonly #unreadable = new Set<string>();
  /** How soon others need what is not published yet. */
  #urgency: Urgency = "soon";
  /** A deadline has passed since the carriers that it concerns were fetched. */
  #needsFetch = false;

  constructor(world: CoreWorld, place: CorePlace, store: Store, mark: Mark | undefined) {
    this.store = store;
    this.world = world;
    this.place = place;
    this.#mark = mark;
    this.#own = new OwnLines(store, place.self);
    this.history = store.history(place.wireId);
    this.#members = new Members(this.history, place.pinned);
    this.#reading = new CarrierReading(store, world.verifyAll);
    this.#inbox = new PlainFile(world.disk, place.inboxPath, inboxRows(store), mailId);
    this.heart = new Heart(this);
    this.ours = {
      handle: place.self,
      chain: () => ({ ...this.#own.chain(), adopted: this.#adopted }),
      beforeAppend: (last) => {
        this.#raiseMark(last.seq);
      },
    };
  }

  /** Before the first round: the places of the wire, and what the agent keeps true besides its chain. */
  use(transports: readonly Transport[], duties: readonly Duty[] = []): void {
    this.#transports = transports;
    this.#duties = duties;
  }

  /** The members of the roster in force, and whether each chains. */
  get members(): ReadonlyMap<string, boolean> {
    return this.roster.roster;
  }

  /** The roster in force, and how it came about. */
  get roster(): RosterInForce {
    const { pinned } = this.place;
    if (this.#members.pinned !== pinned) this.#members = new Members(this.history, pinned);
    return this.#members.inForce;
  }

  /** The first reading of the wire has ended: what is taken in now was not there before. */
  get isLive(): boolean {
    return this.#reading.isLive;
  }

  /** Whose files the wire has. */
  get membership(): Membership {
    const { roster: members, handles } = this.roster;
    return { handle: this.place.self, handles, members };
  }

  /** Whether and why most types are not sent now. Spec 3.5. */
  get safeMode(): SafeMode | undefined {
    return safeModeOf(this.history, this.store.escalations.open(), this.#safeModeReader);
  }

  /** The places of the wire. */
  get transports(): readonly Transport[] {
    return this.#transports;
  }

  /** What the last pass over the carriers has found. */
  get lastPass(): Pass | undefined {
    return this.#pass;
  }

  /** When the next beat or duty is due: monotonic ms. */
  get nextDueMs(): number {
    return Math.min(
      this.heart.dueMs,
      ...this.#duties.map((duty) => duty.nextDueMs?.() ?? Infinity),
    );
  }

  /** How often our agent beats now, ms: a carrier that is fetched is fetched as often. Spec 5.2. */
  get ownCadenceMs(): number {
    return this.heart.cadenceMs;
  }

  /**
   * Within a transaction: our chain ends with what is whole of it, as the mark says from now on; what else our key
   * has signed is given up. @throws StorageError
   */
  endChainHere(into: StoreWriter): void {
    const { seq, id } = this.store.chains.whole(this.place.self);
    const mark = { seq, id };
    this.#own.forgetForeign(into);
    writeMark(this.world.disk, this.place.markPath, mark);
    this.#mark = mark;
  }

  get readiness(): Readiness {
    // Nothing is signed before our own carriers were read to their end.
    if (this.#reading.knownMs(this.place.self) === undefined && !this.#reading.isLive)
      return {
        is: "behind",
        whole: this.store.chains.whole(this.place.self).seq,
        mark: this.#mark?.seq ?? 0,
      };
    return this.#own.readiness(this.#mark);
  }

  /** One round: take in, decide, publish. True: more can be read at once. */
  async round(): Promise<boolean> {
    const { clock } = this.world;
    const wallMs = Math.floor(clock.wallMs());
    if (this.store.setBack(wallMs)) this.heart.setBack(wallMs);
    this.#pass = await this.#reading.pass(this.#transports, this.#readingNow);
    this.#logUnreadable(this.#pass);
    this.heart.look();
    this.#needsFetch = false;
    for (let decided = 0; decided < MOST_DECIDED && this.#decide(); decided += 1);
    if (this.#needsFetch) for (const transport of this.#transports) transport.refresh();
    this.publish();
    this.notePublished();
    this.writeFiles();
    return this.#pass.hasMore;
  }

  /** A carrier that cannot be read is logged once; `status` tells it as long as it lasts. */
  #logUnreadable({ stops, hasMore }: Pass): void {
    // A pass that was cut short has not looked at every carrier.
    if (!hasMore)
      for (const peer of this.#unreadable) if (!stops.has(peer)) this.#unreadable.delete(peer);
    for (const [peer, { code, detail }] of stops) {
      if (code !== "log_unreadable") continue;
      if (this.#unreadable.has(peer)) continue;
      this.#unreadable.add(peer);
      this.world.log?.warn({ peer }, `${peer} cannot be read: ${detail}`);
    }
  }

  get #readingNow(): ReadingNow {
    const { clock } = this.world;
    return {
      by: this.#judging,
      handles: this.roster.handles,
      now: () => ({ wallMs: clock.wallMs(), monoMs: clock.monoMs() }),
      fold: (into, taken) => {
        this.#own.noteForeign(into, taken.foreign);
        this.#fold(into, taken.lines);
        this.#foldLater(into, taken);
        const lines = taken.lines.flatMap((n) => this.store.line(n) ?? []);
        if (lines.some(({ author }) => author === this.place.self)) this.#adopted += 1;
        this.#close(into, new Set(lines.map(({ thread }) => thread)));
      },
      nextTurn: () => clock.nextTurn(),
    };
  }

  /**
   * The operator confirms that every line signed with our key is ours: ingests these lines and rereads our own
   * carriers, ignoring the mark. Nothing is signed meanwhile. Calls do not overlap with rounds.
   *
   * @throws DeaddropError when a carrier cannot be read completely
   */
  async readOwnAgain(lines: readonly Uint8Array[]): Promise<void> {
    const { self } = this.place;
    const before = this.#mark;
    this.#mark = EVERYTHING;
    try {
      await this.#reading.takeLines(self, lines, this.#readingNow);
      this.#reading.dropCursors(this.#transports, self);
      do this.#pass = await this.#reading.pass(this.#transports, this.#readingNow);
      while (this.#pass.hasMore);
    } finally {
      this.#mark = before;
    }
    if (this.#reading.knownMs(self) !== undefined) return;
    const problem = this.#pass.stops.get(self)?.detail ?? "the wire cannot be read";
    throw new DeaddropError(
      "refused",
      `your own carrier files could not be read completely: ${problem}`,
      {
        hint: "run deaddrop doctor; if a file cannot be repaired, move it out of the wire folder and run reclaim again",
      },
    );
  }

  /** Our last line, as it stands beside our key. */
  get mark(): Mark | undefined {
    return this.#mark;
  }

  /** Files that repeat what the store has. What the disk does not take stops no other file. */
  writeFiles(): void {
    this.#troubles = [this.#inbox, ...this.#duties].flatMap((duty) => {
      try {
        duty.write?.();
        return [];
      } catch (error) {
        if (error instanceof StorageError) return [error];
        throw error;
      }
    });
  }

  /** What the disk did not take in the last round. */
  get troubles(): readonly StorageError[] {
    return this.#troubles;
  }

  /**
   * One transaction: signs and holds all of them, or none, and binds them to a key that is free. An answer marks
   * all mail of that author up to the line that it names as read (spec 4.9). They go out with
   * the next `publish`.
   */
  send(drafts: readonly Draft[], key?: SendKey): Sent {
    const { readiness } = this;
    if (readiness.is !== "ready") return { is: "not ready", readiness };
    const unheld = drafts.flatMap((draft) => this.#own.unheldPlace(draft) ?? [])[0];
    if (unheld !== undefined) return { is: "unheld", place: unheld };
    const mode = this.safeMode;
    const isHeldBack = ({ type, body }: Draft): boolean => !mayBeSentInSafeMode(type, body);
    if (mode !== undefined && drafts.some(isHeldBack)) return { is: "safe mode", mode };
    const signed: Draft[] = [];
    let isParked = readParked(this.store) !== undefined;
    for (const each of drafts) {
      const draft = withParking(this, each);
      if (draft === "reserved") return { is: "reserved" };
      if (isParked && NOT_WHILE_PARKED.includes(draft.type)) return { is: "parked" };
      signed.push(draft);
      isParked ||= draft !== each;
    }
    const lines = this.store.write((into) => {
      const sent = signed.map((draft) => this.say(into, draft));
      for (const draft of signed) into.markRead(this.#readBy(draft));
      if (signed.some(({ type }) => !isState(type))) this.heart.noteAct(into);
      const ns = sent.map(({ n }) => n);
      if (key !== undefined) this.store.sends.bind(key, ns, this.world.clock.wallMs());
      this.#close(into, new Set(sent.map(({ thread }) => thread)));
      return sent;
    });
    return { is: "sent", lines };
  }

  /** Nothing more is written. */
  close(): void {
    try {
      this.#inbox.close();
      for (const duty of this.#duties) duty.close?.();
    } finally {
      this.store.close();
    }
  }

  publish(): void {
    const urgency = this.#urgency;
    this.#urgency = "cadence";
    for (const transport of this.#transports) transport.publish(urgency);
  }

  /** Records when each transport has published our lines: one transaction per round, because it costs an fsync. */
  notePublished(): void {
    const { sends } = this.store;
    const risen = this.#transports.filter(
      (each) => each.publishedThrough > sends.publishedThrough(placeName(each)),
    );
    if (risen.length === 0) return;
    this.store.write(() => {
      for (const each of risen)
        sends.notePublished(placeName(each), each.publishedThrough, this.world.clock.wallMs());
    });
  }

  #hurry(urgency: Urgency): void {
    if (this.#urgency !== "soon" && urgency !== "cadence") this.#urgency = urgency;
  }

  /** Since when each place of the wire has a line of our chain in a carrier of ours: wall ms. Undefined: not yet. */
  publishedMs({ seq }: ChainPlace): number | undefined {
    const since = this.#transports.map((each) => {
      const isThere = each.publishedThrough >= seq;
      const notedMs = this.store.sends.publishedMs(placeName(each), seq);
      return notedMs ?? (isThere ? this.world.clock.wallMs() : undefined);
    });
    const isEverywhere = since.length > 0 && since.every((ms) => ms !== undefined);
    return isEverywhere ? Math.max(...since) : undefined;
  }

  /** Unread mail of the authors whose lines a draft answers, up to these lines. */
  #readBy({ type, body }: Draft): number[] {
    return placesNamed(body).flatMap(({ place, naming }) => {
      const line = ANSWERING.has(namingBy(type, naming)) ? this.store.lineAt(place) : undefined;
      return line === undefined ? [] : this.store.mail.unreadUpTo(line.author, line);
    });
  }

  /** A parked agent goes on; false when it is not parked. Spec 3.8. */
  wake(): boolean {
    const isWoken = wake(this.store);
    if (isWoken) this.heart.beatBy(this.world.clock.monoMs());
    return isWoken;
  }

  /**
   * An act of the agent itself: marks what these ids name as read, mail by event ids and notices by theirs, or all
   * mail and notices; `INCIDENTS_TOLD` is our operator's. Returns how many were unread. Spec 3.12, 4.9.
   */
  markRead(ids: readonly string[] | "all"): number {
    const { store } = this;
    if (ids !== "all" && ids.includes(INCIDENTS_TOLD))
      return store.write(() => store.told.markRead());
    return store.write((into) => {
      this.heart.noteAct(into);
      if (ids === "all") return store.mail.markAllRead() + store.notices.markRead("all");
      const events = ids.filter((id) => /^[0-9a-f]{64}$/u.test(id));
      const ns = events.flatMap((id) => store.mail.after({ id, unread: true }, 0, MOST_OF_ONE_ID));
      return into.markRead(ns) + store.notices.markRead(ids.filter((id) => id.startsWith("n-")));
    });
  }

  /** The daemon stops: the last beat of a member says `paused`. Spec 4.9. */
  farewell(): void {
    if (this.members.has(this.place.self)) this.heart.beat(true);
    this.publish();
  }

  get #judging(): Judging {
    const isMember = (author: string, line?: Place): boolean => {
      if (this.members.has(author)) return true;
      const leave = this.roster.leaves.find((each) => each.author === author);
      if (leave === undefined || line === undefined || !isChained(line)) return false;
      return isSamePlace(leave, line) || this.history.descends(leave, line);
    };
    const isFirstReading = !this.#reading.isLive;
    return { ...this.place, isMember, isFirstReading, mark: this.#mark };
  }

  /** Our last line by the mark, while the store lacks it. */
  get lackedMark(): ChainPlace | undefined {
    const { self } = this.place;
    const mark = this.#mark;
    if (mark?.id === undefined || mark.id === null) return undefined;
    const place = { author: self, seq: mark.seq, id: mark.id };
    return this.store.chains.stateOf(place) === "linked" ? undefined : place;
  }

  #signing(): Signing {
    const { signer, wireId, version } = this.place;
    const { clock } = this.world;
    return { signer, wireId, version, nowMs: Math.floor(clock.wallMs()), micros: clock.micros() };
  }

  /** Within a transaction: signs a line and holds it. `readiness` is "ready" and nothing it names is unheld. */
  say(into: StoreWriter, draft: Draft): HeldLine {
    const line = this.#own.append(into, draft, this.#signing());
    this.#hurry(line.type === "heartbeat" ? "receipt" : "soon");
    this.#fold(into, [line.n]);
    return line;
  }

  /** Within a transaction: signs a beat that is in no chain. */
  sayLoose(into: StoreWriter, draft: Draft): void {
    this.#own.sayLoose(into, draft, this.#signing());
  }

  /** What follows from lines that were just taken in, in tables of the store. */
  #fold(into: StoreWriter, ns: readonly number[]): void {
    for (const n of ns) {
      // Of beats in no chain only the latest of an author is held.
      const line = this.store.line(n);
      if (line === undefined) continue;
      if (line.type === "heartbeat") this.#foldBeat(line);
      else this.#foldWord(line);
      this.#notifyDuties(into, line);
    }
    this.store.asks.judge(this.place.wireId, ns.length + MOST_DECIDED);
  }

  /** What follows from lines that were taken in before they were linked, or before they were judged. */
  #foldLater(into: StoreWriter, { linked, judged }: Pick<Taken, "linked" | "judged">): void {
    const isLinked = new Set(linked);
    for (const n of new Set([...linked, ...judged].toSorted((one, other) => one - other))) {
      const line = this.store.line(n);
      if (line === undefined) continue;
      if (isLinked.has(n)) this.#foldWord(line);
      else this.#foldClaim(line);
      this.#notifyDuties(into, line);
    }
  }

  #notifyDuties(into: StoreWriter, line: HeldLine): void {
    this.heart.take(line);
    for (const duty of this.#duties) duty.take?.(into, line);
  }

  #foldWord(line: HeldLine): void {
    const { self, limits } = this.place;
    this.store.owed.take(this.history, line, {
      self,
      members: this.members.keys(),
      ...(line.isOurs ? { readers: [self] } : {}),
      proposalHours: limits.proposal_hours,
      cadenceMsOf: (handle) => this.cadenceMs(handle),
    });
    if (isChained(line) && line.branch !== null)
      this.store.escalations.take(
        this.history,
        line,
        this.#safeModeReader,
        (handle) => this.place.believed(handle).tier,
      );
    this.#foldClaim(line);
  }

  #foldClaim(line: HeldLine): void {
    if (line.verdict === "mail" || line.verdict === "passed" || line.type === "release")
      this.store.claims.take(this.history, line);
  }

  /** A beat of another agent: that it lives, and what it wants of us. */
  #foldBeat(line: HeldLine): void {
    const { self, limits } = this.place;
    if (line.author === self) return;
    const read = readLine(line.bytes, this.place.wireId);
    if (!read.ok) return;
    const { cadenceMs, state, wants } = readBeat(read.line.body, line.sentMs, self);
    const records = this.store.beats(self);
    records.noteLatest(line.n);
    const times = { datedMs: line.sentMs, receivedMs: line.receivedMs };
    const skewMs = limits.max_clock_skew_seconds * 1_000;
    records.noteBeat(
      line.author,
      { ...times, cadenceMs, isPaused: state === "paused" },
      { skewMs, lackedMs: this.#reading.lackedMs(line.author) },
    );
    if (wants.length === 0 || !line.isLive) return;
    const nowMs = this.world.clock.wallMs();
    const served = serveWants(
      records,
      line.author,
      { isChained: line.seq !== null, wants },
      { nowMs, isCarried: ({ place }) => this.store.chains.carried(place.author) >= place.seq },
    );
    records.noteServed(line.author, served, nowMs);
  }

  /** Closes what is ours to close in these threads, or in all; true when something was signed. */
  #close(into: StoreWriter, threads: ReadonlySet<string> | "all"): boolean {
    if (this.readiness.is !== "ready") return false;
    const now = this.situation;
    const { self } = this.place;
    const open =
      threads === "all"
        ? this.store.asks.open(self)
        : [...threads].flatMap((thread) => this.store.asks.open(self, thread));
    let hasClosed = false;
    for (const each of open) {
      const others = this.store.asks.open(self, each.ask.thread);
      if (!others.some((other) => isSameAsk(other, each))) continue;
      const closings = closingsOf(this.history, now, each, others);
      for (const closing of closings) this.say(into, closeDraft(closing));
      hasClosed ||= closings.length > 0;
    }
    return hasClosed;
  }

  /** What time alone makes due; true when something was signed. */
  #decide(): boolean {
    const { clock } = this.world;
    const hasClosed = this.store.write((into) => {
      this.store.claims.expire(clock.wallMs());
      this.store.escalations.settle(this.history, this.#safeModeReader);
      return (
        this.#escalate(into) ||
        this.#close(into, "all") ||
        this.#duties.some((duty) => duty.decide?.(into) === true)
      );
    });
    this.#copyWanted();
    // The first beat reports the lines of the initial scan, so it waits until these are judged.
    const isReading = this.#pass?.isFirstReading === true && this.#pass.hasMore;
    const isBeating = this.world.beats !== false && !isReading;
    if (isBeating && clock.monoMs() >= this.heart.dueMs) return this.heart.beat() && hasClosed;
    return hasClosed;
  }

  /** Names addressees of our incidents that have read them and say nothing; true when something was signed. */
  #escalate(into: StoreWriter): boolean {
    if (this.readiness.is !== "ready") return false;
    const { self } = this.place;
    const owed = this.store.owed.incidents(self, "raised", MOST_INCIDENTS);
    let hasSigned = false;
    for (const { place: incident, by: of } of owed) {
      if (!isChained(incident)) continue;
      const whole = this.store.chains.tip(of);
      const isForked = this.store.chains.whole(of).fork !== null;
      if (whole === undefined || isForked || this.#reading.knownMs(of) === undefined) continue;
      const addressee = { incident, of, whole, cadenceMs: this.cadenceMs(of) };
      const body = escalationDue(this.history, addressee, this.#safeModeReader);
      const thread = this.store.lineAt(incident)?.thread;
      if (body === undefined || thread === undefined) continue;
      const about = { type: "incident", to: [of], subject: "no answer", correlationId: thread };
      this.say(into, { ...about, priority: "high", body: fromPlain(body) });
      hasSigned = true;
    }
    return hasSigned;
  }

  /**
   * Within a transaction: tells our operator of a matter, once. It may be raised each round as long as it is true;
   * what follows from a historical line is not.
   */
  tell(_: StoreWriter, incident: OperatorIncident): void {
    if (!this.store.told.add(incident, this.world.clock.wallMs())) return;
    const { cause, peer, subject, detail } = incident;
    this.world.log?.warn({ cause, peer }, `${subject}: ${detail}`);
  }

  get #safeModeReader(): SafeModeReader {
    const { self, tiers } = this.place;
    return { self, members: new Set(this.members.keys()), cadences: tiers.cadencesMs };
  }

  /** Puts lines that others lack into our carriers. */
  #copyWanted(): void {
    const records = this.store.beats(this.place.self);
    const due = records.dueCopies(MOST_COPIES);
    if (due.length === 0) return;
    this.store.write(() => {
      for (const n of due) this.store.extras.add(this.#line(n).bytes, this.world.clock.wallMs());
      records.noteCopied(due);
    });
    this.#hurry("receipt");
  }

  /** What closes follow from, and what asks are shown by. */
  get situation(): Situation {
    const { self, limits, tiers } = this.place;
    const nowMs = this.world.clock.wallMs();
    return {
      us: self,
      nowMs,
      answerMs: limits.answer_minutes * MINUTE_MS,
      proposalMs: limits.proposal_hours * HOUR_MS,
      whole: (author) => this.store.chains.tip(author),
      isForked: (author) => this.store.chains.whole(author).fork !== null,
      isMember: (author) => this.members.has(author),
      chains: (author) =>
        this.members.get(author) === true || this.store.chains.lastHeld(author) > 0,
      isSilent: (author) =>
        presence(this.store.beats(self).life(author), tiers, nowMs) === "silent",
      cadenceMs: (author) => this.cadenceMs(author),
      isReadToEnd: (author, sinceMs) => {
        const knownMs = this.#reading.knownMs(author);
        this.#needsFetch ||= knownMs !== undefined && knownMs < sinceMs;
        return knownMs !== undefined && knownMs >= sinceMs;
      },
    };
  }

  /** The carriers of an author were read to their end as of then (wall ms); undefined: not yet. */
  knownMs(author: string): number | undefined {
    return this.#reading.knownMs(author);
  }

  /** ms between the beats of an author, as its last one says. */
  cadenceMs(handle: string): number {
    const { tiers, self } = this.place;
    const life = this.store.beats(self).life(handle);
    return advertisedCadenceMs(life?.cadenceMs, tiers);
  }

  /** Before a line is published the mark beside our key says that it is ours. */
  #raiseMark(seq: number): void {
    if (this.#mark !== undefined && this.#mark.seq >= seq) return;
    const [n] = this.store.chains.followed(this.place.self, seq - 1, 1);
    if (n === undefined) throw new Error("a line of ours is published that is not held");
    const mark = { seq, id: this.#line(n).id };
    writeMark(this.world.disk, this.place.markPath, mark);
    this.#mark = mark;
  }

  #line(n: number): HeldLine {
    const line = this.store.line(n);
    if (line === undefined) throw new Error(`line ${n} is not held`);
    return line;
  }
}

/** What a place of the wire is called where it is remembered what it holds. */
function placeName(transport: Transport): string {
  return `${transport.kind} ${transport.health().remote}`;
}

type OpenAsk = ReturnType<Store["asks"]["open"]>[number];

function isSameAsk(one: OpenAsk, other: OpenAsk): boolean {
  return one.ask.place.id === other.ask.place.id && one.of === other.of;
}

function closeDraft({ type, to, thread, body }: CloseDraft): Draft {
  return { type, to, correlationId: thread, subject: "closed", body };
}
