import { DeaddropError } from "../../api/errors.ts";
import { badRequest } from "../../api/arguments.ts";
import type { Known } from "../duties/duty.ts";
import { isVerified, tierOf } from "./listed.ts";
import { obligationViews, type ObligationView, type Owing } from "./pending.ts";
import { readLine, type ChainedLine, type LooseLine } from "../../protocol/admit/read-line.ts";
import { isState, type Tier } from "../../trust/tiers.ts";
import type { HeldLine, Store } from "../../store/store.ts";
import { parseObject, toPlain } from "../../wire/json/json.ts";
import { MIN_ID_PREFIX } from "../../wire/limits.ts";
import type { MessageFields, Priority } from "../../wire/message.ts";
import { field } from "../../protocol/body.ts";
import { placeJson, readPlace, type Place, type PlaceJson } from "../../wire/places.ts";

/** A message as it is on the wire, unknown fields included. Spec 1.2. */
export type PlainMessage = MessageFields<unknown> & { [unknown: string]: unknown };

/** Which messages of the inbox are meant; all of them by default. */
export interface InboxQuery {
  unread?: boolean;
  from?: string;
  /** Correlation id. */
  thread?: string;
  /** Event id. */
  id?: string;
}

interface KnownOfMessage {
  /** Event id; of a line without one the SHA-256 of its canonical bytes. */
  readonly id: string;
  /** What an answer to it names. */
  readonly place: PlaceJson;
  /** When we received it. */
  readonly received_at: string;
  /** How far its author is believed. Spec 2.3. */
  readonly tier: Tier | null;
  /** Its own, or high for a subject that begins with `urgent:`. Spec 1.2. */
  readonly priority: Priority;
}

/** A message, and what we know of it. */
export type HeldMessage = PlainMessage & {
  readonly _meta: KnownOfMessage & {
    /** Why it is no mail, where it was refused. */
    readonly refused: string | null;
    /** Event ids of the corrections of this message. */
    readonly corrections: readonly string[];
  };
};

/** A message for our agent. */
export type InboxMessage = PlainMessage & {
  readonly _meta: KnownOfMessage & {
    /** False for unsigned lines that policy admits. */
    readonly verified: boolean;
    /** Correlation id. */
    readonly thread: string;
    /** Answers that are owed for it. */
    readonly obligations: readonly ObligationView[];
    /** It is marked read. */
    readonly read: boolean;
    /** Lines before it are missing. */
    readonly after_gap: boolean;
  };
};

export interface InboxPage {
  readonly messages: readonly InboxMessage[];
  /** How many others fit the question: newer ones, or with `newest` older ones; null: not counted. */
  readonly more: number | null;
  /** For `after`: where the next page begins, and what comes later. */
  readonly next: string;
}

export interface SearchPage {
  readonly messages: readonly HeldMessage[];
  /** For `before`: where the next page, of older messages, begins; null: there are none. */
  readonly next: string | null;
}

/** Of a page that has no limit of its own: what crosses the socket at once stays small. */
const PAGE_MESSAGES = 500;
const PAGE_BYTES = 4 * 1024 * 1024;
const FOUND_AT_MOST = 100;
const ID_LENGTH = 64;
/** Meanings that an error lists. */
const MOST_LISTED = 8;
const MOST_LISTED_SUBJECT = 80;
/** Verdicts on lines that were not refused. */
export const PASSED: ReadonlySet<string> = new Set(["mail", "passed"]);

/**
 * A page of the messages for the agent, oldest first: from the beginning or from the end of another page on, or
 * the newest ones. Where one author has many, the first page has room for each of the others. Spec 8.6.
 */
export function inboxPage(
  source: Owing,
  asked: InboxQuery & {
    readonly limit?: number;
    readonly newest?: boolean;
    readonly after?: string;
  },
): InboxPage {
  const { limit, newest = false, after, ...query } = asked;
  const { mail } = source.store;
  const from = after === undefined ? { place: 0 } : readAfter(after, mail.last());
  const end = String(mail.last());
  const most = limit ?? PAGE_MESSAGES;
  const lines = linesOf(
    source.store,
    newest ? mail.before(query, Infinity, most).toReversed() : mail.after(query, from.place, most),
  );
  const page = limit === undefined && !newest ? firstBytes(lines) : lines;
  if (limit === undefined && !newest) {
    const isAll = page.length === lines.length && lines.length < most;
    const last = page.at(-1)?.delivered;
    return {
      messages: rowsOf(source, page),
      more: isAll ? 0 : null,
      next: isAll ? end : String(last),
    };
  }
  const all = from.left ?? mail.count(query, from.place);
  const isFirstOfAll = after === undefined && query.from === undefined && query.id === undefined;
  const shared =
    isFirstOfAll && query.thread === undefined && all > page.length
      ? withShares(source.store, page, { limit: most, newest })
      : { kept: page, others: [] };
  const shown = [...shared.kept, ...shared.others].toSorted(byDelivery);
  const last = shared.kept.at(-1)?.delivered;
  const left = all - shared.kept.length;
  return {
    messages: rowsOf(source, shown),
    more: all - shown.length,
    next: newest || last === undefined || last === null || left === 0 ? end : `${last}.${left}`,
  };
}

