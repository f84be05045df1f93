import { createHash } from "node:crypto";
import { basename, dirname, join } from "node:path";
import {
  openLocked,
  removeTemporary,
  StorageError,
  stillNamed,
  type Disk,
  type DiskFile,
} from "../storage/disk/disk.ts";
import { PRIVATE_FILE } from "../storage/disk/file-modes.ts";
import {
  bytesBefore,
  chunksOf,
  joinLines,
  wholeLines,
  type WholeLine,
} from "../storage/disk/line-splitter.ts";
import type { Store } from "../store/store.ts";
import { eventId } from "../wire/canonical.ts";
import { parseObject } from "../wire/json/json.ts";

/** A line of a plain file, as the store has it. */
export interface PlainRow {
  /** Rows are numbered from 1 in the order of delivery; numbers may be missing. */
  readonly m: number;
  readonly id: string;
  /** Without a newline. */
  readonly bytes: Uint8Array;
}

/** What the store knows of one plain file. */
export interface PlainRows {
  /** Rows behind a number, in order. */
  after(m: number, limit: number): readonly PlainRow[];
  /** Number of the row with that id. */
  numberOf(id: string): number | undefined;
  /** Number of the oldest row that is unread. */
  oldestUnread(): number | undefined;
  loadWritten(): Written | undefined;
  /** One transaction. */
  saveWritten(written: Written): void;
}

/** How far a plain file is written; plain JSON. When it is old or lost the file itself is read again. */
export interface Written {
  /** Number of the last row that is in the file or in a part. */
  readonly through: number;
  /** Logical offset of the first byte of the file. */
  readonly base: number;
  /** Bytes of the file that hold what is written, and the hex SHA-256 of the last 64 KiB of them. */
  readonly size: number;
  readonly tail: string;
  /** For each part, by its logical offset: number of the last row that was written when it was closed. */
  readonly parts: readonly (readonly [start: number, through: number])[];
  /** The file or a part has lines that are no rows of the store. */
  readonly hasUnknown: boolean;
}

const ROTATE_BYTES = 64 * 1024 * 1024;
/** Parts that are kept although all in them is read, for a program that still reads one. */
const KEPT_PARTS = 2;
const OFFSET_DIGITS = 16;
const TAIL_BYTES = 64 * 1024;
/** What a start after a kill reads again, at most about. */
const SAVE_BYTES = 1024 * 1024;
/** Of one append: a row has at most 1 MiB. */
const MAX_ROWS = 64;
const INBOX_META = "inbox written";

/**
 * A file that repeats rows of the store for people and programs that read files: each row exactly once, byte
 * for byte, one on a line, in the order of delivery. It is written after the commit and repaired from the
 * store. Spec 4.8.
 */
export class PlainFile {
  readonly #disk: Disk;
  readonly #path: string;
  readonly #rows: PlainRows;
  readonly #idOf: (line: Uint8Array) => string | undefined;
  readonly #rotateBytes: number;
  /** As we left it; undefined: it has to be read first. */
  #file: OpenFile | undefined;
  #through = 0;
  #parts = new Map<number, number>();
  /** Ids of lines that the store lacks. Some only after the database was lost, or replaced by an older copy. */
  #unknown = new Set<string>();
  #unsavedBytes = 0;

  /** @param idOf the id of a line of this file; undefined: it is none that was ever written */
  constructor(
    disk: Disk,
    path: string,
    rows: PlainRows,
    idOf: (line: Uint8Array) => string | undefined,
    rotateBytes = ROTATE_BYTES,
  ) {
    this.#disk = disk;
    this.#path = path;
    this.#rows = rows;
    this.#idOf = idOf;
    this.#rotateBytes = rotateBytes;
  }

