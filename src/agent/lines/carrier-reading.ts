import type { ListedCarrier, Transport } from "../../carriers/carrier.ts";
import { StorageError } from "../../storage/disk/disk.ts";
import type { Store, StoreWriter } from "../../store/store.ts";
import { MINUTE_MS } from "../../wire/durations.ts";
import type { VerifyAll } from "../../wire/signature.ts";
import { Allowances, type Charge, type Moment } from "./allowances.ts";
import { Intake, type Judging, type Taken } from "./intake.ts";

/** What the reading of carriers needs, at each call. */
export interface ReadingNow {
  readonly by: Judging;
  /** Potential carrier owners; an owner without a carrier counts as completely read. */
  readonly handles: readonly string[];
  now(): Moment;
  /** Runs within the transaction that took lines in: what follows from them. */
  fold(into: StoreWriter, taken: Taken): void;
  /** Other work of the process has its turn. */
  nextTurn(): Promise<void>;
}

/** A line that was passed over in a carrier. */
export type SkippedIn = Taken["skipped"][number] & { readonly carrier: string };

/**
 * Why lines that are there stay in their carrier: it cannot be read, or their author or owner has used up a limit.
 */
export interface Stop {
  readonly code: "log_unreadable" | "rate_limited";
  readonly detail: string;
  readonly sinceMs: number;
}

const NOTHING: Charge = { bytes: 0, lines: 0 };
/** A carrier that has become shorter so soon after an archived part of its owner came has lost nothing. */
const ARCHIVED_MS = 10 * MINUTE_MS;
/** A pass ends after so long, so that other work goes on. */
const PASS_MS = 50;
/** Lines outside of carriers that one transaction takes in. */
const PORTION = 256;
/** `meta`: the first reading of the wire has ended. */
const BEGUN = "first_reading_ended";

/**
 * Reads the carriers of all transports in turn, a portion of each, and takes their lines in. Cursors move in the
 * transaction that holds the lines. Spec 1.9, 4.1.
 */
export class CarrierReading {
  readonly #store: Store;
  readonly #intake: Intake;
  readonly #allowances = new Allowances();
  /** For each owner: everything of it was read as of then. Wall ms. */
  readonly #knownMs = new Map<string, number>();
  /** The same of carriers that are fetched, as of the last pass that read them to their end. */
  readonly #fetchedMs = new Map<string, number>();
  /** Archived parts that were listed, and when the last one of an owner came: monotonic ms. */
  readonly #parts = new Set<string>();
  readonly #archivedMs = new Map<string, number>();
  #stops: ReadonlyMap<string, Stop> = new Map();
  #turn = 0;

  constructor(store: Store, verifyAll: VerifyAll) {
    this.#store = store;
    this.#intake = new Intake(store, verifyAll);
  }

  /** Lines that are read now were not there at the first reading. */
  get isLive(): boolean {
    return this.#store.meta(BEGUN) !== undefined;
  }

  /** As of when everything of an owner was read: wall ms. Undefined: its carriers were not read to their end. */
  knownMs(owner: string): number | undefined {
    return this.#knownMs.get(owner);
  }

  /**
   * When the last fetch began that did not bring what the running pass finds of an owner: wall ms. Undefined: none
   * of its carriers is fetched. Spec 3.2.1.
   */
  lackedMs(owner: string): number | undefined {
    return this.#fetchedMs.get(owner);
  }

