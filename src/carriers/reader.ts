import { createHash } from "node:crypto";
import {
  openUnlessObstructed,
  type Disk,
  type DiskFile,
  type FileStat,
} from "../storage/disk/disk.ts";
import { bytesBefore, chunksOf, isBlank, LineSplitter } from "../storage/disk/line-splitter.ts";
import { parseObject } from "../wire/json/json.ts";
import { MAX_LINE_BYTES } from "../wire/limits.ts";
import { isPacked, unpack } from "./packed.ts";

/** How far a carrier was read. It only saves work. */
interface CarrierCursor {
  readonly dev: number;
  readonly ino: number;
  /** Just after the last newline that was read. */
  readonly offset: number;
  /** Hex SHA-256 of the last 64 KiB before `offset`. */
  readonly prefixHash: string;
  /** Bytes behind `offset` of a line over the limit that no newline has ended yet. */
  readonly scanned: number;
  /** Nothing is new while the file looks so. */
  readonly size: number;
  readonly mtimeMs: number;
  /**
   * Of a compressed file, whose `offset` counts its content: where the member begins in which the next line
   * does, bytes of content before that line in it, and the size of the file.
   */
  readonly packed?: { readonly at: number; readonly within: number; readonly size: number };
}

export interface CarrierRead {
  /** Whole lines that are not blank, without their newlines. */
  readonly lines: readonly Uint8Array[];
  /** Lines over the limit, which are skipped. */
  readonly oversized: number;
  /** Bytes read that belong to no returned line; absent: none. */
  readonly passed?: number;
  /** Where to go on, as opaque text for the store; undefined: at the beginning. */
  readonly cursor: string | undefined;
  /** Whether more can be read at once. */
  readonly hasMore: boolean;
  /** What was read before is not what it was: reading began again. */
  readonly isAgain: boolean;
  /** It has become shorter than what was read of it. */
  readonly isShorter?: boolean;
  /** In its place is no regular file with one name that we may read. */
  readonly isObstructed?: true;
  /** Why what follows in a compressed file cannot be read: it is passed over. */
  readonly unreadable?: string;
}

/** What one call may read, about. */
export interface ReadBudget {
  readonly bytes: number;
  readonly lines: number;
}

const PREFIX_BYTES = 64 * 1024;
const PORTION: ReadBudget = { bytes: 1024 * 1024, lines: 8_192 };

/**
 * The lines behind a cursor, whatever else is in the file. A cursor that cannot be parsed means the beginning. An
 * unterminated end is left for later. A file that is missing, or that is no regular file with one name, has no
 * lines. One whose name ends in `.gz` is read as what it was compressed from. Spec 1.9, 1.10.
 *
 * @throws StorageError when the disk fails
 */
export function readCarrier(
  disk: Disk,
  path: string,
  cursorText: string | undefined,
  budget: ReadBudget,
): CarrierRead {
  const cursor = parseCursor(cursorText);
  // Most looks find nothing new, and a look is much cheaper than to open it.
  const look = cursor === undefined ? undefined : disk.stat(path);
  if (cursor !== undefined && look?.kind === "file" && look.nlink === 1 && isSame(look, cursor))
    return { ...NOTHING, cursor: cursorText };
  const file = openUnlessObstructed(disk, path);
  if (file === undefined) return { ...NOTHING, cursor: undefined };
  if (file === "obstructed") return { ...NOTHING, cursor: cursorText, isObstructed: true };
  try {
    const stat = file.stat();
    if (isPacked(path)) return takePacked(file, stat, cursor, budget);
    const isAgain = cursor !== undefined && !isContinued(file, stat, cursor);
    const isShorter = isAgain && stat.size < cursor.offset;
    return {
      ...takeLines(file, stat, isAgain ? undefined : cursor, budget),
      ...{ isAgain, isShorter },
    };
  } finally {
    file.close();
  }
}

/** All whole lines of a carrier that are not blank, read in portions. @throws StorageError */
export function* readAllLines(disk: Disk, path: string): Generator<Uint8Array> {
  let read: CarrierRead | undefined;
  do {
    read = readCarrier(disk, path, read?.cursor, PORTION);
    yield* read.lines;
  } while (read.hasMore);
}

function parseCursor(text: string | undefined): CarrierCursor | undefined {
  if (text === undefined || !parseObject(Buffer.from(text)).ok) return undefined;
  const cursor = JSON.parse(text) as CarrierCursor;
  const names = ["dev", "ino", "offset", "scanned", "size", "mtimeMs"] as const;
  const isSound = names.every((name) => typeof cursor[name] === "number" && cursor[name] >= 0);
  return isSound && typeof cursor.prefixHash === "string" ? cursor : undefined;
}

const NOTHING = { lines: [], oversized: 0, hasMore: false, isAgain: false };

function isSame(stat: FileStat, { dev, ino, size, mtimeMs }: CarrierCursor): boolean {
  return stat.dev === dev && stat.ino === ino && stat.size === size && stat.mtimeMs === mtimeMs;
}

/** Another file with the same beginning (git, a copy put back) goes on too. */
function isContinued(file: DiskFile, stat: FileStat, cursor: CarrierCursor): boolean {
  return stat.size >= cursor.offset && prefixHash(file, cursor.offset) === cursor.prefixHash;
}

