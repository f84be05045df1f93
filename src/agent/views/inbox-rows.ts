import { unreadIds, type ReceiptsState } from "../../protocol/receipts/receipts-state.ts";
import type { InboxQuery } from "../../api/views.ts";
import type { IndexRange, RowMatch } from "../../storage/files/line-index.ts";
import { idKey, logNumber, type LineRow } from "../../storage/files/line-row.ts";
import { ownLogs } from "../../wire/layout.ts";
import type { Session } from "../session/session.ts";
import { threadDigits } from "../state/indexed-journal.ts";
import type { StoredMessage } from "../state/stored-messages.ts";

/** Where a page begins: an offset in the journal, and the first inbox offset not given out yet. */
export interface PagePlace {
  readonly journal: number;
  readonly inbox: number;
  /** How many unread messages there were from there on; undefined where that is not known. */
  readonly left?: number | undefined;
}

/** Rows that may be looked up as they are asked for, and how many they are. */
export interface CountedRows {
  readonly rows: Iterable<number>;
  readonly count: number;
}

/** Rows of the index that a query of the inbox may mean, oldest first, by their journal entries. */
export interface WantedRows {
  all(): number[];
  /** The same, newest first. */
  newest(): CountedRows;
  /** The first so many, without a look at those behind them. */
  oldest(limit: number): CountedRows;
  /** The same, looked up as they are asked for. */
  some(): Iterable<number>;
  /** Whether the index alone tells how many they are; `passes` still says which are meant. */
  readonly isExact: boolean;
  passes(stored: StoredMessage): boolean;
}

type Journal = Session["files"]["journal"];

/** Rows that are looked up at once. */
const BLOCK_ROWS = 1_024;
const NEWEST_ROWS = 512;

export function wantedRows(
  { files: { journal }, place, memory }: Pick<Session, "files" | "place" | "memory">,
  query: InboxQuery,
  start: PagePlace,
): WantedRows {
  const matches = ofLogs(query, place);
  const { id, thread } = query;
  const meant = { id, thread: thread === undefined ? undefined : threadDigits(thread) };
  const known = {
    isExact: query.id === undefined,
    passes: ({ message }: StoredMessage): boolean => isMeant(message, query),
  };
  if (query.unread === true) {
    const all = (): number[] => {
      const left = new Set<number>();
      for (const id of unreadIds(memory.state.receipts, logsOf(query, place))) left.add(idKey(id));
      const match = (row: LineRow): boolean =>
        (row.inbox ?? -1) >= start.inbox && matches(row) && left.delete(row.idKey);
      const order = "newest first";
      const range = { ...meant, from: start.journal, most: left.size, order } as const;
      return left.size === 0 ? [] : journal.find(match, range).reverse();
    };
    const { match, firsts, count } = unreadRows(memory.state.receipts, query, place, start);
    const isInOrder = journal.inboxRows().isInOrder;
    const from = (): number => (isFirst(start) ? firstRow(journal, firsts) : start.journal);
    const some = () => {
      if (count === 0) return [];
      return isInOrder ? inBlocks(journal, match, { ...meant, from: from(), most: count }) : all();
    };
    const oldest = (limit: number): CountedRows => {
      const isKnown = isInOrder && id === undefined && thread === undefined;
      if (!isKnown || (!isFirst(start) && start.left === undefined)) return counted(all());
      if (count === 0) return counted([]);
      const rows = journal.find(match, { from: from(), most: Math.min(limit + 1, count) });
      // What has come since the page before is not in the number that it gave.
      const left = Math.min(count, start.left ?? count);
      return { rows, count: rows.length <= limit ? rows.length : Math.max(rows.length, left) };
    };
    return { ...known, all, some, newest: () => counted(all().toReversed()), oldest };
  }
  // A line that was gone for a while is noted again, with the place that it had.
  const inOrder = (): ((row: LineRow) => boolean) => {
    let next = start.inbox;
    return (row) => {
      const { inbox } = row;
      if (inbox === undefined || inbox < next || !matches(row)) return false;
      next = inbox + 1;
      return true;
    };
  };
  const some = () => inBlocks(journal, inOrder(), { ...meant, from: start.journal });
  const all = (): number[] => journal.find(inOrder(), { ...meant, from: start.journal });
  const newest = (): CountedRows => {
    const { count, isInOrder } = journal.inboxRows();
    const isOfAll = isWholeInbox(query) && isFirst(start);
    return isOfAll && isInOrder
      ? { rows: fromTheEnd(journal), count }
      : counted(all().toReversed());
  };
  return { ...known, all, some, newest, oldest: () => counted(all()) };
}