  async pass(transports: readonly Transport[], at: ReadingNow): Promise<Pass> {
    const { wallMs, monoMs: beganMs } = at.now();
    const carriers = transports.flatMap((transport) =>
      transport.list().map((carrier) => ({ transport, carrier })),
    );
    this.#noteParts(
      carriers.map(({ carrier }) => carrier),
      at.now(),
    );
    const result = new Pass(this.#stops, wallMs, !this.isLive);
    // A fetch may end while we read: what it brought is read by the next pass.
    const owners = [at.by.self, ...at.handles, ...carriers.map(({ carrier }) => carrier.owner)];
    const known = new Map(
      owners.map((owner) => [
        owner,
        transports.map((transport) => transport.knownMs(owner, wallMs)),
      ]),
    );
    this.#readAgain(at.by);
    // Whoever came last begins the next pass.
    const from = carriers.length === 0 ? 0 : this.#turn % carriers.length;
    for (const [index, each] of [...carriers.slice(from), ...carriers.slice(0, from)].entries()) {
      if (index > 0 && at.now().monoMs - beganMs > PASS_MS) {
        this.#turn = from + index;
        result.hasMore = true;
        result.leave(carriers.map(({ carrier }) => carrier.owner));
        break;
      }
      await this.#readOne(each.transport, each.carrier, at, result);
    }
    await this.#settle(at, result);
    this.#stops = result.stops;
    for (const [owner, asOf] of known) {
      const isKnown = !result.left.has(owner) && asOf.every((ms) => ms !== undefined);
      if (!isKnown) {
        this.#knownMs.delete(owner);
        continue;
      }
      this.#knownMs.set(owner, Math.min(...asOf));
      // What stands in a folder is known as of now.
      const fetched = asOf.filter((ms) => ms < wallMs);
      if (fetched.length > 0) this.#fetchedMs.set(owner, Math.min(...fetched));
    }
    // An unreadable carrier must not block the lines of other authors.
    if (!result.hasMore && !this.isLive && transports.every(isReadable)) {
      this.#store.write((into) => into.setMeta(BEGUN, new Date(wallMs).toISOString()));
      // Lines are judged from here on: those of the first reading by the next pass.
      result.hasMore = true;
    }
    return result;
  }