function takeLines(
  file: DiskFile,
  stat: FileStat,
  cursor: CarrierCursor | undefined,
  budget: ReadBudget,
): Omit<CarrierRead, "isAgain"> {
  const from = cursor?.offset ?? 0;
  const isSameFile = cursor?.dev === stat.dev && cursor.ino === stat.ino;
  const scanned = isSameFile && from + cursor.scanned <= stat.size ? cursor.scanned : 0;
  const begin = from + scanned;
  const splitter = new LineSplitter(from, scanned);
  // In search of the end of a line it reads as far as a longest line goes.
  const to = Math.min(stat.size, begin + Math.max(budget.bytes, MAX_LINE_BYTES + 2));
  const taking = new Taking(budget, begin);
  for (const chunk of chunksOf(file, begin, to)) if (taking.feed(splitter, chunk)) break;
  const { lines, oversized } = taking;
  const hasMore = splitter.position < stat.size;
  const next: CarrierCursor = {
    dev: stat.dev,
    ino: stat.ino,
    offset: splitter.start,
    prefixHash: prefixHash(file, splitter.start),
    scanned: splitter.oversized ? splitter.position - splitter.start : 0,
    size: hasMore ? splitter.position : stat.size,
    mtimeMs: stat.mtimeMs,
  };
  const passed = next.offset + next.scanned - begin - taking.bytes;
  return { lines, oversized, passed, cursor: JSON.stringify(next), hasMore };
}

/** An archived part never changes: one that does is read from its beginning. */
function takePacked(
  file: DiskFile,
  stat: FileStat,
  cursor: CarrierCursor | undefined,
  budget: ReadBudget,
): CarrierRead {
  const { dev, ino, mtimeMs } = stat;
  const isContinued =
    cursor?.packed?.size === stat.size &&
    cursor.dev === dev &&
    cursor.ino === ino &&
    cursor.mtimeMs === mtimeMs;
  const from = isContinued ? cursor : undefined;
  const { offset = 0, scanned = 0, packed = { at: 0, within: 0 } } = from ?? {};
  const splitter = new LineSplitter(offset, scanned);
  const began = splitter.position;
  const taking = new Taking(budget, began);
  const most = Math.max(budget.bytes, MAX_LINE_BYTES + 2);
  /** The member in which the line begins that has not ended yet, and how much content is before that member. */
  let member = { at: packed.at, start: began - packed.within };
  let next = packed;
  let isFull = false;
  const members = unpack(file, packed.at);
  let step = members.next();
  for (let { within } = packed; step.done !== true && !isFull; within = 0) {
    const { at, end, content } = step.value;
    const start = splitter.position - within;
    isFull = taking.feed(splitter, content.subarray(within)) || splitter.position - began >= most;
    if (splitter.start >= start) member = { at, start };
    // The rest of a line that is too long is of no interest.
    next = splitter.oversized
      ? { at: end, within: 0 }
      : { at: member.at, within: splitter.start - member.start };
    if (!isFull) step = members.next();
  }
  const { lines, oversized } = taking;
  // Blanks, or bytes without a newline: a small file would give work for hours.
  const isEmpty = isFull && lines.length === 0 && oversized === 0;
  const ended = step.done === true ? step.value : undefined;
  const unreadable = isEmpty ? "it goes on for too long without a line" : ended;
  const hasMore = step.done !== true && unreadable === undefined;
  const ahead = splitter.oversized ? splitter.position - splitter.start : 0;
  return {
    ...{ lines, oversized, hasMore, isAgain: cursor !== undefined && from === undefined },
    passed: splitter.start + ahead - began - taking.bytes,
    ...(unreadable === undefined ? {} : { unreadable }),
    cursor: JSON.stringify({
      ...{ dev, ino, mtimeMs, offset: splitter.start, prefixHash: "" },
      scanned: ahead,
      size: hasMore ? 0 : stat.size,
      packed: { ...next, size: stat.size },
    } satisfies CarrierCursor),
  };
}

/** The lines that one call takes. */
class Taking {
  readonly lines: Uint8Array[] = [];
  oversized = 0;
  /** Of the lines, with their newlines. */
  bytes = 0;
  readonly #budget: ReadBudget;
  readonly #begin: number;

  constructor(budget: ReadBudget, begin: number) {
    this.#budget = budget;
    this.#begin = begin;
  }

  /** True when the budget is used up. */
  feed(splitter: LineSplitter, chunk: Uint8Array): boolean {
    for (const { bytes, end } of splitter.feed(chunk)) {
      if (bytes === undefined) this.oversized += 1;
      else if (!isBlank(bytes)) {
        this.lines.push(bytes);
        this.bytes += bytes.length + 1;
      }
      const count = this.lines.length + this.oversized;
      if (count >= this.#budget.lines || end - this.#begin >= this.#budget.bytes) return true;
    }
    return splitter.start - this.#begin >= this.#budget.bytes;
  }
}

function prefixHash(file: DiskFile, offset: number): string {
  return createHash("sha256")
    .update(bytesBefore(file, offset, PREFIX_BYTES))
    .digest("hex");
}
