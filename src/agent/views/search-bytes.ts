import { join } from "node:path";
import { openUnlessObstructed } from "../../storage/disk/disk.ts";
import { logNumber, type LineRow } from "../../storage/files/line-row.ts";
import type { Session } from "../session/session.ts";

/** A page looks through so many messages and bytes: a daemon does nothing else meanwhile. */
const PAGE_ROWS = 16_384;
const PAGE_SEARCHED_BYTES = 8 * 1_048_576;
/** Bytes that are read at once, or one longer line. A larger piece becomes a string outside the heap: 20 times slower. */
const READ_BYTES = 65_536;

/** Where a message is: its entry in the journal, its line in its log, and in the inbox if it was delivered. */
export type SearchedRow = Pick<LineRow, "entry" | "log" | "start" | "length" | "inbox">;

/** The newest messages whose entries begin before `before`, newest first: as many as a page looks through. */
export function searchedRows(
  { journal }: Pick<Session["files"], "journal">,
  before: number,
): { readonly rows: SearchedRow[]; readonly hasOlder: boolean } {
  const rows: SearchedRow[] = [];
  let bytes = 0;
  let hasOlder = false;
  const take = (row: LineRow): false | "enough" => {
    if (!row.isAccepted) return false;
    bytes += row.length;
    hasOlder = rows.length === PAGE_ROWS || (rows.length > 0 && bytes > PAGE_SEARCHED_BYTES);
    if (hasOlder) return "enough";
    const { entry, log, start, length, inbox } = row;
    rows.push({ entry, log, start, length, inbox });
    return false;
  };
  journal.find(take, { before, order: "newest first" });
  return { rows, hasOlder };
}

/**
 * The entries of the messages whose bytes may hold `needle`, which is in lower case, newest first.
 * Adjacent lines are read and searched as one piece, which is much cheaper than parsing each.
 */
export function entriesWithText(
  { world, place, files }: Pick<Session, "world" | "place" | "files">,
  rows: readonly SearchedRow[],
  needle: string,
): number[] {
  const pattern = patternFor(needle);
  const hits: number[] = [];
  const delivered = rows.flatMap((row) =>
    row.inbox === undefined ? [] : [{ row, at: row.inbox }],
  );
  const { inbox } = files;
  const lacking = lookThrough(delivered, pattern, hits, (at, length) => inbox.read(at, length));
  // Inbox files that were read are removed some day; the logs still have what was in them.
  const inLogs = [...rows.filter((row) => row.inbox === undefined), ...lacking];
  for (const [name, { path }] of place.layout.logs) {
    const number = logNumber(name);
    const ofLog = inLogs.filter(({ log }) => log === number);
    if (ofLog.length === 0) continue;
    const file = openUnlessObstructed(world.disk, join(place.wire.folder, path));
    if (file === undefined || file === "obstructed") continue;
    const lying = ofLog.map((row) => ({ row, at: row.start }));
    try {
      lookThrough(lying, pattern, hits, (at, length) => file.read(length, at));
    } finally {
      file.close();
    }
  }
  return hits.sort((a, b) => b - a);
}

/** A run of characters that JSON writes in one way only: no writer escapes them. */
const PLAIN = /[a-z0-9_.;!?()@#$%^*+=|~`-]+(?: [a-z0-9_.;!?()@#$%^*+=|~`-]+)*/g;

/**
 * What a line must match if its text may hold `needle`: the longest part that JSON writes as it is. A
 * needle without such a part may be in every line that has an escape or a character beyond ASCII.
 */
function patternFor(needle: string): RegExp {
  if (needle === "") return /[^]/g;
  const parts = [...needle.matchAll(PLAIN)].map(([part]) => part);
  const [longest] = parts.sort((a, b) => b.length - a.length);
  if (longest === undefined) return /[\\\x80-\xff]/g;
  return new RegExp(longest.replaceAll(/[^a-z0-9_ ]/g, String.raw`\$&`), "gi");
}

interface Lying {
  readonly row: SearchedRow;
  /** Where its line begins in the file that is read. */
  readonly at: number;
}

/** Adds the entries of the rows that match to `hits`. Returns the rows that the file lacks. */
function lookThrough(
  lying: Lying[],
  pattern: RegExp,
  hits: number[],
  read: (offset: number, length: number) => Uint8Array | undefined,
): SearchedRow[] {
  const lacking: SearchedRow[] = [];
  lying.sort((a, b) => a.at - b.at);
  for (let first = 0; first < lying.length;) {
    const { row, at: from } = lying[first] as Lying;
    let to = from + row.length;
    for (let next = first + 1; lying[next]?.at === to; next += 1) {
      const end = to + (lying[next] as Lying).row.length;
      if (end - from > READ_BYTES) break;
      to = end;
    }
    const bytes = read(from, to - from) ?? new Uint8Array(0);
    // An inbox file may end here, and the next one has the rest.
    const readTo = from + bytes.length;
    if (readTo < from + row.length) {
      lacking.push(row);
      first += 1;
      continue;
    }
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
    const firstMatch = (after: number): number => {
      pattern.lastIndex = after;
      return pattern.exec(text)?.index ?? Infinity;
    };
    let match = firstMatch(0);
    for (let each = lying[first]; each !== undefined; each = lying[++first]) {
      const end = each.at + each.row.length - from;
      if (each.at + each.row.length > readTo) break;
      if (match >= end) continue;
      hits.push(each.row.entry);
      // One match is enough: on with the next line.
      match = firstMatch(end);
    }
  }
  return lacking;
}
