import { authorTier } from "../../protocol/routing.ts";
import type { LineRow } from "../../storage/files/line-row.ts";
import { isState } from "../../trust/tiers.ts";
import { toPlain } from "../../wire/json/json.ts";
import { badRequest } from "../../api/arguments/json-arguments.ts";
import type { MessageFields, SearchPage, ThreadMessage, ViewArgs } from "../../api/views.ts";
import type { Session } from "../session/session.ts";
import { messagesAt, type StoredMessage } from "../state/stored-messages.ts";
import { rowsWithText, type SearchedRow } from "./search-bytes.ts";

/** A page looks through so many messages and bytes: a daemon does nothing else meanwhile. */
const PAGE_ROWS = 8_192;
const PAGE_SEARCHED_BYTES = 8 * 1_048_576;
/** Messages that are read and do not hold the text after all. */
const PAGE_MISSES = 512;
const FOUND_AT_MOST = 100;

/**
 * The newest messages whose text holds `text`, oldest first: to or from us, and those that we have
 * seen between others. One page looks through a part of history; `next` is where the next one begins.
 */
export function searchView(session: Session, args: ViewArgs["search_page"]): SearchPage {
  session.recorder.flush();
  const { limit = FOUND_AT_MOST } = args;
  const before = args.before === undefined ? Infinity : placeOf(args.before);
  const all = rowsBefore(session, before);
  const rows = firstOf(all);
  const needle = args.text.toLowerCase();
  const found: StoredMessage[] = [];
  let misses = 0;
  for (const { entry } of rowsWithText(session, rows, needle)) {
    for (const stored of messagesAt(session, [entry])) {
      if (holds(stored, needle)) found.push(stored);
      else misses += 1;
    }
    if (found.length < limit && misses < PAGE_MISSES) continue;
    return { messages: messagesOf(session, found), next: String(entry) };
  }
  const isAll = rows.length === all.length && all.length < PAGE_ROWS;
  const oldest = isAll ? undefined : rows.at(-1)?.entry;
  return { messages: messagesOf(session, found), next: oldest === undefined ? null : `${oldest}` };
}

function placeOf(before: string): number {
  if (/^\d{1,15}$/.test(before)) return Number(before);
  throw badRequest("before must be the `next` of a page");
}

/** The newest ones first. */
function rowsBefore({ files: { journal }, place }: Session, before: number): SearchedRow[] {
  const rows: SearchedRow[] = [];
  const logs = [...place.layout.logs.keys()];
  const keep = (row: LineRow): boolean => {
    if (!row.isAccepted) return false;
    const { entry, start, length, inbox } = row;
    const log = logs.find((name) => row.isOfLog(name));
    rows.push({ entry, start, length, inbox, log: log ?? "" });
    return true;
  };
  journal.find(keep, { before, most: PAGE_ROWS, order: "newest first" });
  return rows;
}

/** As many as a page looks through, and one at least. */
function firstOf(rows: readonly SearchedRow[]): readonly SearchedRow[] {
  let bytes = 0;
  const end = rows.findIndex(({ length }) => (bytes += length) > PAGE_SEARCHED_BYTES);
  return end < 0 ? rows : rows.slice(0, Math.max(1, end));
}

function holds({ message }: StoredMessage, needle: string): boolean {
  if (isState(message.type)) return false;
  const { subject, from, refs, body } = message;
  const texts = [subject, from, ...refs, JSON.stringify(toPlain(body))];
  return texts.some((text) => text.toLowerCase().includes(needle));
}

/** Found newest first, shown oldest first. */
function messagesOf(session: Session, found: readonly StoredMessage[]): ThreadMessage[] {
  return found.toReversed().map(({ entry, message }) => ({
    ...(toPlain(message.fields) as MessageFields),
    _meta: {
      id: message.id,
      log: entry.log,
      line: entry.line,
      received_at: new Date(entry.at).toISOString(),
      tier: authorTier(session.env, message.from),
      priority: message.priority,
      refused: entry.reason ?? null,
      corrections: [],
    },
  }));
}
