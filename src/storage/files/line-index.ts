import { StorageError, type Disk, type DiskFile } from "../disk/disk.ts";
import { Row, ROW_BYTES, writeRow, type IndexedLine, type LineRow } from "./line-row.ts";
import { isSummary, mayHold, summaryOf, SUMMARY_BYTES } from "./part-summary.ts";
import { PRIVATE_FILE } from "../disk/file-modes.ts";

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
  find(match: RowMatch, range?: IndexRange): number[];
  /** All rows are in the file and synced. */
  save(): void;
  /** Begins with no row. */
  clear(): void;
  close(): void;
}

/** Whether a row is one of those that are looked for; "enough": neither it nor any after it. */
export type RowMatch = (row: LineRow) => boolean | "enough";

/** Which rows `find` looks at; all of them unless it is said. */
export interface IndexRange {
  /** Offsets in the journal: rows of entries before `from`, and from `before` on, are left out. */
  readonly from?: number;
  readonly before?: number;
  /** It stops after so many that match. */
  readonly most?: number;
  readonly order?: "oldest first" | "newest first";
  /** Only rows that may be of that thread: 16 hex digits. Where the journal does not say it, the line has to be asked. */
  readonly thread?: string | undefined;
  /** Only rows of which the id begins with these hex digits; those after the sixteenth are not looked at. */
  readonly id?: string | undefined;
}

// What is in the file has no version of its own: a change of it has to raise that of the checkpoint,
// which says how many rows are known.
/** Rows of a part, which are read, or written, at once. A summary follows them in the file. */
const PART_ROWS = 4_096;

/**
 * Opens the index with the first `rows` of what is in the file; the others are forgotten, and all of
 * them when it has fewer.
 */
export function openLineIndex(disk: Disk, path: string, rows: number): LineIndex {
  const file = disk.open(path, "append", PRIVATE_FILE);
  try {
    const { size } = file.stat();
    const kept = size < placeOf(rows) ? 0 : rows;
    if (size > placeOf(kept)) file.truncate(placeOf(kept));
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
  /** Rows that are not there yet, of one part. */
  readonly #added = Buffer.alloc(PART_ROWS * ROW_BYTES);
  #addedRows = 0;
  /** What was read last. */
  readonly #into = Buffer.alloc(PART_ROWS * ROW_BYTES);

  constructor(file: DiskFile, rows: number) {
    this.#file = file;
    this.#written = rows;
  }

  get rows(): number {
    return this.#written + this.#addedRows;
  }

  add(line: IndexedLine): void {
    if (this.#addedRows > 0 && this.rows % PART_ROWS === 0) this.#write();
    writeRow(this.#added, this.#addedRows * ROW_BYTES, line);
    this.#addedRows += 1;
  }

  find(match: RowMatch, range: IndexRange = {}): number[] {
    const { from = 0, before = Infinity, most = Infinity, order = "oldest first" } = range;
    const found: number[] = [];
    const row = new Row();
    const first = from === 0 ? 0 : this.#firstFrom(from);
    const end = before === Infinity ? this.rows : this.#firstFrom(before);
    for (const { at, count } of partsOf(first, end, order)) {
      if (!this.#mayHold(at, range)) continue;
      row.look(this.#rowsAt(at, count));
      for (let each = 0; each < count && found.length < most; each += 1) {
        row.show((order === "oldest first" ? each : count - 1 - each) * ROW_BYTES);
        if (!row.isWritten) throw damaged(this.#file.path);
        if (!isMeant(row, range)) continue;
        const matches = match(row);
        if (matches === "enough") return found;
        if (matches) found.push(row.entry);
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
    const added = this.#added.subarray(0, this.#addedRows * ROW_BYTES);
    const isWhole = this.rows % PART_ROWS === 0;
    const summary = isWhole ? [summaryOf(this.#rowsAt(this.rows - PART_ROWS, PART_ROWS))] : [];
    try {
      this.#file.append(Buffer.concat([added, ...summary]));
    } catch (error) {
      this.#file.truncate(placeOf(this.#written));
      throw error;
    }
    this.#written += this.#addedRows;
    this.#addedRows = 0;
  }

  /** Whether the part of that row may have what is asked for; of one that is not whole nothing is known. */
  #mayHold(row: number, { thread, id }: IndexRange): boolean {
    if (thread === undefined && id === undefined) return true;
    const end = row - (row % PART_ROWS) + PART_ROWS;
    if (end > this.#written) return true;
    const summary = this.#file.read(SUMMARY_BYTES, placeOf(end) - SUMMARY_BYTES, this.#into);
    if (!isSummary(summary)) throw damaged(this.#file.path);
    return mayHold(summary, { thread, id });
  }

  /** So many rows of one part from `first` on, from the file or from what is to be written. */
  #rowsAt(first: number, count: number): Buffer {
    const inFile = Math.max(0, Math.min(count, this.#written - first));
    const begin = Math.max(0, first - this.#written) * ROW_BYTES;
    const added = this.#added.subarray(begin, begin + (count - inFile) * ROW_BYTES);
    if (inFile === 0) return added;
    const read = this.#file.read(inFile * ROW_BYTES, placeOf(first), this.#into);
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

/** Where a row is in the file, behind the summaries of the parts before it. */
function placeOf(row: number): number {
  return row * ROW_BYTES + Math.floor(row / PART_ROWS) * SUMMARY_BYTES;
}

function isMeant(row: Row, { thread, id }: IndexRange): boolean {
  if (thread !== undefined && !row.mayBeOfThread(thread)) return false;
  return id === undefined || row.idBegins(id);
}

/** The rows between two numbers, part by part. */
function* partsOf(first: number, end: number, order: NonNullable<IndexRange["order"]>) {
  if (order === "oldest first") {
    for (let at = first; at < end;) {
      const next = Math.min(end, at - (at % PART_ROWS) + PART_ROWS);
      yield { at, count: next - at };
      at = next;
    }
    return;
  }
  for (let to = end; to > first;) {
    const at = Math.max(first, to - 1 - ((to - 1) % PART_ROWS));
    yield { at, count: to - at };
    to = at;
  }
}

function damaged(path: string): StorageError {
  return new StorageError("corrupt", path, "holds a row that we did not write", {
    hint: "remove it: it is made again from the journal",
  });
}
