import type { Layout } from "../../wire/layout.ts";
import type { IndexedJournal } from "../state/indexed-journal.ts";
import { logNumber, type LineRow } from "../../storage/files/line-row.ts";

/** A page looks through so many messages and bytes: a daemon does nothing else meanwhile. */
const PAGE_ROWS = 16_384;
const PAGE_SEARCHED_BYTES = 8 * 1_048_576;
/** In a column: there is none. */
const NONE = -1;

/**
 * The messages that a page of a search looks through, the newest first, in columns: of a million
 * objects for one question most of its time would go into collecting them. Offsets and lengths in
 * bytes.
 */
export class SearchedRows {
  count = 0;
  /** Where each has its entry in the journal. */
  readonly entries = new Float64Array(PAGE_ROWS);
  /** Which log it is of, by its number in the layout; none of them: another one's. */
  readonly logs = new Int32Array(PAGE_ROWS);
  /** Where it is in its log. */
  readonly starts = new Float64Array(PAGE_ROWS);
  readonly lengths = new Uint32Array(PAGE_ROWS);
  /** Where it is in the inbox. */
  readonly inboxes = new Float64Array(PAGE_ROWS);
  /** There are older ones than these. */
  hasOlder = false;

  isInInbox(row: number): boolean {
    return this.inboxes[row] !== NONE;
  }

  /** The newest messages of which the entries begin before `before`, as many as a page looks through. */
  fill(journal: Pick<IndexedJournal, "find">, { logs }: Layout, before: number): void {
    const numbers = new Map([...logs.keys()].map((name, at) => [logNumber(name), at]));
    let bytes = 0;
    this.count = 0;
    this.hasOlder = false;
    const take = (row: LineRow): false | "enough" => {
      if (!row.isAccepted) return false;
      const at = this.count;
      bytes += row.length;
      this.hasOlder = at === PAGE_ROWS || (at > 0 && bytes > PAGE_SEARCHED_BYTES);
      if (this.hasOlder) return "enough";
      this.entries[at] = row.entry;
      this.logs[at] = numbers.get(row.log) ?? NONE;
      this.starts[at] = row.start;
      this.lengths[at] = row.length;
      this.inboxes[at] = row.inbox ?? NONE;
      this.count += 1;
      return false;
    };
    journal.find(take, { before, order: "newest first" });
  }
}
