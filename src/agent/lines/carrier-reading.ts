import type { ListedCarrier, Transport } from "../../carriers/carrier.ts";
import { StorageError } from "../../storage/disk/disk.ts";
import type { Store, StoreWriter } from "../../store/store.ts";
import type { Allowances, Charge, Moment } from "./allowances.ts";
import type { Intake, Judging, Taken } from "./intake.ts";

/** What the reading of carriers needs, at each call. */
export interface ReadingNow {
  readonly by: Judging;
  now(): Moment;
  /** Runs within the transaction that took lines in: what follows from them. */
  fold(into: StoreWriter, taken: Taken): void;
  /** Other work of the process has its turn. */
  nextTurn(): Promise<void>;
}

/** What one pass over the carriers has found. */
export interface Pass {
  /** More can be read at once. */
  readonly hasMore: boolean;
  /** Carriers that cannot be read, by transport and name. */
  readonly troubles: ReadonlyMap<string, StorageError>;
  /** What was passed over, by the owner of the carrier. */
  readonly skipped: ReadonlyMap<string, Taken["skipped"]>;
  /** Lines with our name that our mark does not know. */
  readonly foreign: Taken["foreign"];
}

/** A pass ends after so long, so that other work goes on. */
const PASS_MS = 50;
/** `meta`: the first reading of the wire has ended. */
const BEGUN = "first_reading_ended";

/**
 * Reads the carriers of all transports in turn, a portion of each, and takes their lines in. Cursors move in the
 * transaction that holds the lines. Spec of the next wire, 1.9, 4.1.
 */
export class CarrierReading {
  readonly #store: Store;
  readonly #intake: Intake;
  readonly #allowances: Allowances;
  /** For each owner: everything of it was read as of then. Wall ms. */
  readonly #knownMs = new Map<string, number>();
  #turn = 0;

  constructor(store: Store, intake: Intake, allowances: Allowances) {
    this.#store = store;
    this.#intake = intake;
    this.#allowances = allowances;
  }

  /** Lines that are read now were not there at the first reading. */
  get isLive(): boolean {
    return this.#store.meta(BEGUN) !== undefined;
  }

  /** As of when everything of an owner was read: wall ms. Undefined: its carriers were not read to their end. */
  knownMs(owner: string): number | undefined {
    return this.#knownMs.get(owner);
  }

  async pass(transports: readonly Transport[], at: ReadingNow): Promise<Pass> {
    const { wallMs, monoMs: beganMs } = at.now();
    const carriers = transports.flatMap((transport) =>
      transport.list().map((carrier) => ({ transport, carrier })),
    );
    const result = new PassResult();
    // A fetch may end while we read: what it brought is read by the next pass.
    const known = new Map(
      carriers.map(({ carrier: { owner } }) => [
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
    for (const [owner, asOf] of known) {
      const isKnown = !result.left.has(owner) && asOf.every((ms) => ms !== undefined);
      if (isKnown) this.#knownMs.set(owner, Math.min(...asOf));
      else this.#knownMs.delete(owner);
    }
    if (!result.hasMore && result.left.size === 0 && !this.isLive)
      this.#store.write((into) => into.setMeta(BEGUN, new Date(wallMs).toISOString()));
    return result;
  }

  async #readOne(
    transport: Transport,
    carrier: ListedCarrier,
    at: ReadingNow,
    result: PassResult,
  ): Promise<void> {
    const { owner, reader, name } = carrier;
    const key = `${transport.kind} ${name}`;
    const { isLive } = this;
    const budget = this.#allowances.budget(owner, isLive, at.now());
    if (budget === undefined) return result.leave([owner]);
    const cursor = this.#store.cursor(key);
    try {
      const read = transport.read(carrier, cursor, budget);
      if (read.lines.length === 0 && read.oversized === 0) {
        const { cursor: next } = read;
        if (next !== undefined && next !== cursor)
          this.#store.write((into) => into.setCursor(key, next));
        return;
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
        if (!found.isFull && read.cursor !== undefined) into.setCursor(key, read.cursor);
        for (const author of found.left)
          this.#store.leftovers.add({ carrier: key, author, reason: this.#known(author, at.by) });
        return found;
      });
      this.#charge(owner, checked, taken, at);
      result.add(owner, taken);
      if (taken.isFull) result.leave([owner]);
      else if (read.hasMore) result.more(owner);
      await at.nextTurn();
    } catch (error) {
      if (!(error instanceof StorageError) || error.path === this.#store.path) throw error;
      result.troubles.set(key, error);
      result.leave([owner]);
    }
  }

  /**
   * Carriers with lines that found no room, and that may be proven by now: they are read from their beginning,
   * once for each reason. Spec of the next wire, 1.9.
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
  async #settle(at: ReadingNow, result: PassResult): Promise<void> {
    for (const author of this.#store.chains.unfinished()) {
      for (;;) {
        const proven = await this.#intake.prove(author, at.by);
        if (proven.length === 0) break;
        this.#settleOnce(at, result, proven);
      }
    }
    this.#settleOnce(at, result, []);
  }

  #settleOnce(
    at: ReadingNow,
    result: PassResult,
    proven: Awaited<ReturnType<Intake["prove"]>>,
  ): void {
    const { wallMs } = at.now();
    const taken = this.#store.write((into) => {
      const found = this.#intake.settle(into, at.by, wallMs, proven);
      at.fold(into, found);
      return found;
    });
    result.hasMore ||= taken.hasMore;
  }

  #mayTake(author: string, type: string, at: ReadingNow): boolean {
    const { tier } = at.by.believed(author);
    const rate = { perMinute: at.by.limits.rateLimitMsgPerMin, monoMs: at.now().monoMs };
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

class PassResult implements Pass {
  hasMore = false;
  readonly troubles = new Map<string, StorageError>();
  readonly skipped = new Map<string, Taken["skipped"]>();
  readonly foreign: Taken["foreign"][number][] = [];
  /** Owners of whom not everything was read. */
  readonly left = new Set<string>();

  add(owner: string, { skipped, foreign, hasMore }: Taken): void {
    if (skipped.length > 0)
      this.skipped.set(owner, [...(this.skipped.get(owner) ?? []), ...skipped]);
    this.foreign.push(...foreign);
    this.hasMore ||= hasMore;
  }

  leave(owners: readonly string[]): void {
    for (const owner of owners) this.left.add(owner);
  }

  more(owner: string): void {
    this.left.add(owner);
    this.hasMore = true;
  }
}