  async #readOne(
    transport: Transport,
    carrier: ListedCarrier,
    at: ReadingNow,
    result: Pass,
  ): Promise<void> {
    const { owner, reader, name } = carrier;
    const key = `${transport.kind} ${name}`;
    const { isLive } = this;
    const budget = this.#allowances.budget(owner, isLive, at.now());
    if (budget === undefined)
      return result.stop(
        owner,
        "rate_limited",
        `${owner} has used up what we read of one agent in a day`,
      );
    const cursor = this.#store.cursor(key);
    try {
      const read = transport.read(carrier, cursor, budget);
      const isListed = transport.knownMs(owner, at.now().wallMs) !== undefined;
      // The missing lines may be in an archived part, and the archive cannot be listed now.
      if (read.isShorter === true && !isListed)
        return result.stop(
          owner,
          "log_unreadable",
          `the archive that may hold the rest of ${name} cannot be listed`,
        );
      if (read.isShorter === true && !this.#wasArchived(owner, at.now()))
        result.shorter.set(name, owner);
      if (read.isObstructed === true)
        result.stop(owner, "log_unreadable", `${name} is no regular file that we may read`);
      const { chains } = this.#store;
      if (read.isAgain) this.#store.write(() => chains.dropCarried(owner));
      if (read.lines.length === 0 && read.oversized === 0) {
        const { cursor: next } = read;
        if (next !== undefined && next !== cursor)
          this.#store.write((into) => into.setCursor(key, next));
        const junk = { bytes: read.passed ?? 0, lines: 0 };
        if (isLive)
          this.#allowances.charge(owner, { taken: NOTHING, junk, again: NOTHING }, at.now());
        if (!read.hasMore) return;
        result.more(owner);
        return await at.nextTurn();
      }
      const lines = [...read.lines, ...Array<undefined>(read.oversized).fill(undefined)];
      const checked = await this.#intake.check(lines, at.by);
      const source = {
        ...{ owner, isLive, ...(reader === undefined ? {} : { reader }) },
        mayTake: (author: string, type: string) => this.#mayTake(author, type, at),
      };
      const { wallMs } = at.now();
      const taken = this.#store.write((into) => {
        const found = this.#intake.take(into, checked, source, at.by, wallMs);
        at.fold(into, found);
        chains.noteCarried(owner, lastNumber(owner, checked));
        if (!found.isFull && read.cursor !== undefined) into.setCursor(key, read.cursor);
        for (const author of found.left)
          this.#store.leftovers.add({ carrier: key, author, reason: this.#known(author, at.by) });
        return found;
      });
      if (isLive) this.#charge(owner, checked, taken, at);
      result.add(owner, taken, isLive, name);
      if (taken.isFull)
        result.stop(
          owner,
          "rate_limited",
          `more lines than ${at.by.limits.rate_limit_msg_per_min} a minute`,
        );
      else if (read.hasMore) result.more(owner);
      await at.nextTurn();
    } catch (error) {
      if (!(error instanceof StorageError) || error.path === this.#store.path) throw error;
      result.troubles.set(key, error);
      result.stop(owner, "log_unreadable", error.message);
    }
  }

  /** Takes in lines of an owner that are in no carrier. */
  async takeLines(owner: string, lines: readonly Uint8Array[], at: ReadingNow): Promise<void> {
    for (let from = 0; from < lines.length; from += PORTION) {
      const checked = await this.#intake.check(lines.slice(from, from + PORTION), at.by);
      this.#store.write((into) => {
        const source = { owner, isLive: this.isLive };
        at.fold(into, this.#intake.take(into, checked, source, at.by, at.now().wallMs));
      });
    }
  }

  /** The carriers of an owner are read from their beginning. */
  dropCursors(transports: readonly Transport[], owner: string): void {
    const carriers = transports.flatMap((transport) =>
      transport.list().map((carrier) => ({ ...carrier, kind: transport.kind })),
    );
    this.#store.write((into) => {
      for (const { kind, name, owner: writer } of carriers)
        if (writer === owner) into.dropCursor(`${kind} ${name}`);
    });
  }

  /**
   * Carriers with lines that found no room, and that may be proven by now: they are read from their beginning,
   * once for each reason. Spec 1.9.
   */
  #readAgain(by: Judging): void {
    const { leftovers } = this.#store;
    for (const { carrier, author, reason } of leftovers.all()) {
      const now = this.#known(author, by);
      if (now === reason) continue;
      this.#store.write((into) => {
        into.dropCursor(carrier);
        leftovers.setReason(carrier, author, now);
      });
    }
  }

  /** What may prove lines of an author: a line that lacks the one before it, and the keys that are pinned. */
  #known(author: string, by: Judging): string {
    const keys = by.believed(author).keys.map(({ keyId }) => keyId);
    return [this.#store.chains.lacking(author) ?? "", ...keys].join(" ");
  }

  /** Lines that wait: for a key that is known by now, for a line, or for the time. */
  async #settle(at: ReadingNow, result: Pass): Promise<void> {
    for (const author of this.#store.chains.unfinished()) {
      for (;;) {
        const proven = await this.#intake.prove(author, at.by);
        if (proven.length === 0) break;
        this.#settleOnce(at, result, proven);
      }
    }
    this.#settleOnce(at, result, []);
  }

  #settleOnce(at: ReadingNow, result: Pass, proven: Awaited<ReturnType<Intake["prove"]>>): void {
    const { wallMs } = at.now();
    const taken = this.#store.write((into) => {
      const found = this.#intake.settle(into, at.by, wallMs, proven);
      at.fold(into, found);
      return found;
    });
    result.hasMore ||= taken.hasMore;
  }

  /** Whether an archived part of its carriers may just have come: then a file is shorter, and nothing is lost. */
  #wasArchived(owner: string, { monoMs }: Moment): boolean {
    return (this.#archivedMs.get(owner) ?? -Infinity) > monoMs - ARCHIVED_MS;
  }

  #noteParts(carriers: readonly ListedCarrier[], { monoMs }: Moment): void {
    for (const { name, owner } of carriers) {
      if (!name.startsWith("archive/") || this.#parts.has(name)) continue;
      this.#parts.add(name);
      this.#archivedMs.set(owner, monoMs);
    }
  }

  #mayTake(author: string, type: string, at: ReadingNow): boolean {
    const { tier } = at.by.believed(author);
    const rate = { perMinute: at.by.limits.rate_limit_msg_per_min, monoMs: at.now().monoMs };
    return this.#allowances.mayTake(author, type, tier, rate);
  }

  #charge(
    owner: string,
    checked: readonly { readonly bytes: number }[],
    { taken, junk }: Taken,
    at: ReadingNow,
  ): void {
    const bytes = checked.reduce((sum, each) => sum + each.bytes, 0);
    const again: Charge = {
      bytes: Math.max(0, bytes - taken.bytes - junk.bytes),
      lines: Math.max(0, checked.length - taken.lines - junk.lines),
    };
    this.#allowances.charge(owner, { taken, junk, again }, at.now());
  }
}

