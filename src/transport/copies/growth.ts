import type { Gate } from "./log-copy.ts";

/** What the copy of one log has grown by on a UTC day. */
export interface Grown {
  readonly day: string;
  readonly bytes: number;
  readonly lines: number;
}

interface Limit {
  readonly bytes: number;
  readonly lines: number;
}

const MIB = 1_048_576;
/** Whoever may push can write anything into any log of the remote: so much of it is taken on a day. */
const UNSIGNED_A_DAY: Limit = { bytes: 8 * MIB, lines: 20_000 };
/** What the log's author has signed may come to so much on a day. Spec 2.4. */
const SIGNED_A_DAY: Limit = { bytes: 64 * MIB, lines: 200_000 };
/** History, when there is no copy yet: its keys may not be pinned. It is not counted for the day. */
export const HISTORY: Limit = { bytes: 256 * MIB, lines: 1_000_000 };
/** Signatures are checked that often in one comparison. */
const MAX_CHECKS = 20_000;

/**
 * Bounds what the copy of a peer's log grows by on a day, over all of its parts: the first lines pass
 * unseen, then only lines that its author has signed. Spec 5.2.
 */
export class DailyGate implements Gate {
  #grown: Grown;
  #checks = 0;
  readonly #isSigned: (line: Uint8Array) => boolean;

  constructor(grown: Grown, isSigned: (line: Uint8Array) => boolean) {
    this.#grown = grown;
    this.#isSigned = isSigned;
  }

  get grown(): Grown {
    return this.#grown;
  }

  get isClosed(): boolean {
    return this.#checks >= MAX_CHECKS || !this.#hasRoom(SIGNED_A_DAY, 1, 1);
  }

  passAll(bytes: number, lines: number): boolean {
    if (!this.#hasRoom(UNSIGNED_A_DAY, bytes, lines)) return false;
    this.#charge(bytes, lines);
    return true;
  }

  pass(line: Uint8Array): boolean {
    if (this.passAll(line.length + 1, 1)) return true;
    if (this.isClosed || !this.#hasRoom(SIGNED_A_DAY, line.length + 1, 1)) return false;
    this.#checks += 1;
    if (!this.#isSigned(line)) return false;
    this.#charge(line.length + 1, 1);
    return true;
  }

  #hasRoom(limit: Limit, bytes: number, lines: number): boolean {
    const { bytes: grownBytes, lines: grownLines } = this.#grown;
    return grownBytes + bytes <= limit.bytes && grownLines + lines <= limit.lines;
  }

  #charge(bytes: number, lines: number): void {
    const { bytes: grownBytes, lines: grownLines } = this.#grown;
    this.#grown = { ...this.#grown, bytes: grownBytes + bytes, lines: grownLines + lines };
  }
}

/** What is said of a log from which lines were kept out. */
export function cutDetail(owner: string): string {
  const { bytes, lines } = UNSIGNED_A_DAY;
  return (
    `it has grown by more than ${bytes / MIB} MiB or ${lines.toLocaleString("en")} lines today in the remote; ` +
    `until tomorrow (UTC) only lines that ${owner} has signed are taken in`
  );
}

/** Lets so much pass, whatever it is, and then nothing. */
export function limitedGate(limit: Limit): Gate {
  let [bytes, lines] = [0, 0];
  const passAll = (moreBytes: number, moreLines: number): boolean => {
    if (bytes + moreBytes > limit.bytes || lines + moreLines > limit.lines) return false;
    bytes += moreBytes;
    lines += moreLines;
    return true;
  };
  return {
    passAll,
    pass: (line) => passAll(line.length + 1, 1),
    get isClosed() {
      return bytes >= limit.bytes || lines >= limit.lines;
    },
  };
}