/** The newest messages that hold words beginning so, oldest first. */
export function searchPage(
  source: Owing,
  asked: { readonly text: string; readonly limit?: number; readonly before?: string },
): SearchPage {
  const { text, limit = FOUND_AT_MOST } = asked;
  if (asked.before !== undefined && !/^\d{1,15}$/u.test(asked.before))
    throw badRequest("before must be the `next` of a page");
  const before = asked.before === undefined ? Number.MAX_SAFE_INTEGER : Number(asked.before);
  const found = source.store.search(text, { before, limit });
  const shown = found.filter((line) => isShown(source, line));
  return {
    messages: shown.toReversed().map((line) => messageOf(source, line, new Map())),
    next: found.length < limit ? null : String(found.at(-1)?.n),
  };
}

/** A message that is named. */
export interface Named {
  readonly line: HeldLine;
  readonly read: ChainedLine | LooseLine;
}

/**
 * The message that a person names, by event id or by a prefix of it that is unique among all messages held.
 * Never by the name of a thread: a peer chooses that freely, and what is named here may be answered with a
 * signature. Spec 8.6. @throws DeaddropError "unknown_id", "ambiguous_id"
 *
 * @internal
 */
export function messageNamed(source: Owing, id: string): Named {
  const [first, ...more] = messagesNamed(source, id);
  if (first === undefined) throw unknownId(id, "");
  if (more.length > 0) throw ambiguous(id, [first, ...more].map(meaning), false);
  return first;
}

/** A message that a person has named. */
export interface ResolvedId {
  event_id: string;
  /** What an answer to it names. */
  place: PlaceJson;
  correlation_id: string;
  from: string;
  type: string;
  subject: string;
  to: string[];
}

/** The message that is named. @throws DeaddropError "unknown_id", "ambiguous_id" */
export function resolveId(source: Owing & Pick<Known, "members">, id: string): ResolvedId {
  const { line, read } = messageNamed(source, id);
  return {
    ...{ event_id: line.id, place: placeJson(line), correlation_id: line.thread },
    ...{ from: line.author, type: read.type, subject: read.subject },
    to: addresseesOf(source, line, read.to),
  };
}

/** Whom a line is for: of one that names everybody the members of today. */
export function addresseesOf(
  { members, place: { self } }: Pick<Known, "members" | "place">,
  line: HeldLine,
  to: readonly string[] | undefined,
): string[] {
  // In no chain and without `to` it is for whom its carrier is.
  if (line.seq === null && to === undefined) return line.isOurs ? [self] : [];
  const named = (to ?? ["*"]).flatMap((each) => (each === "*" ? [...members.keys()] : each));
  return [...new Set(named)].filter((each) => each !== line.author);
}

/** The thread of the message that is named or, unless `by` is "event_id", the thread of that name. */
export function threadNamed(
  source: Owing,
  { id, by }: { readonly id: string; readonly by?: "event_id" },
): { readonly thread: string; readonly isByName: boolean } {
  const messages = messagesNamed(source, id);
  const isThread = by !== "event_id" && source.store.threadRow(id) !== undefined;
  const [message] = messages;
  if (messages.length > 1 || (message !== undefined && isThread && message.line.thread !== id)) {
    const name = isThread ? [`the thread "${id}"`] : [];
    throw ambiguous(id, [...messages.map(meaning), ...name], isThread);
  }
  if (message !== undefined) return { thread: message.line.thread, isByName: false };
  if (!isThread) throw unknownId(id, by === "event_id" ? "" : ", or a correlation id");
  return { thread: id, isByName: true };
}

function messagesNamed(source: Owing, id: string): Named[] {
  const prefix = id.toLowerCase();
  if (prefix.length < MIN_ID_PREFIX || prefix.length > ID_LENGTH) return [];
  const lines = source.store.withIdPrefix(prefix, MOST_LISTED + 1);
  return lines.map((line) => ({ line, read: readHeld(source.place.wireId, line) }));
}

function meaning({ line, read: { author, type, subject } }: Named): string {
  const shown = Array.from(subject);
  const cut = shown.length > MOST_LISTED_SUBJECT;
  const text = cut ? `${shown.slice(0, MOST_LISTED_SUBJECT).join("")}…` : subject;
  return `${line.id}: ${author}, ${type} ${JSON.stringify(text)}`;
}

function ambiguous(id: string, meanings: readonly string[], isName: boolean): DeaddropError {
  const listed = meanings.slice(0, MOST_LISTED);
  const rest = listed.length < meanings.length ? ["and more"] : [];
  return new DeaddropError("ambiguous_id", [`"${id}" could mean:`, ...listed, ...rest].join("\n"), {
    hint: isName
      ? "give the event id of the message that you mean, with --event if a thread has the same name"
      : "give the whole event id of the one that you mean",
  });
}

