import { createHash } from "node:crypto";
import { StorageError, type Disk, type DiskFile } from "../disk/disk.ts";

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
  /** 8 hex digits that tell its thread from most others; undefined when the journal does not say. */
  readonly thread: string | undefined;
  readonly isAccepted: boolean;
}

/**
 * Where the journal says something of a message: rows of a fixed size, so that no question has to
 * parse the journal. Derived from the journal alone; it may be deleted at any time. Spec 4.1.
 */
export interface LineIndex {
  /** How many lines it holds. */
  readonly rows: number;
  add(line: IndexedLine): void;
  /**
   * The rows that match, by where their entries begin in the journal, in its order. `match` gets one
   * object for all rows.
   *
   * Throws StorageError ("corrupt") when the file holds something else: `clear` it then.
   */
  find(match: (row: LineRow) => boolean, range?: IndexRange): number[];
  /** All rows are in the file and synced. */
  save(): void;
  /** Begins with no row. */
  clear(): void;
  close(): void;
}

/** Which rows `find` looks at; all of them unless it is said. */
export interface IndexRange {
  /** Offsets in the journal: rows of entries before `from`, and from `before` on, are left out. */
  readonly from?: number;
  readonly before?: number;
  /** It stops after so many that match. */
  readonly most?: number;
  readonly order?: "oldest first" | "newest first";
}

/** One row, as `find` shows it. */
export interface LineRow {
  readonly entry: number;
  readonly start: number;
  readonly length: number;
  readonly inbox: number | undefined;
  readonly isAccepted: boolean;
  isOfLog(log: string): boolean;
  /** True also where the journal does not say it: the line itself has to be asked. */
  mayBeOfThread(digits: string): boolean;
  /** Hex digits; of those after the sixteenth nothing is known. */
  idBegins(prefix: string): boolean;
  /** The same for every row with the same id, and what `idKey` makes of it. */
  readonly idKey: number;
}

const ROW_BYTES = 40;
/** Rows that are read, or written, at once. */
const ROWS_AT_ONCE = 4_096;
const KEPT_DIGITS = 16;
/** Set in every row that was written: a power cut leaves zeros. */
const IS_ROW = 0x80;
const IS_ACCEPTED = 0x01;

const AT = { id: 0, entry: 8, start: 14, inbox: 20, length: 26, log: 30, thread: 34, flags: 39 };
/** Of 48-bit offsets: 0 says that there is none. */
const OFFSET_BYTES = 6;

/** What `LineRow.idKey` is for an id: 52 of its bits. */
export function idKey(id: string): number {
  return Number.parseInt(id.slice(0, 13), 16);
}

/**
 * Opens the index with the first `rows` of what is in the file; the others are forgotten, and all of
 * them when it has fewer.
 */
export function openLineIndex(disk: Disk, path: string, rows: number): LineIndex {
  const file = disk.open(path, "append", 0o600);
  try {
    const { size } = file.stat();
    const kept = size < rows * ROW_BYTES ? 0 : rows;
    if (size > kept * ROW_BYTES) file.truncate(kept * ROW_BYTES);
    return new IndexFile(file, kept);
  } catch (error) {
    file.close();
    throw error;
  }
}

class IndexFile implements LineIndex {
  readonly #file: DiskFile;
  /** Rows that are in the file. */
  #written: number;
  /** Rows that are not there yet. */
  readonly #added = Buffer.alloc(ROWS_AT_ONCE * ROW_BYTES);
  #addedRows = 0;
  /** What was read last. */
  readonly #into = Buffer.alloc(ROWS_AT_ONCE * ROW_BYTES);

  constructor(file: DiskFile, rows: number) {
    this.#file = file;
    this.#written = rows;
  }

  get rows(): number {
    return this.#written + this.#addedRows;
  }

