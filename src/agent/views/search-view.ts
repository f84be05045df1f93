import { authorTier } from "../../protocol/routing.ts";
import { isState } from "../../trust/tiers.ts";
import { toPlain } from "../../wire/json/json.ts";
import { badRequest } from "../../api/arguments/json-arguments.ts";
import type { MessageFields, SearchPage, ThreadMessage, ViewArgs } from "../../api/views.ts";
import type { Session } from "../session/session.ts";
import { messagesAt, type StoredMessage } from "../state/stored-messages.ts";
import { entriesWithText, searchedRows } from "./search-bytes.ts";

/** Messages that are read and do not hold the text after all. */
const PAGE_MISSES = 256;
const FOUND_AT_MOST = 100;

/**
 * The newest messages whose text holds `text`, oldest first: to or from us, and those that we have
 * seen between others. One page looks through a part of history; `next` is where the next one begins.
 */
export function searchView(session: Session, args: ViewArgs["search_page"]): SearchPage {
  session.recorder.flush();
  const { limit = FOUND_AT_MOST } = args;
  const before = args.before === undefined ? Infinity : placeOf(args.before);
  const { rows, hasOlder } = searchedRows(session.files, before);
  const needle = args.text.toLowerCase();
  const found: StoredMessage[] = [];
  let misses = 0;
  for (const entry of entriesWithText(session, rows, needle)) {
    for (const stored of messagesAt(session, [entry])) {
      if (holds(stored, needle)) found.push(stored);
      else misses += 1;
    }
    if (found.length < limit && misses < PAGE_MISSES) continue;
    return { messages: messagesOf(session, found), next: String(entry) };
  }
  const next = hasOlder ? String(rows.at(-1)?.entry) : null;
  return { messages: messagesOf(session, found), next };
}

function placeOf(before: string): number {
  if (/^\d{1,15}$/.test(before)) return Number(before);
  throw badRequest("before must be the `next` of a page");
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