/** What a place of the wire has was brought here, or cannot be brought now. */
function isReadable(transport: Transport): boolean {
  const { fetchedMs, problem } = transport.health();
  return fetchedMs !== undefined || problem !== undefined;
}

/** The largest number of the lines of an author; 0: none has one. */
function lastNumber(author: string, checked: Awaited<ReturnType<Intake["check"]>>): number {
  const seqs = checked.map(({ read }) =>
    read.ok && read.line.author === author ? (read.line.seq ?? 0) : 0,
  );
  return Math.max(0, ...seqs);
}

/** What one pass over the carriers has found. */
export class Pass {
  /** More can be read at once. */
  hasMore = false;
  /** Part of the initial scan; the next pass judges its lines. */
  readonly isFirstReading: boolean;
  /** Carriers that cannot be read, by transport and name. */
  readonly troubles = new Map<string, StorageError>();
  /** What was passed over, by the owner of the carrier. */
  readonly skipped = new Map<string, readonly SkippedIn[]>();
  /** How much of what was written since the first reading proves nothing, by the owner of the carrier. */
  readonly junk = new Map<string, Charge>();
  /** Carriers that have lost lines, by name, and whose they are. */
  readonly shorter = new Map<string, string>();
  /** Owners of whom something that is there is not read, and why. */
  readonly stops = new Map<string, Stop>();
  /** Owners of whom not everything was read. */
  readonly left = new Set<string>();
  readonly #before: ReadonlyMap<string, Stop>;
  readonly #nowMs: number;

  /** @param before stops of the pass before */
  constructor(before: ReadonlyMap<string, Stop>, nowMs: number, isFirstReading: boolean) {
    this.#before = before;
    this.#nowMs = nowMs;
    this.isFirstReading = isFirstReading;
  }

  add(owner: string, { skipped, junk, hasMore }: Taken, isLive: boolean, carrier: string): void {
    const { bytes, lines } = this.junk.get(owner) ?? NOTHING;
    if (isLive && skipped.length > 0)
      this.junk.set(owner, { bytes: bytes + junk.bytes, lines: lines + skipped.length });
    const found = skipped.map((each) => ({ ...each, carrier }));
    if (found.length > 0) this.skipped.set(owner, [...(this.skipped.get(owner) ?? []), ...found]);
    this.hasMore ||= hasMore;
  }

  stop(owner: string, code: Stop["code"], detail: string): void {
    const before = this.#before.get(owner);
    const sinceMs = before?.code === code ? before.sinceMs : this.#nowMs;
    this.stops.set(owner, { code, detail, sinceMs });
    this.leave([owner]);
  }

  leave(owners: readonly string[]): void {
    for (const owner of owners) this.left.add(owner);
  }

  more(owner: string): void {
    this.left.add(owner);
    this.hasMore = true;
  }
}
