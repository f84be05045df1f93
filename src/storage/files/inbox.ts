import { basename, dirname, join } from "node:path";
import {
  openIfThere,
  readWhole,
  removeTemporary,
  StorageError,
  stillNamed,
  type Disk,
  type DiskFile,
} from "../disk/disk.ts";
import { restoreLines, type InboxRepair, type RoutedLine } from "./inbox-repair.ts";
import { chunksOf, joinLines, wholeLines } from "../disk/line-splitter.ts";
import { PRIVATE_FILE } from "../disk/file-modes.ts";

/**
 * The agent's inbox.jsonl. Lines are known by their logical offset, which goes on across
 * rotations: `base` is that of the file's first byte.
 */
export interface Inbox {
  readonly base: number;
  /** The logical offset of the next line. */
  readonly end: number;
  /** The logical offsets that these lines would get: the journal notes them before they are written. */
  place(lines: readonly Uint8Array[]): number[];
  /** All of them, synced, or it throws and holds none. "replaced": recover first. */
  append(lines: readonly Uint8Array[]): void;
  /** Whether the file is as we left it: another program can remove or change it at any time. */
  isThere(): boolean;
  /**
   * Bytes of the present file or of a closed one, up to its end; undefined for what was removed. In the
   * room of `into`, if it is given.
   */
  read(offset: number, length: number, into?: Uint8Array): Uint8Array | undefined;
  /**
   * Makes the file hold exactly what the journal says, whatever a crash, or its deletion, left.
   * `durable`: a logical offset up to which it was synced (0 when unknown). `expected` streams the
   * journal's routed lines at or after a logical offset, in order; `bytesOf` reads one from its log,
   * without newline (undefined when the log no longer has it).
   */
  recover<Entry extends RoutedLine>(
    durable: number,
    expected: (from: number) => Iterable<Entry>,
    bytesOf: (entry: Entry) => Uint8Array | undefined,
  ): InboxRepair<Entry>;
  /** Every whole line of the rotated files that are kept, oldest first, by logical offset. */
  rotated(): Generator<{ readonly at: number; readonly bytes: Uint8Array }>;
  /**
   * Spec 4.1: rotated by rename at 64 MiB. `keepFrom` is asked then: the logical offset of the oldest
   * unread line. No file with such a line is removed. True when it was rotated.
   */
  rotate(keepFrom: () => number): boolean;
  close(): void;
}

const ROTATE_BYTES = 64 * 1024 * 1024;
/** Closed files that stay, read or not, for a program that still reads one. */
const KEPT_ROTATED = 2;
const OFFSET_DIGITS = 16;

/** Opens it as it is; after a start or a failure `recover` comes first. */
export function openInbox(disk: Disk, path: string, rotateBytes = ROTATE_BYTES): Inbox {
  return new InboxFile(disk, path, rotateBytes);
}

class InboxFile implements Inbox {
  readonly #disk: Disk;
  readonly #path: string;
  readonly #basePath: string;
  readonly #rotateBytes: number;
  #file: DiskFile;
  #base: number;
  #size: number;
  #closed: readonly ClosedFile[];

  constructor(disk: Disk, path: string, rotateBytes: number) {
    this.#disk = disk;
    this.#path = path;
    this.#basePath = path.replace(/(\.jsonl)?$/, ".base.json");
    this.#rotateBytes = rotateBytes;
    this.#closed = closedFiles(disk, path);
    const ends = this.#closed.map((old) => old.end);
    this.#base = Math.max(readBase(disk, this.#basePath), ...ends);
    this.#file = disk.open(path, "append", PRIVATE_FILE);
    this.#size = this.#file.stat().size;
  }

  get base(): number {
    return this.#base;
  }

  get end(): number {
    return this.#base + this.#size;
  }

  place(lines: readonly Uint8Array[]): number[] {
    let at = this.end;
    return lines.map((line) => {
      const offset = at;
      at += line.length + 1;
      return offset;
    });
  }

  append(lines: readonly Uint8Array[]): void {
    if (lines.length === 0) return;
    this.#refuseWhenTouched();
    const bytes = joinLines(lines);
    try {
      this.#file.append(bytes);
      this.#file.datasync();
    } catch (error) {
      // Its lines are in the journal: what stays here in spite of this is found by `recover`.
      this.#file.truncate(this.#size);
      throw error;
    }
    this.#size += bytes.length;
  }

