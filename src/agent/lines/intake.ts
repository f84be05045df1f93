import type { SigningPolicy } from "../../trust/policy/config.ts";
import { mayBeUnsigned } from "../../trust/policy/config.ts";
import { heldAfter, type Peer, type PinnedKey } from "../../trust/store.ts";
import { isState } from "../../trust/tiers.ts";
import {
  readLine,
  type ChainedLine,
  type LooseLine,
  type Problem,
} from "../../protocol/admit/read-line.ts";
import {
  SKEW_WAIT_MS,
  verdictOf,
  type Circumstances,
  type Verdict,
} from "../../protocol/admit/verdict.ts";
import { field, textField } from "../../protocol/body.ts";
import type { ChainEnd, FollowedRow, WaitingLine, Whole } from "../../store/chains.ts";
import type { HeldLine, NewLine, Store, StoreWriter } from "../../store/store.ts";
import { newLine } from "./new-line.ts";
import type { Charge } from "./allowances.ts";
import type { Mark } from "./mark.ts";
import { MAX_LINE_BYTES, type Limits } from "../../wire/limits.ts";
import { sha256Hex } from "../../wire/canonical.ts";
import { isJsonArray, type JsonValue } from "../../wire/json/json.ts";
import type { ChainPlace, Place } from "../../wire/places.ts";
import { decodeKey, isAcceptableKey, keyId, type VerifyAll } from "../../wire/signature.ts";

/** What the operator believes of one agent, as far as its lines are judged by that. Spec 2.1, 2.3. */
export type Believed = Pick<
  Peer,
  "tier" | "blocked" | "held" | "allowUnchained" | "mayBeUnsigned"
> & { readonly keys: readonly BelievedKey[] };
export type BelievedKey = Pick<PinnedKey, "keyId" | "key" | "active" | "revoked" | "last">;

/** By what lines are judged: pins, policy and members of this moment. */
export interface Judging {
  readonly self: string;
  readonly wireId: string;
  readonly signing: SigningPolicy;
  readonly limits: Limits;
  believed(author: string): Believed;
  /** `line`: one of its chain that is judged, which is left out of the roster with all that descends from it. */
  isMember(author: string, line?: Place): boolean;
  /** Nothing is judged before the first reading has ended: who is a member then decides. */
  readonly isFirstReading: boolean;
  /** Our last line, as it stands beside our key; undefined: the key has none. */
  readonly mark: Mark | undefined;
}

/** Where lines were found. */
export interface Source {
  /** The agent that writes this carrier. */
  readonly owner: string;
  /** Of a pair's file: who reads it. */
  readonly reader?: string;
  /** False at the first reading of the wire. */
  readonly isLive: boolean;
  /** Whether a new live line of an author may be taken now; absent: any. */
  readonly mayTake?: (author: string, type: string) => boolean;
}

/** A line that has been read, and the verdict on its signature where its key is known. */
interface Checked {
  readonly read: ReturnType<typeof readLine>;
  readonly isValid: boolean | undefined;
  /** Undefined when it is too long. */
  readonly line: Uint8Array | undefined;
  /** How long it is. */
  readonly bytes: number;
}

/** A line that waits or is held, and whose signature has turned out to be valid. */
export type ProvenLine = WaitingLine | HeldLine;

type AnyLine = ChainedLine | LooseLine;

/** What is known of a line that is held, as far as its verdict follows from it. */
type JudgedLine = Pick<
  HeldLine,
  | "n"
  | "author"
  | "seq"
  | "id"
  | "branch"
  | "aside"
  | "isOurs"
  | "isLive"
  | "receivedMs"
  | "keyId"
  | "isVerified"
  | "bytes"
>;

type Waits = Extract<Verdict, { readonly is: "waits" }>["for"];

/** How a line of a chain came to be held. */
type Arrival = Pick<WaitingLine, "receivedMs" | "isLive" | "isVerified">;

/** A line that proves nothing about anybody. */
export interface Skipped extends Problem {
  /** Its beginning; empty for one that is too long. */
  readonly line: Uint8Array;
}

/** What was taken in. */
export interface Taken {
  /** New lines in the order in which the state follows from them: `n` of each. */
  readonly lines: readonly number[];
  /** Lines that were taken in before, beats excepted: those that are linked, and those that are judged, only now. */
  readonly linked: readonly number[];
  readonly judged: readonly number[];
  /** Lines that prove nothing about anybody, by reason. */
  readonly skipped: readonly Skipped[];
  /** What is charged to the owner of the carrier for what is new, and for what is not authentic. */
  readonly taken: Charge;
  readonly junk: Charge;
  /** Authors of lines that were not kept, and that a later line or key may prove. */
  readonly left: readonly string[];
  /** Lines found no room, or their author has no token: their carrier is read again from where it was. */
  readonly isFull: boolean;
  /** Lines of a chain with our own name that our mark does not know. */
  readonly foreign: readonly ChainPlace[];
  /** More is due than fits into one transaction. */
  readonly hasMore: boolean;
}

