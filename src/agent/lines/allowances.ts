import type { ReadBudget } from "../../carriers/reader.ts";
import type { Tier } from "../../trust/tiers.ts";
import { DAY_MS, MINUTE_MS } from "../../wire/durations.ts";

/** What came out of a carrier, as it is charged to its owner. */
export interface Charge {
  readonly bytes: number;
  readonly lines: number;
}

export interface Charges {
  readonly taken: Charge;
  /** Not authentic. */
  readonly junk: Charge;
  /** Held already. */
  readonly again: Charge;
}

/** Of one owner on a UTC day, over all its carriers. Spec 2.4. */
const A_DAY = {
  taken: { bytes: 64 * 1024 * 1024, lines: 200_000 },
  junk: { bytes: 8 * 1024 * 1024, lines: 20_000 },
  again: { bytes: 256 * 1024 * 1024, lines: 1_000_000 },
} as const;
/** What each line costs beside its bytes. */
const LINE_BYTES = 256;
/** Of one turn: what was there when we began, and what is written meanwhile. */
const BACKLOG: ReadBudget = { bytes: 1024 * 1024, lines: 8_192 };
const LIVE: ReadBudget = { bytes: 64 * 1024, lines: 64 };
/** A minute's worth of an owner that has used up what is not worth reading. */
const SLOW: ReadBudget = { bytes: 1024 * 1024, lines: 1_000 };
/** After silence an author may send so many minutes' worth at once. */
const BURST_MINUTES = 10;

const NOTHING: Charge = { bytes: 0, lines: 0 };

interface Owner {
  readonly day: number;
  readonly used: Charges;
  /** When the last slow turn was. Monotonic ms. */
  readonly slowMs: number;
}

interface Bucket {
  readonly tokens: number;
  readonly atMs: number;
}

/**
 * What authors and owners of carriers may make us spend: a token bucket for each author, and what an owner's
 * files may cost a day. It is kept in memory: a restart begins anew. Spec 2.4.
 */
export class Allowances {
  readonly #owners = new Map<string, Owner>();
  readonly #buckets = new Map<string, Bucket>();

  /** Takes a token for a new live line. False: it stays in its carrier. */
  mayTake(author: string, type: string, tier: Tier | undefined, at: Rate): boolean {
    if (type === "heartbeat" || tier === "TRUSTED") return true;
    const { tokens, atMs } = this.#filled(author, at);
    const isLeft = tokens >= 1;
    this.#buckets.set(author, { tokens: isLeft ? tokens - 1 : tokens, atMs });
    return isLeft;
  }

  /** What may be read now of an owner's carriers; undefined: nothing, before the day or the minute is over. */
  budget(owner: string, isLive: boolean, { wallMs, monoMs }: Moment): ReadBudget | undefined {
    if (!isLive) return BACKLOG;
    const { used, slowMs } = this.#owner(owner, wallMs);
    if (isOver(used.taken, A_DAY.taken)) return undefined;
    if (!isOver(used.junk, A_DAY.junk) && !isOver(used.again, A_DAY.again)) return LIVE;
    return monoMs - slowMs >= MINUTE_MS ? SLOW : undefined;
  }

  charge(owner: string, charges: Charges, { wallMs, monoMs }: Moment): void {
    const { day, used, slowMs } = this.#owner(owner, wallMs);
    const isSlow = isOver(used.junk, A_DAY.junk) || isOver(used.again, A_DAY.again);
    this.#owners.set(owner, {
      day,
      used: {
        taken: sum(used.taken, charges.taken, LINE_BYTES),
        junk: sum(used.junk, charges.junk, 0),
        again: sum(used.again, charges.again, 0),
      },
      slowMs: isSlow ? monoMs : slowMs,
    });
  }

  #owner(owner: string, wallMs: number): Owner {
    const today = Math.floor(wallMs / DAY_MS);
    const known = this.#owners.get(owner);
    // A clock that was set back grants nothing twice.
    if (known !== undefined && known.day >= today) return known;
    return {
      day: today,
      used: { taken: NOTHING, junk: NOTHING, again: NOTHING },
      slowMs: -Infinity,
    };
  }

  #filled(author: string, { perMinute, monoMs }: Rate): Bucket {
    const { tokens, atMs } = this.#buckets.get(author) ?? { tokens: perMinute, atMs: monoMs };
    const gained = (Math.max(0, monoMs - atMs) * perMinute) / MINUTE_MS;
    return {
      tokens: Math.min(tokens + gained, BURST_MINUTES * perMinute),
      atMs: Math.max(atMs, monoMs),
    };
  }
}

export interface Moment {
  readonly wallMs: number;
  readonly monoMs: number;
}

export interface Rate {
  /** Tokens that are gained a minute. */
  readonly perMinute: number;
  readonly monoMs: number;
}

function isOver(used: Charge, most: Charge): boolean {
  return used.bytes >= most.bytes || used.lines >= most.lines;
}

function sum(used: Charge, { bytes, lines }: Charge, lineBytes: number): Charge {
  return { bytes: used.bytes + bytes + lines * lineBytes, lines: used.lines + lines };
}
