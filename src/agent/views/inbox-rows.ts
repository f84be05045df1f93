import { unreadIds, type ReceiptsState } from "../../protocol/receipts/receipts-state.ts";
import type { InboxQuery } from "../../api/views.ts";
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

/** Rows that are looked up at once. */
const BLOCK_ROWS = 16_384;
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
    const oldest = (limit: number): CountedRows =>
      oldestUnread({ journal, state: memory.state.receipts, matches }, query, start, {
        limit,
        logs: logsOf(query, place),
      }) ?? counted(all());
    return { ...known, all, some: all, newest: () => counted(all().toReversed()), oldest };
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
  function* some(): Generator<number> {
    const match = inOrder();
    for (let from = start.journal; ;) {
      const block = journal.find(match, { ...meant, from, most: BLOCK_ROWS });
      yield* block;
      if (block.length < BLOCK_ROWS) return;
      from = (block.at(-1) ?? 0) + 1;
    }
  }
  const all = (): number[] => journal.find(inOrder(), { ...meant, from: start.journal });
  const newest = (): CountedRows => {
    const { count, isInOrder } = journal.inboxRows();
    const isOfAll = isWholeInbox(query) && start.journal === 0 && start.inbox === 0;
    return isOfAll && isInOrder
      ? { rows: fromTheEnd(journal), count }
      : counted(all().toReversed());
  };
  return { ...known, all, some, newest, oldest: () => counted(all()) };
}

/**
 * The first unread rows in the order of the journal, and how many there are, at a cost that depends on
 * the page. The unread ids of each log are in that order too, so the first page can only have the first
 * ids of each log. Undefined where the order does not hold, or the number of the others is not known.
 */
function oldestUnread(
  by: {
    readonly journal: Session["files"]["journal"];
    readonly state: ReceiptsState;
    readonly matches: (row: LineRow) => boolean;
  },
  { id, thread }: InboxQuery,
  start: PagePlace,
  { limit, logs }: { readonly limit: number; readonly logs: readonly string[] | undefined },
): CountedRows | undefined {
  const { journal, state, matches } = by;
  const isFirst = start.journal === 0 && start.inbox === 0;
  if (id !== undefined || thread !== undefined || !journal.inboxRows().isInOrder) return undefined;
  if (!isFirst && start.left === undefined) return undefined;
  const wanted = new Set<number>();
  let [count, from] = [0, isFirst ? Infinity : start.journal];
  for (const [log, { unread }] of state.taken) {
    const first = unread.ids.at(0);
    if (first === undefined || logs?.includes(log) === false) continue;
    count += unread.ids.length;
    const last = isFirst ? Math.min(limit + 1, unread.ids.length) : unread.ids.length;
    for (let at = 0; at < last; at += 1) wanted.add(idKey(unread.ids.at(at) ?? ""));
    if (!isFirst) continue;
    const key = idKey(first);
    const isIt = (row: LineRow): boolean => row.inbox !== undefined && row.idKey === key;
    const [entry] = journal.find(isIt, { id: first, most: 1, order: "newest first" });
    from = Math.min(from, entry ?? 0);
  }
  if (wanted.size === 0) return counted([]);
  const match = (row: LineRow): boolean =>
    (row.inbox ?? -1) >= start.inbox && matches(row) && wanted.has(row.idKey);
  const rows = journal.find(match, { from, most: Math.min(limit + 1, wanted.size) });
  // What has come since the page before is not in the number that it gave.
  const all = Math.min(count, start.left ?? count);
  return { rows, count: rows.length <= limit ? rows.length : Math.max(rows.length, all) };
}

function counted(rows: readonly number[]): CountedRows {
  return { rows, count: rows.length };
}

function isWholeInbox({ id, thread, from }: InboxQuery): boolean {
  return id === undefined && thread === undefined && from === undefined;
}

/** All rows of the inbox, looked up as they are asked for. */
function* fromTheEnd(journal: Session["files"]["journal"]): Generator<number> {
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