/** A gap is waited for so long before what lies behind it is delivered. */
const GAP_WAIT_MS = 10 * 60_000;
/** So many lines that are no JSON are charged as one. */
const JUNK_SHARE = 1 / 16;
/** Of a line that is skipped, so much is kept for people. */
const MOST_SKIPPED_BYTES = 4 * 1024;
/** So many signatures that were not valid are remembered. */
const MOST_TRIED = 65_536;
/** Of lines behind a gap, and of lines that are judged, in one transaction. */
const PORTION = 1_000;
/** Of lines of one author that are in no chain or behind a gap, and have no verdict yet. */
const UNLINKED = 256;
/** Closes of asks that are judged in one transaction: one that names many agents costs some milliseconds. */
const MOST_JUDGED = 256;

/**
 * Takes lines out of carriers into the store: finds out whose they are, links them to their chains, and judges
 * which are mail. Whatever the order, the carriers and the copies, the same lines are held in the end. Spec 1.6, 1.8, 1.9, 2.4.
 */
export class Intake {
  readonly #store: Store;
  readonly #verifyAll: VerifyAll;
  readonly #tried = new Set<string>();

  constructor(store: Store, verifyAll: VerifyAll) {
    this.#store = store;
    this.#verifyAll = verifyAll;
  }

  /** Everything that takes long and needs no transaction. `lines` without those that were too long: undefined. */
  async check(lines: readonly (Uint8Array | undefined)[], by: Judging): Promise<Checked[]> {
    const read = lines.map((line) => readLine(line, by.wireId));
    const last = new Map<string, number>();
    const isNew = ({ author, seq }: AnyLine): boolean => {
      if (seq === null) return false;
      const known = last.get(author) ?? this.#store.chains.lastHeld(author);
      last.set(author, known);
      return seq > known;
    };
    const asked = read.flatMap((each, at) => {
      if (!each.ok || each.line.signed === undefined) return [];
      if (!isNew(each.line) && this.#isSameHeld(each.line)) return [];
      const publicKey = this.#keyOf(each.line.author, each.line.signed.keyId, by);
      return publicKey === undefined ? [] : [{ at, publicKey, ...each.line.signed }];
    });
    const verdicts = await this.#verifyAll(asked);
    const isValid = new Map(asked.map(({ at }, index) => [at, verdicts[index]]));
    return read.map((each, at) => ({
      ...{ read: each, isValid: isValid.get(at), line: lines[at] },
      bytes: lines[at]?.length ?? MAX_LINE_BYTES,
    }));
  }

  /** Within a transaction: holds what was checked. */
  take(
    into: StoreWriter,
    checked: readonly Checked[],
    source: Source,
    by: Judging,
    nowMs: number,
  ): Taken {
    const taking = new Taking(this.#store, into, by, nowMs);
    const unproven: { readonly line: ChainedLine; readonly isValid: boolean | undefined }[] = [];
    for (const { read, isValid, bytes, line } of checked) {
      // Only what its author has written costs that author a token.
      const isTheirs = isValid === true || (read.ok && read.line.signed === undefined);
      if (read.ok && isTheirs && !taking.mayTake(read.line, source)) continue;
      if (!read.ok) taking.skip(read.problem, line, bytes);
      else if (read.line.seq === null) taking.takeLoose(read.line, isValid, source);
      else if (isValid === true) taking.takeChained(read.line, isValid, source);
      else unproven.push({ line: read.line, isValid });
    }
    // The last first: one that is proven by the line behind it proves the one before it.
    unproven.sort((one, other) => other.line.seq - one.line.seq);
    for (const { line, isValid } of unproven) taking.takeChained(line, isValid, source);
    return taking.end();
  }

  /**
   * Lines that wait for a key which is known by now: checks them. To be called until it returns nothing; then
   * `settle` is called.
   */
  async prove(author: string, by: Judging): Promise<readonly ProvenLine[]> {
    const keys = new Map(
      [...by.believed(author).keys, ...this.#store.namedKeys.of(author)].map((each) => [
        each.keyId,
        each.key,
      ]),
    );
    const ids = [...keys.keys()];
    const candidates = [
      ...this.#store.chains.unproven(author, ids),
      ...this.#store.unverified(author, ids, PORTION),
    ].filter(({ id, keyId: key, bytes }) => !this.#tried.has(triedKey(id, key, bytes)));
    const asked = candidates.flatMap((line) => {
      const read = readLine(line.bytes, by.wireId);
      const publicKey = keys.get(line.keyId ?? "");
      if (!read.ok || read.line.signed === undefined || publicKey === undefined) return [];
      return [{ line, publicKey, ...read.line.signed }];
    });
    const verdicts = await this.#verifyAll(asked);
    // What has failed is not tried again for the same key.
    if (this.#tried.size > MOST_TRIED) this.#tried.clear();
    for (const [at, { line }] of asked.entries())
      if (verdicts[at] !== true) this.#tried.add(triedKey(line.id, line.keyId, line.bytes));
    return asked.filter((_each, at) => verdicts[at] === true).map(({ line }) => line);
  }

  /**
   * Within a transaction: links and judges what is due. `proven` are lines that `prove` has found valid. What
   * is left is for the next call: `hasMore`.
   */
  settle(into: StoreWriter, by: Judging, nowMs: number, proven: readonly ProvenLine[] = []): Taken {
    const taking = new Taking(this.#store, into, by, nowMs);
    for (const line of proven) taking.proveWaiting(line);
    taking.settle();
    return taking.end();
  }

  /** The very same copy is held: another one may have a signature that is valid, or none that is. */
  #isSameHeld(line: AnyLine): boolean {
    const held = this.#store.lineAt(line);
    return held !== undefined && Buffer.compare(held.bytes, line.bytes) === 0;
  }

  #keyOf(author: string, id: string, by: Judging): Uint8Array | undefined {
    const pinned = by.believed(author).keys.find((each) => each.keyId === id);
    return (pinned ?? this.#store.namedKeys.of(author).find((each) => each.keyId === id))?.key;
  }
}

/** Whether a beat says that its author has time to answer. */
function isFree({ type, body }: AnyLine): boolean {
  const state = textField(body, "state");
  return type === "heartbeat" && state !== "busy" && state !== "paused";
}

/** One transaction. */
class Taking {
  readonly #store: Store;
  readonly #into: StoreWriter;
  readonly #by: Judging;
  readonly #nowMs: number;
  readonly #lines = new Set<number>();
  readonly #linked: number[] = [];
  readonly #judged: number[] = [];
  readonly #skipped: Skipped[] = [];
  /** Lines that were taken in, as they were read and held. */
  readonly #read = new Map<number, { readonly line: AnyLine; readonly held: JudgedLine }>();
  readonly #touched = new Map<string, ChainPlace[]>();
  readonly #revoking = new Map<string, readonly number[]>();
  readonly #left = new Set<string>();
  readonly #stopped = new Set<string>();
  /** Authors of live beats that say neither busy nor paused. */
  readonly #free = new Set<string>();
  readonly #foreign: ChainPlace[] = [];
  #taken: Charge = { bytes: 0, lines: 0 };
  #junk: Charge = { bytes: 0, lines: 0 };
  #isFull = false;
  #hasMore = false;
  /** Of authors whose lines were taken in one behind the other: the last of them. */
  readonly #ends = new Map<string, ChainEnd & Pick<ChainPlace, "seq" | "id">>();
  #mail: number[] = [];

  constructor(store: Store, into: StoreWriter, by: Judging, nowMs: number) {
    this.#store = store;
    this.#into = into;
    this.#by = by;
    this.#nowMs = nowMs;
  }

  skip(problem: Problem, line: Uint8Array | undefined, bytes = line?.length ?? 0): void {
    this.#skipped.push({
      ...problem,
      line: (line ?? new Uint8Array()).slice(0, MOST_SKIPPED_BYTES),
    });
    // Text that is no JSON at all costs little.
    const share = problem.reason === "malformed" ? JUNK_SHARE : 1;
    this.#junk = { bytes: this.#junk.bytes + bytes, lines: this.#junk.lines + share };
  }

  /** False: the line stays in its carrier, and so do those of its author behind it. */
  mayTake(line: AnyLine, { isLive, mayTake }: Source): boolean {
    const { author, type } = line;
    if (mayTake === undefined || !isLive || author === this.#by.self) return true;
    if (this.#isKnown(line)) return true;
    if (!this.#stopped.has(author) && mayTake(author, type)) return true;
    this.#stopped.add(author);
    this.#isFull = true;
    return false;
  }

  #isKnown(line: AnyLine): boolean {
    if (line.seq === null) return this.#store.lineAt(line) !== undefined;
    return this.#store.chains.stateOf(line) !== undefined;
  }

  takeLoose(
    line: LooseLine,
    isValid: boolean | undefined,
    { owner, reader, isLive }: Source,
  ): void {
    const { author, to } = line;
    const known = this.#store.lineAt(line);
    const isOurs = to === undefined ? reader === this.#by.self : isFor(to, this.#by.self);
    if (known !== undefined) {
      if (author === owner && to === undefined && isOurs && !known.isOurs) this.#setOurs(known.n);
      return;
    }
    const problem = this.#looseProblem(line, isValid, { owner, ...(reader && { reader }) });
    if (problem !== undefined) {
      // A key that is pinned later makes it one to be taken.
      if (problem.reason === "untrusted_key" && this.#by.isMember(author)) this.#left.add(author);
      return this.skip(problem, line.bytes);
    }
    const isOurAgents = author === this.#by.self;
    const receivedMs = this.#receivedMs(line, isLive);
    const added = {
      ...newLine(line, { isOurs: isOurs && !isOurAgents, isVerified: line.signed !== undefined }),
      receivedMs,
      isLive,
    };
    const { n, isNew } = this.#into.hold(added);
    // A later beat of its author is held.
    if (!isNew) return;
    if (to === undefined && isOurs && !isOurAgents) this.#store.asks.addParty(n, this.#by.self);
    if (isLive && isFree(line)) this.#free.add(author);
    this.#added(n, line, added);
  }

  takeChained(line: ChainedLine, isValid: boolean | undefined, { isLive }: Source): void {
    const { chains } = this.#store;
    const end = isValid === true && this.#mayHold(line) ? this.#endBefore(line) : undefined;
    if (end !== undefined) return this.#takeNext(line, isLive, end);
    this.#ends.delete(line.author);
    const state = chains.stateOf(line);
    if (state === "linked" || state === "held") return this.#copy(line, isValid);
    if (state === "proven") {
      if (isValid === true) chains.replace(line, line.bytes, line.signed.keyId);
      return;
    }
    const { keyId: key } = line.signed;
    if (isValid === false) return this.#skipUnproven(line, "invalid_signature", key, isLive);
    if (isValid === undefined) return this.#skipUnproven(line, "untrusted_key", key, isLive);
    if (!line.isOfWire)
      return this.skip({ reason: "wrong_wire", detail: "the line is of another wire" }, line.bytes);
    this.#proven(line, isLive, true);
  }

  /** The line before, when it is the last of its author; what this transaction held itself is not asked for. */
  #endBefore(line: ChainedLine): ChainEnd | undefined {
    const known = this.#ends.get(line.author);
    if (known !== undefined && known.seq === line.seq - 1 && known.id === line.prev) return known;
    return this.#store.chains.endBefore(line);
  }

  /** Of another wire, or with our name and not marked, it is not held. */
  #mayHold(line: ChainedLine): boolean {
    return line.isOfWire && (line.author !== this.#by.self || this.#isMarked(line));
  }

  /** A line with a valid signature, behind the last of its author. */
  #takeNext(line: ChainedLine, isLive: boolean, end: ChainEnd): void {
    this.#nameKey(line);
    const receivedMs = this.#receivedMs(line, isLive, end);
    this.#holdAlone(line, { receivedMs, isLive, isVerified: true }, end);
    this.#ends.set(line.author, { ...end, seq: line.seq, id: line.id, receivedMs });
  }

  /** A line that waits, and that a key which is known by now has signed. */
  proveWaiting(waiting: ProvenLine): void {
    if ("n" in waiting) {
      const { n, bytes, keyId: key } = waiting;
      this.#verify(n, { bytes, keyId: key });
      this.#touch(waiting.author);
      return;
    }
    const state = this.#store.chains.stateOf(waiting);
    if (state !== "unproven" && state !== "proven") return;
    const { bytes, keyId: key } = waiting;
    this.#markProven(this.#readWaiting(waiting), { bytes, keyId: key });
    this.#linkWaiting(waiting.author);
  }

  settle(): void {
    const { chains } = this.#store;
    for (const author of chains.unfinished()) {
      this.#linkWaiting(author);
      const since = chains.noteGap(author, this.#nowMs);
      if (since !== undefined && this.#nowMs - since >= GAP_WAIT_MS) this.#deliverBehindGap(author);
      this.#touch(author);
    }
  }

  end(): Taken {
    const isMailLeft = this.#judgeAll();
    const hasMore = !this.#judgeAsks() || isMailLeft || this.#hasMore;
    return {
      ...{ lines: [...this.#lines], linked: this.#linked, judged: this.#judged },
      ...{ skipped: this.#skipped, foreign: this.#foreign },
      ...{ taken: this.#taken, junk: this.#junk },
      ...{ left: [...this.#left], isFull: this.#isFull, hasMore },
    };
  }

  /** Whether no close is left to judge. What a party had read when it was free to answer starts its time. */
  #judgeAsks(): boolean {
    for (const author of this.#free) {
      const tip = this.#store.chains.tip(author);
      if (tip !== undefined) this.#store.asks.addReady(this.#by.self, tip, this.#nowMs);
    }
    return this.#store.asks.judge(this.#by.wireId, MOST_JUDGED);
  }

  #verify(n: number, copy: { readonly bytes: Uint8Array; readonly keyId: string | null }): void {
    this.#into.verify(n, copy);
    this.#read.delete(n);
  }

  #setOurs(n: number): void {
    this.#read.delete(n);
    this.#into.setOurs(n);
    this.#store.asks.addParty(n, this.#by.self);
  }

  #added(n: number, line: AnyLine, added: NewLine): void {
    const { author, seq, id, bytes, isOurs, isLive, receivedMs, keyId: key, isVerified } = added;
    const known = { author, seq, id, bytes, isOurs, isLive, receivedMs, keyId: key, isVerified };
    this.#read.set(n, { line, held: { n, ...known, branch: null, aside: null } });
    this.#lines.add(n);
    const taken = this.#taken;
    this.#taken = { bytes: taken.bytes + bytes.length, lines: taken.lines + 1 };
  }

  #looseProblem(
    line: LooseLine,
    isValid: boolean | undefined,
    { owner, reader }: { readonly owner: string; readonly reader?: string },
  ): Problem | undefined {
    const { author, signed, to, wire } = line;
    const { signing, wireId } = this.#by;
    const { keys, mayBeUnsigned: allowsUnsigned } = this.#by.believed(author);
    if (author !== owner)
      return { reason: "wrong_file", detail: `from is ${author}, but ${owner} owns the file` };
    if (signed === undefined) {
      if (!mayBeUnsigned(signing, author))
        return { reason: "unsigned", detail: `lines of ${author} have to be signed` };
      if (keys.length > 0 && !allowsUnsigned)
        return {
          reason: "unsigned",
          detail: `a key of ${author} is pinned: its lines have to be signed`,
        };
    } else if (!keys.some((each) => each.keyId === signed.keyId)) {
      return { reason: "untrusted_key", detail: `${signed.keyId} is not pinned` };
    } else if (isValid !== true) {
      return { reason: "invalid_signature", detail: "the signature does not cover this content" };
    }
    if (wire !== undefined && wire !== wireId)
      return { reason: "wrong_wire", detail: "the line is of another wire" };
    if (
      reader !== undefined &&
      to !== undefined &&
      !isFor(to, reader) &&
      to.some((name) => name !== author)
    )
      return { reason: "replayed", detail: "the line was written for another reader" };
    return undefined;
  }

  /** Kept, because a line that descends from it may prove it. */
  #skipUnproven(line: ChainedLine, reason: Problem["reason"], key: string, isLive: boolean): void {
    const isKnown =
      this.#by.isMember(line.author) || this.#by.believed(line.author).keys.length > 0;
    if (!line.isOfWire || !isKnown) {
      this.skip({ reason, detail: key }, line.bytes);
      return;
    }
    if (this.#store.chains.isFollowed(line)) return this.#proven(line, isLive, false);
    if (
      !this.#store.chains.wait(this.#waiting(line, isLive, { isProven: false, isVerified: false }))
    )
      this.#left.add(line.author);
    this.skip({ reason, detail: key }, line.bytes);
  }

  #waiting(
    line: ChainedLine,
    isLive: boolean,
    { isProven, isVerified }: Pick<WaitingLine, "isProven" | "isVerified">,
  ): WaitingLine {
    const { author, seq, id, prev, bytes, signed } = line;
    const receivedMs = this.#receivedMs(line, isLive);
    const keyId = signed.keyId;
    return { author, seq, id, prev, bytes, isLive, isProven, isVerified, receivedMs, keyId };
  }

  /** The line is its author's. */
  #proven(line: ChainedLine, isLive: boolean, isVerified: boolean): void {
    const { chains } = this.#store;
    if (line.author === this.#by.self && !this.#isMarked(line)) {
      // What a key of ours signs that we have revoked says nothing about the one in use.
      const isRevoked = isVerified && chains.isStruckKey(line.author, line.signed.keyId);
      if (!isRevoked) this.#foreign.push(line);
      return;
    }
    if (this.#isLinkable(line)) {
      const waited = chains.takeAt(line);
      this.#markProven(line, undefined);
      const receivedMs = this.#receivedMs(line, isLive);
      this.#hold(line, { receivedMs, isLive: waited?.isLive ?? isLive, isVerified });
    } else if (chains.wait(this.#waiting(line, isLive, { isProven: true, isVerified }))) {
      const { bytes, signed } = line;
      this.#markProven(line, isVerified ? { bytes, keyId: signed.keyId } : undefined);
      this.#linkWaiting(line.author);
    }
    // It is read again when the gap is filled; what is behind it in the carrier does not wait for that.
    else this.#left.add(line.author);
  }

  /** Nothing that our key has signed behind our mark is adopted: it may be a thief's. */
  #isMarked({ seq, id }: ChainedLine): boolean {
    const { mark } = this.#by;
    return mark !== undefined && (seq < mark.seq || (seq === mark.seq && id === mark.id));
  }

  #isLinkable({ author, seq, prev }: ChainedLine): boolean {
    if (prev === null) return true;
    return this.#store.chains.stateOf({ author, seq: seq - 1, id: prev }) === "linked";
  }

  #markProven(
    line: ChainedLine,
    verified: { readonly bytes: Uint8Array; readonly keyId: string } | undefined,
  ): void {
    const proven = this.#store.chains.prove(line, line.prev, { nowMs: this.#nowMs, verified });
    this.#touch(line.author, proven);
    this.#nameKey(line);
    for (const place of proven.slice(1)) {
      const waiting = this.#store.chains.waitingAt(place);
      if (waiting !== undefined) this.#nameKey(this.#readWaiting(waiting));
    }
  }

  /** An authentic line that names a key makes what this signs authentic. Spec 1.6, 2.5. */
  #nameKey({ author, type, body }: ChainedLine): void {
    if (type !== "proposal" || textField(body, "action") !== "add_key") return;
    const id = textField(body, "key_id");
    const key = decodeKey(textField(body, "key") ?? "");
    if (id === undefined || key === undefined || keyId(author, key) !== id) return;
    if (isAcceptableKey(key)) this.#store.namedKeys.add(author, { keyId: id, key });
  }