  add(line: IndexedLine): void {
    if (this.#addedRows === ROWS_AT_ONCE) this.#write();
    writeRow(this.#added, this.#addedRows * ROW_BYTES, line);
    this.#addedRows += 1;
  }

  find(match: (row: LineRow) => boolean, range: IndexRange = {}): number[] {
    const { from = 0, before = Infinity, most = Infinity, order = "oldest first" } = range;
    const found: number[] = [];
    const row = new Row();
    const first = from === 0 ? 0 : this.#firstFrom(from);
    const end = before === Infinity ? this.rows : this.#firstFrom(before);
    for (const { at, count } of partsOf(first, end, order)) {
      row.look(this.#rowsAt(at, count));
      for (let each = 0; each < count && found.length < most; each += 1) {
        row.show((order === "oldest first" ? each : count - 1 - each) * ROW_BYTES);
        if (!row.isWritten) throw damaged(this.#file.path);
        if (match(row)) found.push(row.entry);
      }
      if (found.length >= most) break;
    }
    return found;
  }

  save(): void {
    if (this.#addedRows > 0) this.#write();
    this.#file.datasync();
  }

  clear(): void {
    this.#addedRows = 0;
    this.#file.truncate(0);
    this.#written = 0;
  }

  close(): void {
    try {
      if (this.#addedRows > 0) this.#write();
    } catch (error) {
      // What is missing is made again from the journal.
      if (!(error instanceof StorageError)) throw error;
    } finally {
      this.#file.close();
    }
  }

  #write(): void {
    const bytes = this.#added.subarray(0, this.#addedRows * ROW_BYTES);
    try {
      this.#file.append(bytes);
    } catch (error) {
      this.#file.truncate(this.#written * ROW_BYTES);
      throw error;
    }
    this.#written += this.#addedRows;
    this.#addedRows = 0;
  }

  /** So many rows from `first` on, from the file or from what is to be written. */
  #rowsAt(first: number, count: number): Buffer {
    const inFile = Math.max(0, Math.min(count, this.#written - first));
    const begin = Math.max(0, first - this.#written) * ROW_BYTES;
    const added = this.#added.subarray(begin, begin + (count - inFile) * ROW_BYTES);
    if (inFile === 0) return added;
    const read = this.#file.read(inFile * ROW_BYTES, first * ROW_BYTES, this.#into);
    if (read.length < inFile * ROW_BYTES) throw damaged(this.#file.path);
    const bytes = Buffer.from(read.buffer, read.byteOffset, read.length);
    return added.length === 0 ? bytes : Buffer.concat([bytes, added]);
  }

  /** The first row of which the entry begins at `from` or behind it. */
  #firstFrom(from: number): number {
    const row = new Row();
    let low = 0;
    let high = this.rows;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      row.look(this.#rowsAt(middle, 1));
      if (row.entry < from) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** The rows between two numbers, as many at a time as are read at once. */
function* partsOf(first: number, end: number, order: NonNullable<IndexRange["order"]>) {
  if (order === "oldest first") {
    for (let at = first; at < end; at += ROWS_AT_ONCE) {
      yield { at, count: Math.min(ROWS_AT_ONCE, end - at) };
    }
    return;
  }
  for (let to = end; to > first; to -= ROWS_AT_ONCE) {
    const at = Math.max(first, to - ROWS_AT_ONCE);
    yield { at, count: to - at };
  }
}

class Row implements LineRow {
  #view: DataView = new DataView(new ArrayBuffer(ROW_BYTES));
  #at = 0;
  /** The beginning of an id that was asked for last, as its bits are compared. */
  #prefix = prefixOf("");

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

  isOfLog(log: string): boolean {
    return this.#view.getUint32(this.#at + AT.log) === numberOf(log);
  }

  mayBeOfThread(digits: string): boolean {
    const known = this.#view.getUint32(this.#at + AT.thread);
    return known === 0 || known === threadNumber(digits);
  }

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

function writeRow(bytes: Buffer, at: number, line: IndexedLine): void {
  const { id, entry, start, inbox, length, log, thread, isAccepted } = line;
  bytes.write(id.slice(0, KEPT_DIGITS), at + AT.id, "hex");
  bytes.writeUIntBE(entry, at + AT.entry, OFFSET_BYTES);
  bytes.writeUIntBE(start, at + AT.start, OFFSET_BYTES);
  bytes.writeUIntBE(inbox === undefined ? 0 : inbox + 1, at + AT.inbox, OFFSET_BYTES);
  bytes.writeUInt32BE(length, at + AT.length);
  bytes.writeUInt32BE(numberOf(log), at + AT.log);
  bytes.writeUInt32BE(thread === undefined ? 0 : threadNumber(thread), at + AT.thread);
  bytes[at + AT.flags - 1] = 0;
  bytes[at + AT.flags] = IS_ROW | (isAccepted ? IS_ACCEPTED : 0);
}

/** 0 says that the thread is not known. */
function threadNumber(digits: string): number {
  return Number.parseInt(digits, 16) || 1;
}

const numbers = new Map<string, number>();

/** A number for the name of a log; a wire has few of them. */
function numberOf(log: string): number {
  let number = numbers.get(log);
  if (number === undefined) {
    number = createHash("sha256").update(log, "utf8").digest().readUInt32BE();
    numbers.set(log, number);
  }
  return number;
}

function damaged(path: string): StorageError {
  return new StorageError("corrupt", path, "holds a row that we did not write", {
    hint: "remove it: it is made again from the journal",
  });
}