/**
 * Which rows are unread, the first unread id of each log, and how many ids are remembered. A row is looked
 * up among these ids, and none of them is looked at besides: a page costs what it shows. Right only while
 * no line was noted again.
 */
function unreadRows(
  { taken }: ReceiptsState,
  query: InboxQuery,
  place: Session["place"],
  start: PagePlace,
): { readonly match: RowMatch; readonly firsts: readonly string[]; readonly count: number } {
  const logs = logsOf(query, place);
  const asked = [...taken].filter(
    ([log, { unread }]) => unread.ids.length > 0 && logs?.includes(log) !== false,
  );
  const ids = new Map(asked.map(([log, { unread }]) => [logNumber(log), unread.ids]));
  return {
    match: (row) =>
      (row.inbox ?? -1) >= start.inbox && ids.get(row.log)?.hasKey(row.idKey) === true,
    firsts: asked.map(([, { unread }]) => unread.ids.at(0) ?? ""),
    count: asked.reduce((sum, [, { unread }]) => sum + unread.ids.length, 0),
  };
}

/** Where the entry of the earliest of these messages begins: the first ids of each log are its earliest. */
function firstRow(journal: Journal, ids: readonly string[]): number {
  const entries = ids.map((id) => {
    const key = idKey(id);
    const isIt = (row: LineRow): boolean => row.inbox !== undefined && row.idKey === key;
    return journal.find(isIt, { id, most: 1, order: "newest first" })[0] ?? 0;
  });
  return Math.min(...entries);
}

function isFirst({ journal, inbox }: PagePlace): boolean {
  return journal === 0 && inbox === 0;
}

/** Rows that match, looked up as they are asked for. */
function* inBlocks(journal: Journal, match: RowMatch, range: IndexRange): Generator<number> {
  let { from = 0, most: left = Infinity } = range;
  while (left > 0) {
    const most = Math.min(BLOCK_ROWS, left);
    const block = journal.find(match, { ...range, from, most });
    yield* block;
    if (block.length < most) return;
    from = (block.at(-1) ?? 0) + 1;
    left -= block.length;
  }
}

function counted(rows: readonly number[]): CountedRows {
  return { rows, count: rows.length };
}

function isWholeInbox({ id, thread, from }: InboxQuery): boolean {
  return id === undefined && thread === undefined && from === undefined;
}

/** All rows of the inbox, looked up as they are asked for. */
function* fromTheEnd(journal: Journal): Generator<number> {
  for (let before = Infinity; ;) {
    const range = { before, most: NEWEST_ROWS, order: "newest first" } as const;
    const block = journal.find(({ inbox }) => inbox !== undefined, range);
    yield* block;
    if (block.length < NEWEST_ROWS) return;
    before = block.at(-1) ?? 0;
  }
}

/** Rows of the author that is asked for. */
function ofLogs(query: InboxQuery, place: Session["place"]): (row: LineRow) => boolean {
  const logs = logsOf(query, place)?.map(logNumber);
  return (row) => logs?.includes(row.log) !== false;
}

/** The logs of the author that is asked for; undefined: of all. */
function logsOf({ from }: InboxQuery, { layout }: Session["place"]): readonly string[] | undefined {
  return from === undefined ? undefined : ownLogs(layout, from).map(({ name }) => name);
}

function isMeant(message: StoredMessage["message"], { id, from, thread }: InboxQuery): boolean {
  if (id !== undefined && message.id !== id) return false;
  if (from !== undefined && message.from !== from) return false;
  return thread === undefined || message.correlationId === thread;
}