  read(offset: number, length: number, into?: Uint8Array): Uint8Array | undefined {
    if (offset >= this.#base) return this.#file.read(length, offset - this.#base, into);
    const closed = this.#closed.find(({ start, end }) => start <= offset && offset < end);
    if (closed === undefined) return undefined;
    const file = openIfThere(this.#disk, closed.path);
    if (file === undefined) return undefined;
    try {
      return file.read(length, offset - closed.start, into);
    } finally {
      file.close();
    }
  }

  recover<Entry extends RoutedLine>(
    durable: number,
    expected: (from: number) => Iterable<Entry>,
    bytesOf: (entry: Entry) => Uint8Array | undefined,
  ): InboxRepair<Entry> {
    this.#file.close();
    this.#file = this.#disk.open(this.#path, "append", PRIVATE_FILE);
    const present = this.#base + this.#file.stat().size;
    // Shorter than what was synced: deleted or cut, so all of it is compared.
    const from = durable >= this.#base && durable <= present ? durable : this.#base;
    const renew = (end: number) => this.#renew(end);
    const broken = { file: this.#file, base: this.#base, renew };
    const repair = restoreLines(broken, from, expected(from), bytesOf);
    this.#size = this.#file.stat().size;
    return repair;
  }

  *rotated(): Generator<{ readonly at: number; readonly bytes: Uint8Array }> {
    for (const { path, start } of closedFiles(this.#disk, this.#path)) {
      const file = this.#disk.open(path, "read");
      try {
        for (const { bytes, start: at } of wholeLines(file, 0, file.stat().size)) {
          if (bytes !== undefined) yield { at: start + at, bytes };
        }
      } finally {
        file.close();
      }
    }
  }

  rotate(keepFrom: () => number): boolean {
    if (this.#size < this.#rotateBytes) return false;
    this.#refuseWhenTouched();
    const unreadFrom = keepFrom();
    const number = String(this.#base).padStart(OFFSET_DIGITS, "0");
    const rotated = this.#path.replace(/(\.jsonl)?$/, `.${number}.jsonl`);
    // The name carries the base, so a crash after the rename loses no offset.
    this.#disk.renameExclusive(this.#path, rotated);
    this.#file.close();
    this.#base = this.end;
    this.#size = 0;
    this.#file = this.#disk.open(this.#path, "append", PRIVATE_FILE);
    saveBase(this.#disk, this.#basePath, this.#base);
    const old = closedFiles(this.#disk, this.#path).slice(0, -KEPT_ROTATED);
    for (const { path, end } of old) if (end <= unreadFrom) this.#disk.remove(path);
    this.#closed = closedFiles(this.#disk, this.#path);
    return true;
  }

  close(): void {
    this.#file.close();
  }

  isThere(): boolean {
    return stillNamed(this.#disk, this.#file) && this.#file.stat().size === this.#size;
  }

  #renew(end: number): DiskFile {
    removeTemporary(this.#disk, this.#path);
    this.#disk.replace(this.#path, chunksOf(this.#file, 0, end), PRIVATE_FILE);
    // Opened first: when that fails, the file that was replaced is no longer there, and all is repaired again.
    const renewed = this.#disk.open(this.#path, "append", PRIVATE_FILE);
    this.#file.close();
    this.#file = renewed;
    return renewed;
  }

  #refuseWhenTouched(): void {
    if (this.isThere()) return;
    throw new StorageError("replaced", this.#path, "was changed or removed by another program", {
      hint: "it is rebuilt by itself; let agents only read the inbox",
    });
  }
}

/** A rotated file, with the logical offsets of its first byte and of its end. */
interface ClosedFile {
  readonly path: string;
  readonly start: number;
  readonly end: number;
}

/** Oldest first. */
function closedFiles(disk: Disk, path: string): ClosedFile[] {
  const folder = dirname(path);
  const stem = basename(path).replace(/\.jsonl$/, "");
  return disk.list(folder).flatMap((name) => {
    if (!name.startsWith(`${stem}.`)) return [];
    const start = /^([0-9]{16})\.jsonl$/.exec(name.slice(stem.length + 1))?.[1];
    if (start === undefined) return [];
    const at = join(folder, name);
    return [{ path: at, start: Number(start), end: Number(start) + (disk.stat(at)?.size ?? 0) }];
  });
}

function readBase(disk: Disk, path: string): number {
  const bytes = readWhole(disk, path);
  if (bytes === undefined) return 0;
  const found = /^\{"base":([0-9]{1,16})\}\n$/.exec(Buffer.from(bytes).toString("utf8"));
  if (found?.[1] !== undefined) return Number(found[1]);
  throw new StorageError("corrupt", path, "is not what we wrote", {
    hint: "remove it: the inbox is then rebuilt from the journal",
  });
}

function saveBase(disk: Disk, path: string, base: number): void {
  disk.replace(path, Buffer.from(`{"base":${base}}\n`, "utf8"), PRIVATE_FILE);
}

export type { InboxRepair };
