import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { dirname } from "node:path";
import { openIfThere, StorageError, type Disk } from "../disk/disk.ts";
import { PRIVATE_FILE, PRIVATE_FOLDER } from "../disk/file-modes.ts";

/** A line that a log has shown: 128 bits of its id, and 32 of the hash of its bytes. */
export interface ShownRow {
  readonly words: readonly [number, number, number, number];
  readonly tag: number;
}

/**
 * Lines of one log that need not be in memory, a row of 24 bytes each. Derived from journal and log;
 * a checkpoint says how many rows are right. Spec 4.1.
 */
export interface ShownRowsFile {
  /** Names this content of the file: another one whenever row 0 is written again. "" for no file. */
  readonly mark: string;
  /**
   * Throws StorageError: "corrupt" when the row is not what we wrote. The file is emptied then, so
   * that the checkpoint which counts on it does not fit any more.
   */
  at(row: number): ShownRow;
  /** Puts rows behind the first `kept`, in the place of whatever was there, and syncs them. */
  write(kept: number, rows: readonly ShownRow[]): void;
}

const SHOWN_ROW_BYTES = 24;
/** The mark takes the place of a row. */
const MARK_BYTES = 16;
/** Rows that are read at once: a log that is read again asks for them in order. */
const SHOWN_ROWS_AT_ONCE = 256;

/** The file of which nothing is known. */
export function newShownRows(disk: Disk, path: string): ShownRowsFile {
  return new RowsFile(disk, path, "");
}

/** Undefined when the file has not that mark, or fewer rows. */
export function openShownRows(
  disk: Disk,
  path: string,
  known: { readonly mark: string; readonly rows: number },
): ShownRowsFile | undefined {
  const file = openIfThere(disk, path);
  if (file === undefined) return undefined;
  try {
    if (file.stat().size < (known.rows + 1) * SHOWN_ROW_BYTES) return undefined;
    const mark = Buffer.from(file.read(MARK_BYTES, 0)).toString("hex");
    return mark === known.mark ? new RowsFile(disk, path, mark) : undefined;
  } finally {
    file.close();
  }
}

class RowsFile implements ShownRowsFile {
  readonly #disk: Disk;
  readonly #path: string;
  #mark: string;
  #read: { readonly first: number; readonly bytes: DataView } | undefined;

  constructor(disk: Disk, path: string, mark: string) {
    this.#disk = disk;
    this.#path = path;
    this.#mark = mark;
  }

  get mark(): string {
    return this.#mark;
  }

  at(row: number): ShownRow {
    const { first, bytes } = this.#rowsAround(row);
    const at = (row - first) * SHOWN_ROW_BYTES;
    if (at + SHOWN_ROW_BYTES > bytes.byteLength) throw this.#damaged();
    const word = (of: number): number => bytes.getUint32(at + 4 * of);
    const shown = { words: [word(0), word(1), word(2), word(3)], tag: word(4) } as const;
    if (word(5) !== checkOf(row, shown)) throw this.#damaged();
    return shown;
  }

  write(kept: number, rows: readonly ShownRow[]): void {
    this.#read = undefined;
    this.#disk.makeFolder(dirname(this.#path), PRIVATE_FOLDER);
    const file = this.#disk.open(this.#path, "append", PRIVATE_FILE);
    try {
      file.truncate(kept === 0 ? 0 : (kept + 1) * SHOWN_ROW_BYTES);
      if (kept === 0) {
        const mark = randomBytes(MARK_BYTES);
        file.append(Buffer.concat([mark, Buffer.alloc(SHOWN_ROW_BYTES - MARK_BYTES)]));
        this.#mark = mark.toString("hex");
      }
      file.append(bytesOf(kept, rows));
      file.datasync();
    } finally {
      file.close();
    }
  }

  #rowsAround(row: number) {
    const first = row - (row % SHOWN_ROWS_AT_ONCE);
    if (this.#read?.first === first) return this.#read;
    const file = this.#disk.open(this.#path, "read");
    try {
      const read = file.read(SHOWN_ROWS_AT_ONCE * SHOWN_ROW_BYTES, (first + 1) * SHOWN_ROW_BYTES);
      this.#read = { first, bytes: new DataView(read.buffer, read.byteOffset, read.length) };
    } finally {
      file.close();
    }
    return this.#read;
  }

  #damaged(): StorageError {
    this.#read = undefined;
    const file = this.#disk.open(this.#path, "append", PRIVATE_FILE);
    try {
      file.truncate(0);
    } finally {
      file.close();
    }
    return new StorageError("corrupt", this.#path, "holds a row that we did not write", {
      hint: "nothing is lost: it is made again from the journal",
    });
  }
}

function bytesOf(first: number, rows: readonly ShownRow[]): Uint8Array {
  const bytes = new DataView(new ArrayBuffer(rows.length * SHOWN_ROW_BYTES));
  for (const [n, row] of rows.entries()) {
    const at = n * SHOWN_ROW_BYTES;
    for (const [of, word] of row.words.entries()) bytes.setUint32(at + 4 * of, word);
    bytes.setUint32(at + 16, row.tag);
    bytes.setUint32(at + 20, checkOf(first + n, row));
  }
  return new Uint8Array(bytes.buffer);
}

/** Tells a row from what a power cut leaves, and from a row of another place. */
function checkOf(row: number, { words, tag }: ShownRow): number {
  let check = 0x2545f491;
  for (const word of [row, ...words, tag]) {
    check = Math.imul(check ^ word, 0x85ebca6b);
    check ^= check >>> 13;
  }
  return check >>> 0;
}