  /**
   * Appends and syncs each row that the file does not have; repairs the file first when it is not as it was
   * left. After a failure the next call repairs what is left of it.
   *
   * @throws StorageError
   */
  write(): void {
    try {
      if (this.#file === undefined || !isAsLeft(this.#disk, this.#file)) this.#repair();
      else this.#append(this.#file, new Set());
      this.#rotate();
      if (this.#unsavedBytes >= SAVE_BYTES) this.#save();
    } catch (error) {
      this.#release();
      throw error;
    }
  }

  /** @throws StorageError */
  close(): void {
    try {
      if (this.#unsavedBytes > 0) this.#save();
    } finally {
      this.#release();
    }
  }

  #append(open: OpenFile, present: ReadonlySet<number>): void {
    const before = open.size;
    for (;;) {
      const rows = this.#rows.after(this.#through, MAX_ROWS);
      const end = rows.at(-1);
      if (end === undefined) break;
      const missing = rows.filter(({ m, id }) => !present.has(m) && !this.#unknown.delete(id));
      const bytes = joinLines(missing.map((row) => row.bytes));
      if (bytes.length > 0) open.file.append(bytes);
      open.size += bytes.length;
      this.#through = end.m;
    }
    if (open.size > before) open.file.datasync();
    this.#unsavedBytes += open.size - before;
  }

  /** Reads what may have changed since it was saved last, and makes it whole. */
  #repair(): void {
    this.#release();
    removeTemporary(this.#disk, this.#path);
    const written = this.#rows.loadWritten() ?? NOTHING_WRITTEN;
    const parts = listParts(this.#disk, this.#path);
    const base = Math.max(written.base, ...parts.map(({ end }) => end));
    const file = openToWrite(this.#disk, this.#path);
    this.#file = { file, base, size: file.stat().size };
    this.#parts = new Map(written.parts);
    const isContinued =
      !written.hasUnknown && base === written.base && hasTail(file, written.size, written.tail);
    const read = new LinesRead(this.#rows, this.#idOf);
    if (isContinued) {
      read.through = written.through;
    } else {
      const oldest = parts[0]?.start ?? base;
      // The part that it was then is gone by now, with all that was written.
      const isRemoved = written.size > 0 && oldest >= written.base + written.size;
      read.through = isRemoved ? written.through : Math.max(0, ...this.#parts.values());
      for (const { path } of parts) readPart(this.#disk, path, read);
    }
    this.#file.size = this.#clean(this.#file, isContinued ? written.size : 0, read);
    this.#through = read.through;
    this.#unknown = read.unknown;
    this.#append(this.#file, read.rows);
    this.#save();
  }

  /**
   * Cuts an unterminated end, and removes what is no line of this file or stands there twice. What stays is
   * durable then. Returns the size.
   */
  #clean(open: OpenFile, from: number, read: LinesRead): number {
    let end = from;
    const removed: { start: number; end: number }[] = [];
    for (const line of wholeLines(open.file, from, open.size)) {
      end = line.end;
      if (read.add(line)) continue;
      const last = removed.at(-1);
      if (last?.end === line.start) last.end = line.end;
      else removed.push({ start: line.start, end: line.end });
    }
    if (removed.length === 0) {
      if (end < open.size) open.file.truncate(end);
      // A process that was killed may not have synced it, and what a failed sync lost looks as if it was there.
      open.file.writeAgain(from, end);
      open.file.datasync();
      return end;
    }
    this.#disk.replace(this.#path, bytesBetween(open.file, removed, end), PRIVATE_FILE);
    open.file.close();
    open.file = openToWrite(this.#disk, this.#path);
    return open.file.stat().size;
  }

  #rotate(): void {
    const open = this.#file;
    if (open === undefined || open.size < this.#rotateBytes) return;
    // A part that is named by its offset needs no note: a kill here costs another reading.
    this.#disk.renameExclusive(this.#path, partPath(this.#path, open.base));
    open.file.close();
    open.base += open.size;
    open.size = 0;
    open.file = openToWrite(this.#disk, this.#path);
    const parts = listParts(this.#disk, this.#path);
    this.#parts = new Map(
      parts.map(({ start }) => [start, this.#parts.get(start) ?? this.#through]),
    );
    // Who finds a part missing must know by then that its rows were written.
    this.#save();
    const unread = this.#rows.oldestUnread() ?? Infinity;
    for (const { path, start } of parts.slice(0, -KEPT_PARTS))
      if ((this.#parts.get(start) ?? Infinity) < unread) this.#disk.remove(path);
  }

  #save(): void {
    if (this.#file === undefined) return;
    const { file, base, size } = this.#file;
    const parts = [...this.#parts];
    const hasUnknown = this.#unknown.size > 0;
    const tail = tailHash(file, size);
    this.#rows.saveWritten({ through: this.#through, base, size, tail, parts, hasUnknown });
    this.#unsavedBytes = 0;
  }

  #release(): void {
    this.#file?.file.close();
    this.#file = undefined;
  }
}

interface OpenFile {
  file: DiskFile;
  base: number;
  size: number;
}

/** The lines of a file and its parts, compared with the rows of the store. */
class LinesRead {
  /** All rows up to this number count as read. */
  through = 0;
  /** Numbers of the rows behind it that were read. */
  readonly rows = new Set<number>();
  readonly unknown = new Set<string>();
  readonly #store: PlainRows;
  readonly #idOf: (line: Uint8Array) => string | undefined;

  constructor(store: PlainRows, idOf: (line: Uint8Array) => string | undefined) {
    this.#store = store;
    this.#idOf = idOf;
  }

  /** False for what is no line of this file, or was read before. */
  add({ bytes }: WholeLine): boolean {
    const id = bytes === undefined ? undefined : this.#idOf(bytes);
    if (id === undefined) return false;
    const m = this.#store.numberOf(id);
    if (m !== undefined && m <= this.through) return false;
    if (m === undefined ? this.unknown.has(id) : this.rows.has(m)) return false;
    if (m === undefined) this.unknown.add(id);
    else this.rows.add(m);
    return true;
  }
}

const NOTHING_WRITTEN: Written = {
  ...{ through: 0, base: 0, size: 0, parts: [], hasUnknown: false },
  tail: createHash("sha256").digest("hex"),
};

/** Mail of a store, as rows of `inbox.jsonl`. */
export function inboxRows(store: Store): PlainRows {
  return {
    after: (m, limit) => mailRows(store, store.mail.after({}, m, limit)),
    numberOf: (id) => mailRows(store, store.mail.after({ id }, 0, 1))[0]?.m,
    oldestUnread: () => mailRows(store, store.mail.after({ unread: true }, 0, 1))[0]?.m,
    ...writtenIn(store, INBOX_META),
  };
}

/** Keeps how far a file is written as a value of `meta`. */
export function writtenIn(
  store: Store,
  name: string,
): Pick<PlainRows, "loadWritten" | "saveWritten"> {
  return {
    loadWritten() {
      const written = store.meta(name);
      return written === undefined ? undefined : (JSON.parse(written) as Written);
    },
    saveWritten(written) {
      store.write((into) => {
        into.setMeta(name, JSON.stringify(written));
      });
    },
  };
}

function mailRows(store: Store, ns: readonly number[]): PlainRow[] {
  return ns.flatMap((n) => {
    const line = store.line(n);
    if (line === undefined || line.delivered === null) return [];
    return [{ m: line.delivered, id: line.id, bytes: line.bytes }];
  });
}

/** The id of a line of mail, which was checked when it was taken in. */
export function mailId(line: Uint8Array): string | undefined {
  const parsed = parseObject(line);
  if (!parsed.ok) return undefined;
  const said = parsed.value["event_id"];
  return typeof said === "string" && /^[0-9a-f]{64}$/.test(said) ? said : eventId(parsed.value);
}

/** The id of a line of notices. Spec 3.12. */
export function noticeId(line: Uint8Array): string | undefined {
  const parsed = parseObject(line);
  const id = parsed.ok ? parsed.value["id"] : undefined;
  return typeof id === "string" ? id : undefined;
}

function isAsLeft(disk: Disk, { file, size }: OpenFile): boolean {
  return stillNamed(disk, file) && file.stat().size === size;
}

function openToWrite(disk: Disk, path: string): DiskFile {
  const file = openLocked(disk, path, { mode: PRIVATE_FILE });
  if (file !== undefined) return file;
  throw new StorageError("locked", path, "another process writes to it", {
    hint: "find the other process of this agent with: lslocks",
  });
}

function hasTail(file: DiskFile, size: number, tail: string): boolean {
  return file.stat().size >= size && tailHash(file, size) === tail;
}

function tailHash(file: DiskFile, size: number): string {
  return createHash("sha256")
    .update(bytesBefore(file, size, TAIL_BYTES))
    .digest("hex");
}

function readPart(disk: Disk, path: string, read: LinesRead): void {
  const file = disk.open(path, "read");
  try {
    for (const line of wholeLines(file, 0, file.stat().size)) read.add(line);
  } finally {
    file.close();
  }
}

function* bytesBetween(
  file: DiskFile,
  removed: readonly { readonly start: number; readonly end: number }[],
  end: number,
): Generator<Uint8Array> {
  let from = 0;
  for (const each of removed) {
    yield* chunksOf(file, from, each.start);
    from = each.end;
  }
  yield* chunksOf(file, from, end);
}

interface Part {
  readonly path: string;
  /** Logical offsets of its first byte, and just after its last one. */
  readonly start: number;
  readonly end: number;
}

function partPath(path: string, base: number): string {
  return path.replace(/(\.jsonl)?$/, `.${String(base).padStart(OFFSET_DIGITS, "0")}.jsonl`);
}

/** Oldest first. */
function listParts(disk: Disk, path: string): Part[] {
  const folder = dirname(path);
  const stem = basename(path).replace(/\.jsonl$/, "");
  return disk.list(folder).flatMap((name) => {
    if (!name.startsWith(`${stem}.`)) return [];
    const start = /^([0-9]{16})\.jsonl$/.exec(name.slice(stem.length + 1))?.[1];
    if (start === undefined) return [];
    const part = join(folder, name);
    return [
      { path: part, start: Number(start), end: Number(start) + (disk.stat(part)?.size ?? 0) },
    ];
  });
}
