import { join } from "node:path";
import { openUnlessObstructed } from "../../storage/disk/disk.ts";
import type { Session } from "../session/session.ts";

/** Where a message is: its entry in the journal, its line in its log, and where it is in the inbox. */
export interface SearchedRow {
  readonly entry: number;
  readonly log: string;
  readonly start: number;
  readonly length: number;
  readonly inbox: number | undefined;
}

/** Bytes that are read at once. */
const READ_BYTES = 1_048_576;
/** What JSON writes as it is, in one way only: no space is put beside it, and no writer escapes it. */
const PLAIN = /[a-z0-9_.;!?()@#$%^*+=|~`-]+(?: [a-z0-9_.;!?()@#$%^*+=|~`-]+)*/g;

/**
 * The rows of which the bytes may hold a text, in their order; `needle` is in lower case. Lines that are
 * together are read and looked through as one text: that is many times cheaper than parsing each.
 */
export function rowsWithText(
  session: Pick<Session, "world" | "place" | "files">,
  rows: readonly SearchedRow[],
  needle: string,
): SearchedRow[] {
  const pattern = patternFor(needle);
  const hits = new Set<SearchedRow>();
  const sources = new Map<string | undefined, SearchedRow[]>();
  for (const row of rows) {
    const source = row.inbox === undefined ? row.log : undefined;
    const lying = sources.get(source);
    if (lying === undefined) sources.set(source, [row]);
    else lying.push(row);
  }
  for (const [log, lying] of sources) {
    const read = readerOf(session, log);
    if (read === undefined) continue;
    try {
      for (const piece of piecesOf(lying))
        for (const row of within(piece, read.at, pattern)) hits.add(row);
    } finally {
      read.close();
    }
  }
  return rows.filter((row) => hits.has(row));
}

/**
 * The longest part of the text that JSON writes as it is. Without one every line is meant that holds
 * something else than ASCII, or an escape.
 */
function patternFor(needle: string): RegExp {
  if (needle === "") return /[^]/g;
  const parts = [...needle.matchAll(PLAIN)].map(([part]) => part);
  const [longest] = parts.sort((a, b) => b.length - a.length);
  if (longest === undefined) return /[\u0080-\u00ff]|\\/g;
  return new RegExp(longest.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "gi");
}

interface Reader {
  at(offset: number, length: number): Uint8Array | undefined;
  close(): void;
}

/** Of a log or, for undefined, of the inbox. */
function readerOf(
  { world, place, files }: Pick<Session, "world" | "place" | "files">,
  log: string | undefined,
): Reader | undefined {
  if (log === undefined) {
    return { at: (offset, length) => files.inbox.read(offset, length), close: () => undefined };
  }
  const path = place.layout.logs.get(log)?.path;
  if (path === undefined) return undefined;
  const file = openUnlessObstructed(world.disk, join(place.wire.folder, path));
  if (file === undefined || file === "obstructed") return undefined;
  return { at: (offset, length) => file.read(length, offset), close: () => file.close() };
}

/** Lines that follow each other in one file. */
interface Piece {
  readonly from: number;
  length: number;
  readonly rows: SearchedRow[];
}

function piecesOf(rows: readonly SearchedRow[]): Piece[] {
  const pieces: Piece[] = [];
  for (const row of rows.toSorted((a, b) => offsetOf(a) - offsetOf(b))) {
    const from = offsetOf(row);
    const last = pieces.at(-1);
    if (last !== undefined && last.from + last.length === from && last.length < READ_BYTES) {
      last.rows.push(row);
      last.length += row.length;
    } else pieces.push({ from, length: row.length, rows: [row] });
  }
  return pieces;
}

function offsetOf({ inbox, start }: SearchedRow): number {
  return inbox ?? start;
}

function within({ from, length, rows }: Piece, read: Reader["at"], pattern: RegExp): SearchedRow[] {
  const bytes = read(from, length);
  if (bytes === undefined) return [];
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
  const found: SearchedRow[] = [];
  let at = 0;
  pattern.lastIndex = 0;
  for (let hit = pattern.exec(text); hit !== null; hit = pattern.exec(text)) {
    const isBefore = (row: SearchedRow): boolean => offsetOf(row) - from + row.length <= hit.index;
    while (at < rows.length && isBefore(rows[at] as SearchedRow)) at += 1;
    const row = rows[at];
    if (row === undefined) break;
    found.push(row);
    // One hit is enough: on with the next line.
    pattern.lastIndex = offsetOf(row) - from + row.length;
  }
  return found;
}
