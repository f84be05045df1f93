import { join } from "node:path";
import { openUnlessObstructed } from "../../storage/disk/disk.ts";
import type { Session } from "../session/session.ts";
import { patternFor, type BytePattern } from "./byte-pattern.ts";
import type { SearchedRows } from "./searched-rows.ts";

/** Bytes that are read at once, or one longer line. */
const READ_BYTES = 524_288;
/** Where they are read to: a page is looked through in one step of the loop. */
let room: Uint8Array | undefined;
const roomFor = (length: number) =>
  length <= READ_BYTES ? (room ??= new Uint8Array(READ_BYTES)) : undefined;

/**
 * The rows of which the bytes may hold a text, in their order; `needle` is in lower case. Lines that are
 * together are read and looked through as one piece: that is many times cheaper than parsing each.
 */
export function rowsWithText(
  session: Pick<Session, "world" | "place" | "files">,
  rows: SearchedRows,
  needle: string,
): number[] {
  const pattern = patternFor(needle);
  const hits: number[] = [];
  const inLogs = new Map<number, number[]>();
  const inInbox: number[] = [];
  const isOfLog = (row: number): void => {
    const log = rows.logs[row] as number;
    const lying = inLogs.get(log);
    if (lying === undefined) inLogs.set(log, [row]);
    else lying.push(row);
  };
  for (let row = rows.count - 1; row >= 0; row -= 1) {
    if (rows.isInInbox(row)) inInbox.push(row);
    else isOfLog(row);
  }
  const { inbox } = session.files;
  const lookInInbox = { pattern, at: rows.inboxes, lengths: rows.lengths, hits, lacks: isOfLog };
  // Files of the inbox that were read are removed one day; what was in them is in the logs.
  lookThrough(inInbox, lookInInbox, (at, length) => inbox.read(at, length, roomFor(length)));
  for (const [number, lying] of inLogs) {
    const read = readerOf(session, number);
    if (read === undefined) continue;
    const lookInLog = { ...lookInInbox, at: rows.starts, lacks: () => undefined };
    try {
      lookThrough(lying, lookInLog, read.at);
    } finally {
      read.close();
    }
  }
  // Each row was looked for in one place.
  return hits.sort((a, b) => a - b);
}

type Read = (offset: number, length: number) => Uint8Array | undefined;

/** Of a log of the wire, by its number in the layout. */
function readerOf(
  { world, place }: Pick<Session, "world" | "place">,
  number: number,
): { readonly at: Read; close(): void } | undefined {
  const log = [...place.layout.logs.values()][number];
  if (log === undefined) return undefined;
  const file = openUnlessObstructed(world.disk, join(place.wire.folder, log.path));
  if (file === undefined || file === "obstructed") return undefined;
  return {
    at: (offset, length) => file.read(length, offset, roomFor(length)),
    close: () => file.close(),
  };
}

interface Look {
  readonly pattern: BytePattern;
  /** Where each row is in the file. */
  readonly at: Float64Array;
  readonly lengths: Uint32Array;
  /** Rows that have it are added. */
  readonly hits: number[];
  /** Told of each row that the file lacks. */
  lacks(row: number): void;
}

/** Looks through the lines of some rows in one file, as many at once as are read at once. */
function lookThrough(rows: number[], { pattern, at, lengths, hits, lacks }: Look, read: Read) {
  const offsetOf = (row: number): number => at[row] as number;
  const endOf = (row: number): number => offsetOf(row) + (lengths[row] as number);
  if (rows.some((row, each) => each > 0 && offsetOf(row) < offsetOf(rows[each - 1] as number))) {
    rows.sort((a, b) => offsetOf(a) - offsetOf(b));
  }
  for (let first = 0; first < rows.length;) {
    const from = offsetOf(rows[first] as number);
    let next = first + 1;
    let to = endOf(rows[first] as number);
    while (next < rows.length && offsetOf(rows[next] as number) === to) {
      const end = endOf(rows[next] as number);
      if (end - from > READ_BYTES) break;
      to = end;
      next += 1;
    }
    const bytes = read(from, to - from);
    // A file of the inbox ends, and the next one has the rest.
    const readTo = from + (bytes?.length ?? 0);
    if (bytes === undefined || readTo < endOf(rows[first] as number)) {
      lacks(rows[first] as number);
      first += 1;
      continue;
    }
    let hit = pattern.firstIn(bytes, 0);
    while (first < next && endOf(rows[first] as number) <= readTo) {
      const row = rows[first] as number;
      const end = endOf(row) - from;
      if (hit >= 0 && hit < end) {
        hits.push(row);
        // One hit is enough: on with the next line.
        hit = pattern.firstIn(bytes, end);
      }
      first += 1;
    }
  }
}
