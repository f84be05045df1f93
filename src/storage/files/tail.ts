import { createHash } from "node:crypto";
import { MAX_LINE_BYTES } from "../../wire/limits.ts";
import { openUnlessObstructed, type Disk, type DiskFile, type FileStat } from "../disk/disk.ts";
import {
  bytesBefore,
  CHUNK_BYTES,
  chunksOf,
  isBlank,
  LineSplitter,
  NEWLINE,
} from "../disk/line-splitter.ts";

/** How far a log has been read; plain JSON. Spec 4.1, Tail. */
export interface Cursor {
  readonly dev: number;
  readonly ino: number;
  /** Just after the last newline that was consumed. */
  readonly offset: number;
  /** Whole lines consumed so far, those of archived segments included. */
  readonly lines: number;
  /** Hex SHA-256 of the last 64 KiB before `offset`. */
  readonly prefixHash: string;
  /** Bytes after `offset` of a line over the limit that no newline has ended yet. */
  readonly scanned: number;
  /** What the file looked like when it had been read up to there: nothing new while it is the same. */
  readonly size: number;
  readonly mtimeMs: number;
}

/**
 * A whole line with its byte range (newline included) and its number (1-based, in the whole log).
 * Blank lines that follow each other are one of these, with the number of the last: a megabyte of
 * newlines must not cost a million entries.
 */
export type TailLine =
  | ({ readonly kind: "line"; readonly bytes: Uint8Array } & Place)
  | ({ readonly kind: "blank" } & Place)
  /** `isTorn`: zero bytes are in it where a power cut would leave them. */
  | ({ readonly kind: "oversized"; readonly isTorn: boolean } & Place);

interface Place {
  readonly start: number;
  readonly end: number;
  readonly line: number;
}

/**
 * What was read is no longer as it was read. "obstructed": in the place of the file there is
 * something that is not read (a link, a pipe, a folder), or it is closed to us.
 */
export type Anomaly = "missing" | "shrunk" | "replaced" | "rewritten" | "obstructed";

export interface TailRead {
  readonly lines: readonly TailLine[];
  /** Where to go on; unchanged beside an anomaly; undefined while there is no file. */
  readonly cursor: Cursor | undefined;
  readonly anomaly: Anomaly | undefined;
  /** More bytes wait than this call could take. */
  readonly more: boolean;
}

const PREFIX_BYTES = 64 * 1024;
const SMALLEST_CHUNK_BYTES = 4 * 1024;
/** What is read only to be skipped goes here: a buffer each would be gigabytes of garbage. */
let skipped: Buffer | undefined;
/** Of one call; a megabyte of honest lines has half as many, one of rubbish has half a million. */
const MAX_LINES = 8_192;
/**
 * Lines that cannot be messages, for each that may be one: junk is written in bytes, and what is behind
 * it would wait for its turns.
 */
const JUNK_FOR_A_LINE = 16;
/** Time, author, type and subject have more bytes than that. */
const SHORTEST_MESSAGE = 48;
const OPEN_BRACE = 0x7b;

export interface TailOptions {
  /** The file is synced before its lines are handed out. Spec 4.1: reading is durable too. */
  readonly sync?: boolean;
  /** Of one call, beside its bytes. */
  readonly maxLines?: number;
}

/**
 * The whole lines after `cursor` (undefined: from the beginning). One call ends with the line that
 * reaches `maxBytes`; in search of a line's end it reads as far as a longest line goes. An
 * unterminated tail is never consumed.
 */
export function readNewLines(
  disk: Disk,
  path: string,
  cursor: Cursor | undefined,
  maxBytes: number,
  options: TailOptions = {},
): TailRead {
  // Most looks find nothing new, and a look is much cheaper than to open it.
  const look = cursor === undefined ? undefined : disk.stat(path);
  if (cursor !== undefined && look?.kind === "file" && look.nlink === 1) {
    if (looksTheSame(look, cursor)) return { lines: [], cursor, anomaly: undefined, more: false };
  }
  const file = openUnlessObstructed(disk, path);
  if (file === "obstructed") return { lines: [], cursor, anomaly: file, more: false };
  if (file === undefined) {
    const anomaly = cursor === undefined || cursor.offset === 0 ? undefined : "missing";
    return { lines: [], cursor, anomaly, more: false };
  }
  try {
    return readLinesFrom(file, cursor, maxBytes, options);
  } finally {
    file.close();
  }
}

