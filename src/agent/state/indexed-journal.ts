import { openJournal, type Journal } from "../../storage/files/journal.ts";
import {
  openLineIndex,
  type IndexRange,
  type LineIndex,
  type RowMatch,
} from "../../storage/files/line-index.ts";
import { StorageError, type Disk } from "../../storage/disk/disk.ts";
import type { AgentPaths } from "../../storage/paths.ts";
import { sha256Hex } from "../../wire/canonical.ts";
import type { JournalEntry } from "./journal-entries.ts";

/** Up to where a checkpoint has the journal indexed: so many rows, of the entries before `to`. */
export interface Indexed {
  readonly rows: number;
  readonly to: number;
  readonly inbox: InboxRows;
}

/** The rows of messages that are in the inbox. */
export interface InboxRows {
  readonly count: number;
  /** The first place in the inbox that none of them has. */
  readonly next: number;
  /** No row has a place before that of an earlier row: no line was noted again. */
  readonly isInOrder: boolean;
}

const NO_INBOX_ROWS: InboxRows = { count: 0, next: 0, isInOrder: true };
export const NOTHING_INDEXED: Indexed = { rows: 0, to: 0, inbox: NO_INBOX_ROWS };

/**
 * The journal, and an index of the lines that it notes: what a person asks for is found without
 * reading the journal. Spec 4.1.
 */
export interface IndexedJournal extends Journal<JournalEntry> {
  /**
   * Where the entries begin that match; see `LineIndex`. Beats that are in no inbox have no row. `match`
   * may remember what it was shown: it gets each row once, also when the index has to be made again.
   */
  find(match: RowMatch, range?: IndexRange): number[];
  /** How many rows are of messages in the inbox, without a look at them. */
  inboxRows(): InboxRows;
  /** Everything is indexed, and that is synced. */
  saveIndex(): Indexed;
}

/** 16 hex digits that name a thread: nobody can find another name with those of somebody's thread. */
export function threadDigits(correlationId: string): string {
  return sha256Hex(Buffer.from(correlationId, "utf8")).slice(0, 16);
}

/**
 * @param durable an offset known to be synced, before which nothing is looked at
 * @param indexed what of the index is known to be of this journal
 */
export function openIndexedJournal(
  disk: Disk,
  paths: Pick<AgentPaths, "journal" | "lineIndex">,
  durable: number,
  indexed: Indexed,
): IndexedJournal {
  const journal = openJournal<JournalEntry>(disk, paths.journal, durable);
  try {
    const isOfJournal = indexed.to <= journal.end;
    const index = openLineIndex(disk, paths.lineIndex, isOfJournal ? indexed.rows : 0);
    const isWhole = isOfJournal && index.rows === indexed.rows;
    return new JournalWithIndex(journal, index, isWhole ? indexed : NOTHING_INDEXED);
  } catch (error) {
    journal.close();
    throw error;
  }
}

class JournalWithIndex implements IndexedJournal {
  readonly #journal: Journal<JournalEntry>;
  readonly #index: LineIndex;
  #indexedTo: number;
  #inbox: InboxRows;

  constructor(journal: Journal<JournalEntry>, index: LineIndex, { to, inbox }: Indexed) {
    this.#journal = journal;
    this.#index = index;
    this.#indexedTo = to;
    this.#inbox = inbox;
  }

  get end(): number {
    return this.#journal.end;
  }

  get damaged(): number {
    return this.#journal.damaged;
  }

  append(entries: readonly JournalEntry[]): number[] {
    const isIndexed = this.#indexedTo === this.#journal.end;
    const starts = this.#journal.append(entries);
    // What an earlier process has noted is indexed when it is asked for.
    if (!isIndexed) return starts;
    for (const [at, entry] of entries.entries()) this.#add(entry, starts[at] ?? 0);
    this.#indexedTo = this.#journal.end;
    return starts;
  }

  read(from?: number) {
    return this.#journal.read(from);
  }

  at(offset: number) {
    return this.#journal.at(offset);
  }

  find(match: RowMatch, range?: IndexRange): number[] {
    this.#indexRest();
    const found: number[] = [];
    let shown: number | undefined;
    const noting: RowMatch = (row) => {
      shown = row.entry;
      const matches = match(row);
      if (matches === true) found.push(shown);
      return matches;
    };
    try {
      return this.#index.find(noting, range);
    } catch (error) {
      if (!(error instanceof StorageError) || error.code !== "corrupt") throw error;
      this.#index.clear();
      this.#indexedTo = 0;
      this.#inbox = NO_INBOX_ROWS;
      this.#indexRest();
      return [...found, ...this.#index.find(match, restOf(range, shown, found.length))];
    }
  }

  inboxRows(): InboxRows {
    this.#indexRest();
    return this.#inbox;
  }

  saveIndex(): Indexed {
    this.#indexRest();
    this.#index.save();
    return { rows: this.#index.rows, to: this.#indexedTo, inbox: this.#inbox };
  }

  close(): void {
    this.#index.close();
    this.#journal.close();
  }

  #indexRest(): void {
    if (this.#indexedTo === this.#journal.end) return;
    for (const { entry, start, end } of this.#journal.read(this.#indexedTo)) {
      this.#add(entry, start);
      this.#indexedTo = end;
    }
    this.#indexedTo = this.#journal.end;
  }

  #add(entry: JournalEntry, at: number): void {
    if (entry.k !== "line" || entry.id === undefined || entry.verdict === "duplicate") return;
    if (entry.beat === true && entry.inbox === undefined) return;
    const { id, log, start, end, inbox, thread, verdict } = entry;
    const isAccepted = verdict === "accepted";
    this.#index.add({ id, entry: at, log, start, length: end - start, inbox, thread, isAccepted });
    if (inbox !== undefined) this.#inbox = withRow(this.#inbox, inbox);
  }
}

/** What is left to look at behind the row that was shown last, when so many were found. */
function restOf(
  range: IndexRange | undefined,
  shown: number | undefined,
  found: number,
): IndexRange {
  const { most = Infinity, order = "oldest first" } = range ?? {};
  const rest = { ...range, most: most - found };
  if (shown === undefined) return rest;
  return order === "oldest first" ? { ...rest, from: shown + 1 } : { ...rest, before: shown };
}

function withRow({ count, next, isInOrder }: InboxRows, place: number): InboxRows {
  if (place < next) return { count, next, isInOrder: false };
  return { count: count + 1, next: place + 1, isInOrder };
}