function unknownId(id: string, orName: string): DeaddropError {
  return new DeaddropError("unknown_id", `no message is named "${id}"`, {
    hint: `give an event id, or the first ${MIN_ID_PREFIX} or more characters of one${orName}; deaddrop inbox and deaddrop sent list them`,
  });
}

/** `<delivered>` or `<delivered>.<how many are left>`. */
function readAfter(
  after: string,
  last: number,
): { readonly place: number; readonly left?: number } {
  const [, place, left] = /^(\d{1,15})(?:\.(\d{1,15}))?$/u.exec(after) ?? [];
  if (place === undefined) throw badRequest("after must be the `next` of a page");
  if (Number(place) > last)
    throw new DeaddropError(
      "usage",
      `the place ${after} is beyond the end: places go from 0 to ${last}`,
      {
        hint: "begin again without one: what is unread is shown",
      },
    );
  return { place: Number(place), ...(left === undefined ? {} : { left: Number(left) }) };
}

/** Half of a page is for unread mail of authors who are not on it. */
function withShares(
  store: Store,
  page: readonly HeldLine[],
  { limit, newest }: { readonly limit: number; readonly newest: boolean },
): { readonly kept: readonly HeldLine[]; readonly others: readonly HeldLine[] } {
  const present = new Set(page.map(({ author }) => author));
  const hidden = store.mail
    .unread()
    .map(({ author }) => author)
    .filter((author) => !present.has(author))
    .slice(0, Math.floor(limit / 2));
  if (hidden.length === 0) return { kept: page, others: [] };
  const share = Math.floor(limit / 2 / hidden.length);
  const others = hidden.flatMap((from) =>
    linesOf(store, store.mail.after({ unread: true, from }, 0, share)),
  );
  const room = limit - others.length;
  return { kept: newest ? page.slice(-room) : page.slice(0, room), others };
}

function linesOf(store: Store, ns: readonly number[]): HeldLine[] {
  return ns.flatMap((n) => store.line(n) ?? []);
}

function firstBytes(lines: readonly HeldLine[]): readonly HeldLine[] {
  let bytes = 0;
  const end = lines.findIndex((line) => (bytes += line.bytes.length) >= PAGE_BYTES);
  return end === -1 ? lines : lines.slice(0, end + 1);
}

function byDelivery(one: HeldLine, other: HeldLine): number {
  return (one.delivered ?? 0) - (other.delivered ?? 0);
}

function rowsOf(source: Owing, lines: readonly HeldLine[]): InboxMessage[] {
  return lines.map((line) => {
    const read = readHeld(source.place.wireId, line);
    const _meta = {
      id: line.id,
      place: placeJson(line),
      received_at: new Date(line.receivedMs).toISOString(),
      tier: tierOf(source, line.author),
      verified: read.signed !== undefined,
      thread: line.thread,
      priority: read.priority,
      obligations: obligationViews(source, source.store.owed.ofLine(line.n)),
      read: !line.isUnread,
      after_gap: line.seq !== null && line.branch === null,
    };
    // First in what is printed, and ours whatever the peer's line holds under that name.
    return { ...{ _meta }, ...fieldsOf(line), ...{ _meta } };
  });
}

/** The place that a correction names; undefined for other lines. Spec 1.7. */
export function correctedBy({ place }: Pick<Known, "place">, line: HeldLine): Place | undefined {
  if (line.type !== "correction") return undefined;
  return readPlace(field(readHeld(place.wireId, line).body, "corrects"));
}

/** Whether a line is shown to people and models: it is judged, and if refused its author is verified. */
export function isShown(known: Owing, { author, type, verdict }: HeldLine): boolean {
  if (isState(type) || verdict === null) return false;
  return PASSED.has(verdict) || isVerified(tierOf(known, author));
}

/** A message of a thread or of what was searched for. */
export function messageOf(
  source: Owing,
  line: HeldLine,
  corrections: ReadonlyMap<string, readonly string[]>,
): HeldMessage {
  const { id, author, verdict, receivedMs } = line;
  return {
    ...fieldsOf(line),
    _meta: {
      id,
      place: placeJson(line),
      received_at: new Date(receivedMs).toISOString(),
      tier: tierOf(source, author),
      priority: readHeld(source.place.wireId, line).priority,
      refused: verdict === null || PASSED.has(verdict) ? null : verdict,
      corrections: corrections.get(id) ?? [],
    },
  };
}

function fieldsOf({ bytes }: HeldLine): PlainMessage {
  const parsed = parseObject(bytes);
  if (!parsed.ok) throw new Error("a line that is held is no JSON object");
  return toPlain(parsed.value) as PlainMessage;
}

/** What a line that is held says. */
export function readHeld(wireId: string, { bytes }: HeldLine): ChainedLine | LooseLine {
  const read = readLine(bytes, wireId);
  if (!read.ok) throw new Error(`a line that is held is ${read.problem.reason}`);
  return read.line;
}