/** `readNewLines` on a file that is open. @internal */
export function readLinesFrom(
  file: DiskFile,
  cursor: Cursor | undefined,
  maxBytes: number,
  options: TailOptions = {},
): TailRead {
  const stat = file.stat();
  if (cursor !== undefined) {
    if (looksTheSame(stat, cursor)) return { lines: [], cursor, anomaly: undefined, more: false };
    const anomaly = anomalyOf(file, stat, cursor);
    if (anomaly !== undefined) return { lines: [], cursor, anomaly, more: false };
  }
  const read = takeLines(file, stat, cursor, { maxBytes, maxLines: options.maxLines ?? MAX_LINES });
  if (options.sync === true && read.lines.length > 0) file.datasync();
  return read;
}

function looksTheSame(stat: FileStat, cursor: Cursor): boolean {
  const sameFile = stat.dev === cursor.dev && stat.ino === cursor.ino;
  return sameFile && stat.size === cursor.size && stat.mtimeMs === cursor.mtimeMs;
}

function anomalyOf(file: DiskFile, stat: FileStat, cursor: Cursor): Anomaly | undefined {
  const sameFile = stat.dev === cursor.dev && stat.ino === cursor.ino;
  if (stat.size < cursor.offset) return sameFile ? "shrunk" : "replaced";
  // Another file with the same beginning (git, a copy put back) is the same log.
  if (prefixHash(file, cursor.offset) === cursor.prefixHash) return undefined;
  return sameFile ? "rewritten" : "replaced";
}

function takeLines(
  file: DiskFile,
  stat: FileStat,
  cursor: Cursor | undefined,
  { maxBytes, maxLines }: { readonly maxBytes: number; readonly maxLines: number },
): TailRead {
  const from = cursor?.offset ?? 0;
  const isSame = cursor?.dev === stat.dev && cursor.ino === stat.ino;
  // A tail that its writer cut back begins again, and so does one in another file.
  const isSeen = isSame && from + cursor.scanned <= stat.size;
  const scanned = isSeen ? cursor.scanned : 0;
  const splitter = new LineSplitter(from, scanned);
  const begin = from + scanned;
  const to = Math.min(stat.size, begin + Math.max(maxBytes, MAX_LINE_BYTES + 2));
  const lines: TailLine[] = [];
  let line = cursor?.lines ?? 0;
  const maxJunk = maxLines > MAX_LINES ? maxLines : Math.min(maxLines * JUNK_FOR_A_LINE, MAX_LINES);
  let candidates = 0;
  const isEnough = (end: number) =>
    candidates >= maxLines || lines.length >= maxJunk || end - begin >= maxBytes;
  const isLent = scanned > 0;
  for (const chunk of chunksFor(file, begin, to, { maxBytes, isSkipping: isLent })) {
    // Of a line over the limit only the newline is of interest; all else is kept, in a copy.
    const isSkipped = splitter.oversized && !chunk.includes(NEWLINE);
    for (const { bytes, start, end } of splitter.feed(
      isLent && !isSkipped ? Buffer.from(chunk) : chunk,
    )) {
      line += 1;
      const place = { start, end, line };
      if (bytes === undefined || mayBeMessage(bytes)) candidates += 1;
      if (bytes !== undefined) addLine(lines, bytes, place);
      else lines.push({ kind: "oversized", isTorn: beginsWithZeros(file, start), ...place });
      if (isEnough(end)) break;
    }
    if (isEnough(splitter.start)) break;
  }
  const more = splitter.position < stat.size;
  const next: Cursor = {
    dev: stat.dev,
    ino: stat.ino,
    offset: splitter.start,
    lines: line,
    prefixHash: prefixHash(file, splitter.start),
    scanned: splitter.oversized ? splitter.position - splitter.start : 0,
    size: more ? splitter.position : stat.size,
    mtimeMs: stat.mtimeMs,
  };
  return { lines, cursor: next, anomaly: undefined, more };
}