  /** Holds a line and all that wait for it. */
  #hold(line: ChainedLine, arrival: Arrival): void {
    const linked = this.#holdAlone(line, arrival);
    for (let place = linked.pop(); place !== undefined; place = linked.pop()) {
      for (const next of this.#store.chains.takeBehind(place))
        linked.push(...this.#holdAlone(this.#readWaiting(next), next));
    }
  }

  /** Returns the lines that are linked by this. */
  #holdAlone(line: ChainedLine, arrival: Arrival, end?: ChainEnd): ChainPlace[] {
    const { receivedMs, isLive, isVerified } = arrival;
    if (end === undefined && this.#isBranchTooMany(line, isVerified)) return [];
    const isOurs = line.author !== this.#by.self && isFor(line.to ?? ["*"], this.#by.self);
    const added = { ...newLine(line, { isOurs, isVerified }), receivedMs, isLive, end };
    const { n, linked } = this.#into.hold(added);
    if (isLive && isFree(line)) this.#free.add(line.author);
    const places = linked.flatMap((each): ChainPlace[] => {
      if (each === n) return [line];
      const held = this.#store.line(each);
      if (held === undefined || held.seq === null) return [];
      if (!this.#lines.has(each) && held.type !== "heartbeat") this.#linked.push(each);
      return [{ ...held, seq: held.seq }];
    });
    this.#added(n, line, added);
    if (textField(line.body, "revokes") !== undefined && line.type === "correction")
      this.#noteRevocation(line.author, n);
    this.#touch(line.author, linked.length === 0 ? [line] : places);
    return places;
  }

  #isBranchTooMany(line: ChainedLine, isVerified: boolean): boolean {
    const { author, signed } = line;
    if (author === this.#by.self) return false;
    const pinned = this.#by.believed(author).keys.flatMap((key) => (key.active ? key.keyId : []));
    const key = pinned.find((each) => isVerified && each === signed.keyId);
    return this.#store.chains.isBranchTooMany(line, key, pinned);
  }

  #noteRevocation(author: string, n: number): void {
    this.#store.chains.noteRevocation(author, n);
    this.#revoking.set(author, [...(this.#revoking.get(author) ?? []), n]);
  }

  /** Holds what waits and can be linked by now. */
  #linkWaiting(author: string): void {
    const { chains } = this.#store;
    const firsts = chains.takeBehind({ author, seq: 0, id: null });
    for (const first of firsts) this.#hold(this.#readWaiting(first), first);
    for (let at = 0; at < PORTION; at += 1) {
      const next = chains.takeLinkable(author);
      if (next === undefined) return;
      this.#hold(this.#readWaiting(next), next);
    }
    this.#hasMore = true;
  }

