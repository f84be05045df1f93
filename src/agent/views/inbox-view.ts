import { unreadByAuthor } from "../../protocol/receipts/mail.ts";
import { isUnread, unreadIds } from "../../protocol/receipts/receipts-state.ts";
import { authorTier } from "../../protocol/routing.ts";
import { pendingView } from "../../protocol/threads/threads-view.ts";
import { toPlain } from "../../wire/json/json.ts";
import { DeaddropError } from "../../api/errors.ts";
import { badRequest } from "../../api/arguments/json-arguments.ts";
import type {
  InboxMessage,
  InboxMeta,
  InboxPage,
  MessageFields,
  ViewArgs,
} from "../../api/views.ts";
import { wantedRows, type CountedRows, type PagePlace, type WantedRows } from "./inbox-rows.ts";
import type { Session } from "../session/session.ts";
import { messagesAt, type StoredMessage } from "../state/stored-messages.ts";

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
  const { receipts } = memory.state;
  const start = args.after === undefined ? { journal: 0, inbox: 0 } : placeOf(args.after);
  const end = `${files.journal.end}.${files.inbox.end}`;
  if (start.journal > files.journal.end || start.inbox > files.inbox.end) {
    throw new DeaddropError(
      "usage",
      `the place ${args.after} is beyond the end: places go from 0.0 to ${end}`,
      {
        hint: "begin again without one: what is unread is shown",
      },
    );
  }
  // A client that waits for news asks again and again: nothing is looked up before there is any.
  if (args.unread === true && unreadIds(receipts).next().done === true) {
    return { messages: [], more: 0, next: end };
  }
  const rows = wantedRows(session, args, start);
  const { stored, more, next } = withShares(session, args, found(session, args, rows));
  return { messages: messagesOf(session, stored), more, next: next ?? end };
}

interface Found {
  readonly stored: readonly StoredMessage[];
  readonly more: number | null;
  /** Undefined when all was read. */
  readonly next: string | undefined;
}

function placeOf(after: string): PagePlace {
  const [, journal, inbox, left] = /^(\d{1,15})\.(\d{1,15})(?:\.(\d{1,15}))?$/.exec(after) ?? [];
  if (journal === undefined || inbox === undefined) {
    throw badRequest("after must be the `next` of a page");
  }
  return {
    ...{ journal: Number(journal), inbox: Number(inbox) },
    left: left === undefined ? undefined : Number(left),
  };
}

function found(session: Session, args: ViewArgs["inbox_page"], rows: WantedRows): Found {
  const { limit } = args;
  if (args.newest === true) {
    const { stored, more } = first(session, limit ?? PAGE_MESSAGES, rows.newest(), rows);
    return { stored: stored.toReversed(), more, next: undefined };
  }
  if (limit === undefined) return page(session, rows);
  const { stored, more } = first(session, limit, rows.oldest(limit), rows);
  const last = stored.at(-1);
  if (last === undefined || more === 0) return { stored, more, next: undefined };
  // The next page does not count again what comes after it.
  return {
    stored,
    more,
    next: args.unread === true ? `${placeAfter(last)}.${more}` : placeAfter(last),
  };
}

/**
 * A first page of all authors, in which one of them has so much that unread messages of others are on no
 * page that anybody reads: each of these authors has its share of half of the page. What they have there is
 * on its own page again; nothing is left out between two pages.
 */
function withShares(session: Session, args: ViewArgs["inbox_page"], page: Found): Found {
  const { limit, after, from, id, thread, newest = false } = args;
  const isFirstOfAll = [after, from, id, thread].every((each) => each === undefined);
  if (limit === undefined || !isFirstOfAll || page.more === 0 || page.more === null) return page;
  const { memory, env } = session;
  const present = new Set(page.stored.map(({ message }) => message.from));
  const hidden = [...unreadByAuthor(memory.state.receipts, env).keys()]
    .filter((author) => !present.has(author))
    .slice(0, Math.floor(limit / 2));
  if (hidden.length === 0) return page;
  const share = Math.floor(limit / 2 / hidden.length);
  const theirs = hidden.flatMap((author) => {
    const query = { unread: true, from: author } as const;
    const rows = wantedRows(session, query, { journal: 0, inbox: 0 });
    return first(session, share, rows.oldest(share), rows).stored;
  });
  const room = limit - theirs.length;
  const kept = newest ? page.stored.slice(-room) : page.stored.slice(0, room);
  const last = kept.at(-1);
  const left = page.more + page.stored.length - kept.length;
  const isUnread = args.unread === true;
  return {
    stored: [...kept, ...theirs].toSorted((a, b) => a.end - b.end),
    more: page.more + page.stored.length - kept.length - theirs.length,
    next:
      newest || last === undefined ? page.next : `${placeAfter(last)}${isUnread ? `.${left}` : ""}`,
  };
}

/** As many as cross the socket at once. */
function page(session: Session, { some, passes }: WantedRows): Found {
  const stored: StoredMessage[] = [];
  let bytes = 0;
  for (const each of messagesAt(session, some())) {
    if (!passes(each)) continue;
    stored.push(each);
    bytes += each.entry.end - each.entry.start;
    if (stored.length >= PAGE_MESSAGES || bytes >= PAGE_BYTES) {
      return { stored, more: null, next: placeAfter(each) };
    }
  }
  return { stored, more: 0, next: undefined };
}

/** The first so many of these, and how many others there are: counted without being read if it can be. */
function first(
  session: Session,
  limit: number,
  entries: CountedRows,
  { isExact, passes }: WantedRows,
): { readonly stored: readonly StoredMessage[]; readonly more: number } {
  const stored: StoredMessage[] = [];
  let [looked, more] = [0, 0];
  const looking = watched(entries.rows, () => (looked += 1));
  for (const each of messagesAt(session, looking)) {
    if (!passes(each)) continue;
    if (stored.length < limit) stored.push(each);
    else more += 1;
    if (isExact && stored.length === limit) break;
  }
  return { stored, more: isExact ? entries.count - looked : more };
}

function* watched(entries: Iterable<number>, count: () => void): Generator<number> {
  for (const entry of entries) {
    count();
    yield entry;
  }
}

function placeAfter({ entry, end }: StoredMessage): string {
  return `${end}.${(entry.inbox ?? 0) + 1}`;
}

function messagesOf(
  { memory, env, world }: Pick<Session, "memory" | "env" | "world">,
  stored: readonly StoredMessage[],
): InboxMessage[] {
  const { receipts } = memory.state;
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
      read: !isUnread(receipts, message.id),
      after_gap: entry.gap === true,
    };
    // First in what is printed, and ours whatever the peer's line holds under that name.
    const ours = { _meta: meta };
    return { ...ours, ...(toPlain(message.fields) as MessageFields), ...ours };
  });
}
