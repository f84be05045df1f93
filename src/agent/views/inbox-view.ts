import { unreadView } from "../../protocol/receipts/receipts.ts";
import { authorTier } from "../../protocol/routing.ts";
import { pendingView } from "../../protocol/threads/threads-view.ts";
import { toPlain } from "../../wire/json/json.ts";
import { badRequest } from "../../api/json-arguments.ts";
import type {
  InboxMessage,
  InboxMeta,
  InboxPage,
  InboxQuery,
  MessageFields,
  ViewArgs,
} from "../../api/views.ts";
import type { LineEntry } from "../state/journal-entries.ts";
import type { Session } from "../session/session.ts";
import { storedMessages, type StoredMessage } from "../state/stored-messages.ts";

const DEFAULT_LIMIT = 1_000;
/** Of a page that has no limit of its own: what crosses the socket at once stays small. */
const PAGE_MESSAGES = 500;
const PAGE_BYTES = 4 * 1024 * 1024;

/** The newest messages for the agent, oldest first. Spec 4.4: the message plus `_meta`. */
export function inboxView(session: Session, args: ViewArgs["inbox"]): InboxMessage[] {
  const { limit = DEFAULT_LIMIT, ...query } = args;
  return inboxPage(session, { ...query, limit, newest: true }).messages;
}

/**
 * A page of the messages for the agent, oldest first: from the beginning or from the end of another
 * page on, or the newest ones. A page with a limit says how many more there are. Spec 4.4.
 */
export function inboxPage(session: Session, args: ViewArgs["inbox_page"]): InboxPage {
  const { memory, files } = session;
  session.recorder.flush();
  const unread = new Set(unreadView(memory.state.receipts).map(({ id }) => id));
  const start = args.after === undefined ? { journal: 0, inbox: 0 } : placeOf(args.after);
  const end = `${files.journal.end}.${files.inbox.end}`;
  // A client that waits for news asks again and again: the journal is read only when there is any.
  if (args.unread === true && unread.size === 0) return { messages: [], more: 0, next: end };
  const found = args.newest === true ? newest : oldest;
  const { stored, more, next } = found(session, args, unread, start);
  return { messages: messagesOf(session, stored, unread), more, next: next ?? end };
}

interface Found {
  readonly stored: readonly StoredMessage[];
  readonly more: number | null;
  /** Undefined when all was read. */
  readonly next: string | undefined;
}

/** Where a page begins: an offset in the journal, and the first inbox offset not given out yet. */
interface PagePlace {
  readonly journal: number;
  readonly inbox: number;
}

function placeOf(after: string): PagePlace {
  const [, journal, inbox] = /^(\d{1,15})\.(\d{1,15})$/.exec(after) ?? [];
  if (journal === undefined || inbox === undefined) {
    throw badRequest("after must be the `next` of a page");
  }
  return { journal: Number(journal), inbox: Number(inbox) };
}

function oldest(
  session: Session,
  args: ViewArgs["inbox_page"],
  unread: ReadonlySet<string>,
  start: PagePlace,
): Found {
  const { limit } = args;
  const stored: StoredMessage[] = [];
  let bytes = 0;
  let more = 0;
  const isFull = (): boolean => stored.length >= (limit ?? PAGE_MESSAGES) || bytes >= PAGE_BYTES;
  const isEntry = entriesFor(args, unread, start.inbox);
  function wanted(entry: LineEntry): boolean {
    if (!isEntry(entry)) return false;
    if (!isFull() || looksInside(args)) return true;
    more += 1; // counted by its entry: its line need not be read
    return false;
  }
  for (const each of storedMessages(session, wanted, start.journal)) {
    if (!passes(each, args)) continue;
    if (isFull()) {
      more += 1;
      continue;
    }
    stored.push(each);
    bytes += each.entry.end - each.entry.start;
    if (limit === undefined && isFull()) return { stored, more: null, next: placeAfter(each) };
  }
  const last = stored.at(-1);
  return last === undefined || more === 0
    ? { stored, more, next: undefined }
    : { stored, more, next: placeAfter(last) };
}

function placeAfter({ entry, end }: StoredMessage): string {
  return `${end}.${(entry.inbox ?? 0) + 1}`;
}

function newest(
  session: Session,
  args: ViewArgs["inbox_page"],
  unread: ReadonlySet<string>,
  start: PagePlace,
): Found {
  const limit = args.limit ?? PAGE_MESSAGES;
  let stored: StoredMessage[] = [];
  let count = 0;
  for (const each of storedMessages(
    session,
    entriesFor(args, unread, start.inbox),
    start.journal,
  )) {
    if (!passes(each, args)) continue;
    count += 1;
    stored.push(each);
    if (stored.length >= 2 * limit) stored = stored.slice(-limit);
  }
  return { stored: stored.slice(-limit), more: Math.max(0, count - limit), next: undefined };
}

/** Whether an entry of the journal is of a wanted message, each once: asked in their order. */
function entriesFor(
  { unread, id }: InboxQuery,
  unreadIds: ReadonlySet<string>,
  first: number,
): (entry: LineEntry) => boolean {
  let next = first;
  return ({ inbox, id: entryId = "" }) => {
    // A line that was gone for a while is noted again, with the place that it had.
    if (inbox === undefined || inbox < next) return false;
    next = inbox + 1;
    if (id !== undefined && id !== entryId) return false;
    return unread !== true || unreadIds.has(entryId);
  };
}

/** Whether a line has to be read to know that it is wanted. */
function looksInside({ from, thread }: InboxQuery): boolean {
  return from !== undefined || thread !== undefined;
}

function passes({ message }: StoredMessage, { from, thread }: InboxQuery): boolean {
  if (from !== undefined && message.from !== from) return false;
  return thread === undefined || message.correlationId === thread;
}

function messagesOf(
  { memory, env, world }: Pick<Session, "memory" | "env" | "world">,
  stored: readonly StoredMessage[],
  unread: ReadonlySet<string>,
): InboxMessage[] {
  const obligations = pendingView(memory.state, env, world.clock.wallMs());
  return stored.map(({ entry, message }) => {
    const meta: InboxMeta = {
      id: message.id,
      received_at: new Date(entry.at).toISOString(),
      tier: authorTier(env, message.from),
      verified: message.version !== "v2.0",
      thread: message.correlationId,
      priority: message.priority,
      obligations: obligations.filter(({ event_id: id }) => id === message.id),
      read: !unread.has(message.id),
      after_gap: entry.gap === true,
    };
    // First in what is printed, and ours whatever the peer's line holds under that name.
    const ours = { _meta: meta };
    return { ...ours, ...(toPlain(message.fields) as MessageFields), ...ours };
  });
}