  #readWaiting(waiting: WaitingLine): ChainedLine {
    const line = this.#reread(waiting);
    if (line.seq === null) throw new Error("a line that waits is in no chain");
    return line;
  }

  #deliverBehindGap(author: string): void {
    for (const waiting of this.#store.chains.takeAhead(author, PORTION))
      this.#holdAlone(this.#readWaiting(waiting), waiting);
  }

  #copy(line: ChainedLine, isValid: boolean | undefined): void {
    const held = this.#store.lineAt(line);
    if (held === undefined || isValid !== true || held.isVerified) return;
    // The first copy may have been vouched for by a later line alone.
    this.#verify(held.n, { bytes: line.bytes, keyId: line.signed.keyId });
    this.#touch(line.author);
  }

  #touch(author: string, places: readonly ChainPlace[] = []): void {
    const known = this.#touched.get(author) ?? [];
    known.push(...places.map(({ seq, id }) => ({ author, seq, id })));
    this.#touched.set(author, known);
  }

  /**
   * Lines of an owner revoke a key while they are linked and believed: when they are not believed any more, as
   * after a comparison of digits, they revoke nothing. Spec 2.5.
   */
  #revoke(author: string): void {
    const { chains } = this.#store;
    const revocations = chains
      .revocations(author, this.#revoking.get(author) ?? [])
      .map((each) => ({
        ...each,
        revokes: this.#revocationIn(each.n),
      }));
    for (const { n, isInForce, revokes } of revocations) {
      if (revokes === undefined && isInForce) chains.unstrike(author, n);
      if (revokes !== undefined && !isInForce)
        chains.strike(author, revokes.keyId, revokes.last, n);
    }
  }

  #revocationIn(n: number): { readonly keyId: string; readonly last: ChainPlace } | undefined {
    const held = this.#store.line(n);
    if (held === undefined || held.seq === null || held.branch === null) return undefined;
    const { author, seq, prev } = held;
    // One for which others vouch alone revokes nothing: its key id may be anybody's.
    if (!held.isVerified || held.aside === "rejected") return undefined;
    const line = this.#reread(held);
    const revoked = textField(line.body, "revokes");
    const last = pairOf(field(line.body, "last"));
    // A key does not revoke itself.
    if (revoked === undefined || last === undefined || revoked === held.keyId) return undefined;
    const key = this.#by.believed(author).keys.find((each) => each.keyId === held.keyId);
    if (!this.#isBelieved(held, line, key)) return undefined;
    const at = { author, ...last };
    const before = prev === null ? undefined : { author, seq: seq - 1, id: prev };
    const isBefore =
      before !== undefined &&
      ((last.seq === before.seq && last.id === before.id) || this.#descendsFrom(before, at));
    return isBefore ? { keyId: revoked, last: at } : undefined;
  }

  #judgeAll(): boolean {
    const { chains } = this.#store;
    let hasMore = false;
    for (const author of this.#touched.keys()) this.#revoke(author);
    for (const [author, places] of this.#touched) {
      chains.look(author, places);
      const whole = chains.advance(author);
      if (this.#by.isFirstReading && author !== this.#by.self) continue;
      hasMore = this.#judgeChain(author, whole) || hasMore;
    }
    this.#touched.clear();
    if (this.#by.isFirstReading) return hasMore;
    hasMore = this.#judgeUnlinked() || hasMore;
    this.#deliver();
    return hasMore;
  }

  /** Lines in no chain, and behind a gap. What waits of one author keeps no other's from being judged. */
  #judgeUnlinked(): boolean {
    const { chains } = this.#store;
    for (const n of this.#lines) {
      // What says how its author is waits for nothing that other lines of its author wait for.
      const held = this.#read.get(n);
      const isNew = held?.held.seq === null && isState(held.line.type);
      const line = isNew ? this.#store.line(n) : undefined;
      if (line?.verdict === null) this.#judge(line, chains.whole(line.author));
    }
    let hasMore = false;
    for (const author of this.#store.unjudgedAuthors()) {
      const lines = this.#store.unjudged(author, UNLINKED);
      let isJudged = false;
      for (const line of lines) {
        const waits = this.#judge(line, chains.whole(author));
        isJudged ||= waits === undefined;
      }
      hasMore ||= isJudged && lines.length === UNLINKED;
    }
    return hasMore;
  }

  /** Lines of the followed branch in their order, and those that are aside. */
  #judgeChain(author: string, whole: Whole): boolean {
    const { chains } = this.#store;
    for (const n of chains.unjudgedAside(author, PORTION)) {
      const line = this.#store.line(n);
      if (line !== undefined) this.#judge(line, whole);
    }
    const before = chains.judged(author);
    let judged = before;
    let isBroken = false;
    // Those that were just read cost little.
    const limit = PORTION + this.#read.size;
    const portion = chains.followedRows(author, judged, limit);
    for (const row of portion) {
      const waits = row.verdict === null ? this.#judgeRow(row, whole) : undefined;
      // The others behind it wait for the same.
      if (waits === "tier" || waits === "operator") break;
      isBroken ||= waits !== undefined;
      if (!isBroken) judged = row.seq;
    }
    if (judged !== before) chains.setJudged(author, judged);
    this.#deliver();
    return portion.length === limit && judged < whole.seq && !isBroken;
  }

  #judgeRow(row: FollowedRow, whole: Whole): Waits | undefined {
    const known = this.#read.get(row.n);
    const held = known === undefined ? this.#store.line(row.n) : { ...known.held, ...row };
    if (held === undefined) throw new Error(`line ${row.n} is not held`);
    return this.#judge(held, whole);
  }

  /** What it waits for; undefined: it has its verdict. */
  #judge(held: JudgedLine, whole: Whole): Waits | undefined {
    const line = this.#read.get(held.n)?.line ?? this.#reread(held);
    const verdict = verdictOf(line, this.#circumstances(held, line, whole));
    const isLate = verdict.is !== "waits" && !this.#lines.has(held.n);
    if (isLate && line.type !== "heartbeat") this.#judged.push(held.n);
    this.#settleVerdict(held.n, verdict);
    return verdict.is === "waits" ? verdict.for : undefined;
  }

  #settleVerdict(n: number, verdict: Verdict): void {
    if (verdict.is === "mail") this.#mail.push(n);
    else if (verdict.is === "passed") this.#into.setVerdict(n, "passed");
    else if (verdict.is === "refused") this.#into.setVerdict(n, verdict.problem.reason);
  }

  #deliver(): void {
    this.#into.deliver(...this.#mail);
    this.#mail = [];
  }

  #reread({ bytes }: Pick<HeldLine, "bytes">): AnyLine {
    const read = readLine(bytes, this.#by.wireId);
    if (!read.ok) throw new Error(`a line that is held is ${read.problem.reason}`);
    return read.line;
  }

  #circumstances(held: JudgedLine, line: AnyLine, whole: Whole): Circumstances {
    const { author, aside, isLive, isOurs, receivedMs, seq } = held;
    const { self, limits } = this.#by;
    const believed = this.#by.believed(author);
    const key = believed.keys.find(({ keyId: id }) => held.isVerified && id === held.keyId);
    const isOver =
      key?.active === false &&
      key.last !== undefined &&
      this.#store.chains.stateOf({ author, ...key.last }) === "linked";
    const skewMs = limits.max_clock_skew_seconds * 1_000;
    return {
      ...{ self, limits, receivedMs, nowMs: this.#nowMs, isOurs, aside, isLive },
      tier: believed.blocked ? undefined : believed.tier,
      isBlocked: believed.blocked,
      isMember: this.#by.isMember(author, held),
      isHeld: this.#isHeld(held, believed, whole),
      isBelieved: line.signed === undefined || this.#isBelieved(held, line, key),
      mayBeBelieved: seq !== null && !isOver,
      isOutsideChain:
        seq === null &&
        line.signed !== undefined &&
        !believed.allowUnchained &&
        this.#store.hasChain(author),
      // Only of one that is dated ahead anything follows from it.
      isFollowedInTime:
        isLive &&
        line.sentMs - skewMs > receivedMs &&
        (this.#store.isDateAccepted(held.n) ||
          this.#store.isFollowedInTime(held, { skewMs, withinMs: SKEW_WAIT_MS })),
    };
  }

  /** Nothing behind a fork that is not decided, or behind the last good line of a revoked key. */
  #isHeld({ author, seq, id }: JudgedLine, believed: Believed, { fork }: Whole): boolean {
    if (fork !== null && (seq === null || seq >= fork)) return true;
    const good = heldAfter(believed);
    if (good === undefined) return false;
    if (good === null || seq === null) return true;
    const last = { author, ...good };
    const isGood =
      (seq === last.seq && id === last.id) || this.#descendsFrom(last, { author, seq, id });
    return !isGood;
  }

  /** Spec 2.1. */
  #isBelieved(held: JudgedLine, line: AnyLine, key: BelievedKey | undefined): boolean {
    const { seq, author } = held;
    if (seq === null || line.seq === null)
      return key?.active === true && !this.#store.chains.isStruckKey(author, key.keyId);
    if (key?.active === true) return true;
    if (key?.last !== undefined && seq <= key.last.seq) {
      if (held.id === key.last.id) return true;
      if (this.#descendsFrom({ author, ...key.last }, { author, seq, id: held.id })) return true;
    }
    if (held.branch === null) return this.#vouchedAhead(author).has(held.id);
    return this.#isVouchedByBelieved(author, seq);
  }

  #descendsFrom(newer: ChainPlace, older: ChainPlace): boolean {
    return this.#store.chains.descends(newer, older);
  }

  /** Lines held behind a gap from which one descends that is signed with a key that is pinned and active. */
  #vouchedAhead(author: string): ReadonlySet<string> {
    const keys = this.#by.believed(author).keys.filter(({ active }) => active);
    const vouched = new Set<string>();
    for (const { n, id, prev } of this.#store.chains.heldAhead(author)) {
      const line = this.#store.line(n);
      const isBelieved =
        line?.isVerified === true && keys.some(({ keyId: key }) => key === line.keyId);
      if (prev !== null && (isBelieved || vouched.has(id))) vouched.add(prev);
    }
    return vouched;
  }

  /** Whether a line behind that number, of the branch that is followed, is signed with a key that is pinned and active. */
  #isVouchedByBelieved(author: string, seq: number): boolean {
    const keys = this.#by.believed(author).keys.filter(({ active }) => active);
    const ids = keys.map(({ keyId: id }) => id);
    return this.#store.chains.lastSigned(author, ids) > seq;
  }

  #receivedMs(line: AnyLine, isLive: boolean, end?: ChainEnd): number {
    if (isLive) return this.#nowMs;
    const lastMs = end?.receivedMs ?? this.#store.lastReceivedMs(line.author);
    return Math.min(this.#nowMs, Math.max(line.sentMs, lastMs));
  }
}

function pairOf(value: JsonValue | undefined): { seq: number; id: string } | undefined {
  if (!isJsonArray(value) || value.length !== 2) return undefined;
  const [seq, id] = value;
  return typeof seq === "number" && typeof id === "string" ? { seq, id } : undefined;
}

function triedKey(id: string, key: string | null, bytes: Uint8Array): string {
  return `${id} ${key} ${sha256Hex(bytes)}`;
}

function isFor(to: readonly string[], handle: string): boolean {
  return to.includes(handle) || to.includes("*");
}
