import { createHash } from "node:crypto";

/** What the index keeps of a line that the journal notes. Offsets in bytes. */
export interface IndexedLine {
  /** Hex; its first 16 digits are kept. */
  readonly id: string;
  /** Where its entry begins in the journal. Lines are added in this order. */
  readonly entry: number;
  readonly log: string;
  /** Where it begins in its log, and how long it is, newline included. */
  readonly start: number;
  readonly length: number;
  /** Its logical offset in the inbox, if it was routed. */
  readonly inbox: number | undefined;
  /** 16 hex digits that name its thread; undefined when the journal does not say. */
  readonly thread: string | undefined;
  readonly isAccepted: boolean;
}

/** One row, as `find` shows it. */
export interface LineRow {
  readonly entry: number;
  readonly start: number;
  readonly length: number;
  readonly inbox: number | undefined;
  readonly isAccepted: boolean;
  /** The same for every line of a log: what `logNumber` makes of its name. */
  readonly log: number;
  /** The same for every row with the same id, and what `idKey` makes of it. */
  readonly idKey: number;
}

export const ROW_BYTES = 44;
const KEPT_DIGITS = 16;
/** Set in every row that was written: a power cut leaves zeros. */
const IS_ROW = 0x80;
const IS_ACCEPTED = 0x01;

const AT = { id: 0, entry: 8, start: 14, inbox: 20, length: 26, log: 30, thread: 34, flags: 43 };
/** Of 48-bit offsets: 0 says that there is none. */
const OFFSET_BYTES = 6;

/** What `LineRow.idKey` is for an id: 52 of its bits. */
export function idKey(id: string): number {
  return Number.parseInt(id.slice(0, 13), 16);
}

export class Row implements LineRow {
  #view: DataView = new DataView(new ArrayBuffer(ROW_BYTES));
  #at = 0;
  /** The beginning of an id that was asked for last, as its bits are compared. */
  #prefix = prefixOf("");
  /** The same of a thread. */
  #thread = threadOf("");

  /** Shows rows of these bytes from now on. */
  look(bytes: Uint8Array): void {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  show(at: number): void {
    this.#at = at;
  }

  get isWritten(): boolean {
    return (this.#view.getUint8(this.#at + AT.flags) & IS_ROW) !== 0;
  }

  get entry(): number {
    return this.#offset(AT.entry);
  }

  get start(): number {
    return this.#offset(AT.start);
  }

  get length(): number {
    return this.#view.getUint32(this.#at + AT.length);
  }

  get inbox(): number | undefined {
    const behind = this.#offset(AT.inbox);
    return behind === 0 ? undefined : behind - 1;
  }

  get isAccepted(): boolean {
    return (this.#view.getUint8(this.#at + AT.flags) & IS_ACCEPTED) !== 0;
  }

  get idKey(): number {
    const high = this.#view.getUint32(this.#at + AT.id);
    return high * 2 ** 20 + (this.#view.getUint32(this.#at + AT.id + 4) >>> 12);
  }

  get log(): number {
    return this.#view.getUint32(this.#at + AT.log);
  }

  /** The first 32 bits of its id. */
  get idWord(): number {
    return this.#view.getUint32(this.#at + AT.id);
  }

  /** What `threadOf` makes of its thread; zeros: the journal does not say. */
  get thread(): { readonly high: number; readonly low: number } {
    const at = this.#at + AT.thread;
    return { high: this.#view.getUint32(at), low: this.#view.getUint32(at + 4) };
  }

  /** True also where the journal does not say it: the line itself has to be asked. */
  mayBeOfThread(digits: string): boolean {
    if (this.#thread.text !== digits) this.#thread = threadOf(digits);
    const { high, low } = this.thread;
    return (high === this.#thread.high && low === this.#thread.low) || (high === 0 && low === 0);
  }

  /** Hex digits; of those after the sixteenth nothing is known. */
  idBegins(prefix: string): boolean {
    if (this.#prefix.text !== prefix) this.#prefix = prefixOf(prefix);
    const { high, highMask, low, lowMask } = this.#prefix;
    const view = this.#view;
    if ((view.getUint32(this.#at + AT.id) & highMask) >>> 0 !== high) return false;
    return (view.getUint32(this.#at + AT.id + 4) & lowMask) >>> 0 === low;
  }

  /** 48 bits. */
  #offset(at: number): number {
    return this.#view.getUint16(this.#at + at) * 2 ** 32 + this.#view.getUint32(this.#at + at + 2);
  }
}

/** Two words of an id, and which of their bits the digits give. */
function prefixOf(text: string) {
  const digits = text.slice(0, KEPT_DIGITS);
  const word = (of: string): number => Number.parseInt(of.padEnd(8, "0"), 16);
  const mask = (of: string): number => word("f".repeat(of.length));
  const [first, second] = [digits.slice(0, 8), digits.slice(8)];
  return {
    text,
    high: word(first),
    highMask: mask(first),
    low: word(second),
    lowMask: mask(second),
  };
}

export function writeRow(bytes: Buffer, at: number, line: IndexedLine): void {
  const { id, entry, start, inbox, length, log, thread, isAccepted } = line;
  bytes.write(id.slice(0, KEPT_DIGITS), at + AT.id, "hex");
  bytes.writeUIntBE(entry, at + AT.entry, OFFSET_BYTES);
  bytes.writeUIntBE(start, at + AT.start, OFFSET_BYTES);
  bytes.writeUIntBE(inbox === undefined ? 0 : inbox + 1, at + AT.inbox, OFFSET_BYTES);
  bytes.writeUInt32BE(length, at + AT.length);
  bytes.writeUInt32BE(logNumber(log), at + AT.log);
  const { high, low } = thread === undefined ? { high: 0, low: 0 } : threadOf(thread);
  bytes.writeUInt32BE(high, at + AT.thread);
  bytes.writeUInt32BE(low, at + AT.thread + 4);
  bytes[at + AT.flags - 1] = 0;
  bytes[at + AT.flags] = IS_ROW | (isAccepted ? IS_ACCEPTED : 0);
}

/** Two words; zeros say that the thread is not known. */
export function threadOf(digits: string) {
  const word = (from: number): number => Number.parseInt(digits.slice(from, from + 8), 16) || 0;
  const [high, low] = [word(0), word(8)];
  return { text: digits, high, low: high === 0 && low === 0 ? 1 : low };
}

const numbers = new Map<string, number>();

/** What `LineRow.log` is for a log of that name; a wire has few of them. */
export function logNumber(log: string): number {
  let number = numbers.get(log);
  if (number === undefined) {
    number = createHash("sha256").update(log, "utf8").digest().readUInt32BE();
    numbers.set(log, number);
  }
  return number;
}