function chunksFor(
  file: DiskFile,
  from: number,
  to: number,
  how: { readonly maxBytes: number; readonly isSkipping: boolean },
): Generator<Uint8Array> {
  skipped ??= Buffer.allocUnsafeSlow(CHUNK_BYTES);
  if (how.isSkipping) return chunksOf(file, from, to, CHUNK_BYTES, skipped);
  const bytes = Math.min(CHUNK_BYTES, Math.max(how.maxBytes, SMALLEST_CHUNK_BYTES));
  return chunksOf(file, from, to, bytes);
}

/** What is left of an author's own line is shorter than this: then zeros follow. */
function beginsWithZeros(file: DiskFile, start: number): boolean {
  return file.read(MAX_LINE_BYTES + 1, start).includes(0);
}

/** Shorter than any message, or no JSON object: it costs next to nothing to refuse. */
function mayBeMessage(bytes: Uint8Array): boolean {
  return bytes.length >= SHORTEST_MESSAGE && bytes[0] === OPEN_BRACE;
}

function addLine(lines: TailLine[], bytes: Uint8Array, place: Place): void {
  if (!isBlank(bytes)) lines.push({ kind: "line", bytes, ...place });
  else {
    const before = lines.at(-1);
    if (before?.kind === "blank") lines.pop();
    lines.push({
      kind: "blank",
      ...place,
      start: before?.kind === "blank" ? before.start : place.start,
    });
  }
}

/** Hex SHA-256 of the last 64 KiB before an offset: tells whether that much is still what it was. */
export function prefixHash(file: DiskFile, offset: number): string {
  return createHash("sha256")
    .update(bytesBefore(file, offset, PREFIX_BYTES))
    .digest("hex");
}

/** The beginning of a file whose lines continue so many others. */
export function beginningAfter(lines: number): Cursor {
  const prefixHashOfNothing = createHash("sha256").digest("hex");
  return {
    dev: 0,
    ino: 0,
    offset: 0,
    lines,
    prefixHash: prefixHashOfNothing,
    scanned: 0,
    size: -1,
    mtimeMs: 0,
  };
}

/**
 * The cursor just after `lines`, the first ones that a read from `from` gave: for one who stops there.
 * The file may have changed since they were read. Then the cursor fits no file, and the next read says
 * so: what is in their place now has not been looked at.
 */
export function cursorWithin(
  disk: Disk,
  path: string,
  from: Cursor | undefined,
  lines: readonly TailLine[],
): Cursor | undefined {
  const last = lines.at(-1);
  if (last === undefined) return from;
  const begin = from === undefined ? 0 : from.offset + from.scanned;
  const again = readNewLines(disk, path, from, last.end - begin, { maxLines: Infinity });
  const isSame =
    again.lines.length === lines.length && again.lines.every((line, at) => isLine(line, lines[at]));
  const cursor = isSame ? again.cursor : undefined;
  const { dev, ino, prefixHash: hash } = cursor ?? { dev: 0, ino: 0, prefixHash: "" };
  const place = { dev, ino, offset: last.end, lines: last.line, prefixHash: hash };
  return { ...place, ...NOT_LOOKED_AT };
}

function isLine(line: TailLine, other: TailLine | undefined): boolean {
  if (line.kind !== other?.kind || line.start !== other.start || line.end !== other.end)
    return false;
  return line.kind !== "line" || other.kind !== "line" || equalBytes(line.bytes, other.bytes);
}

function equalBytes(some: Uint8Array, other: Uint8Array): boolean {
  return Buffer.compare(some, other) === 0;
}

/** No size is -1: the next read looks at the file in any case. */
const NOT_LOOKED_AT = { scanned: 0, size: -1, mtimeMs: 0 };

/**
 * The cursor just after line number `line`, which ends at `offset`. Of a file that is not there now: one
 * that the next read finds it "missing" or "replaced" with.
 */
export function cursorAt(disk: Disk, path: string, offset: number, line: number): Cursor {
  const file = openUnlessObstructed(disk, path);
  if (file === undefined || file === "obstructed") {
    return { dev: 0, ino: 0, offset, lines: line, prefixHash: "", ...NOT_LOOKED_AT };
  }
  try {
    const { dev, ino } = file.stat();
    const hash = prefixHash(file, offset);
    return { dev, ino, offset, lines: line, prefixHash: hash, ...NOT_LOOKED_AT };
  } finally {
    file.close();
  }
}
