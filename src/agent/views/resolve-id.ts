import { addresseesOf } from "../../protocol/addressing.ts";
import { isWholeSubject, type ThreadMessage } from "../../protocol/threads/threads.ts";
import { DeaddropError } from "../../api/errors.ts";
import type { Session } from "../session/session.ts";
import { messagesAt, type StoredMessage } from "../state/stored-messages.ts";
import type { ResolvedId, ViewArgs } from "../../api/views.ts";
import { MIN_ID_PREFIX } from "../../wire/limits.ts";

const ID_LENGTH = 64;
const HEX = /^[0-9a-f]+$/;
/** Meanings that an error lists. */
const MAX_LISTED = 8;
const MAX_LISTED_SUBJECT = 80;

/**
 * The message that a person names, by event id or by a prefix of it that is unique among all
 * messages we hold. Never by correlation id: a peer chooses its own freely, and what is named here
 * may be answered with a signature. Spec 4.4.
 */
export function resolveId(session: Session, id: string): ResolvedId {
  const messages = messagesNamed(session, id);
  const [message] = messages;
  if (message === undefined) throw unknown(id);
  if (messages.length > 1) throw ambiguous(id, messages.map(meaning));
  return message;
}

/** The thread that a person wants to read, and what named it. */
export interface NamedThread {
  readonly correlationId: string;
  /** The message that named it; undefined when its own name did. */
  readonly eventId: string | undefined;
}

/**
 * The thread of the message that is named or, unless `by` is "event_id", the thread of that
 * correlation id. For reading only. Spec 4.4.
 */
export function resolveThread(session: Session, { id, by }: ViewArgs["thread"]): NamedThread {
  const messages = messagesNamed(session, id);
  const thread = by === "event_id" ? undefined : session.memory.state.threads.threads.get(id);
  const [message] = messages;
  const isOneThread = thread === undefined || message?.correlation_id === thread.correlationId;
  if (messages.length > 1 || (message !== undefined && !isOneThread)) {
    const [first] = thread?.messages ?? [];
    const name = first === undefined ? [] : [`the thread "${id}": ${facts(first)}`];
    throw ambiguous(id, [...messages.map(meaning), ...name], name.length > 0);
  }
  if (message !== undefined) {
    return { correlationId: message.correlation_id, eventId: message.event_id };
  }
  if (thread === undefined) throw unknown(id, by !== "event_id");
  return { correlationId: thread.correlationId, eventId: undefined };
}

/**
 * All messages of which the event id begins like that. Memory forgets old threads, and a log may
 * lack lines for a while, so the files are asked too: an id is unique only if it is in both.
 */
function messagesNamed(session: Session, id: string): ResolvedId[] {
  const prefix = id.toLowerCase();
  if (prefix.length < MIN_ID_PREFIX || prefix.length > ID_LENGTH || !HEX.test(prefix)) return [];
  const found = new Map<string, ResolvedId>();
  for (const { correlationId, messages } of session.memory.state.threads.threads.values()) {
    for (const message of messages) {
      if (!message.id.startsWith(prefix)) continue;
      found.set(message.id, resolved(message, correlationId));
      // An event id is a hash: a whole one is that of one content.
      if (prefix.length === ID_LENGTH && isWholeSubject(message)) return [...found.values()];
    }
  }
  session.recorder.flush();
  const rows = session.files.journal.find(() => true, { id: prefix });
  for (const stored of messagesAt(session, rows)) {
    if (stored.message.type === "heartbeat" || !stored.message.id.startsWith(prefix)) continue;
    const message = resolvedLine(session, stored);
    if (message !== undefined) found.set(message.event_id, message);
    if (prefix.length === ID_LENGTH) break;
  }
  return [...found.values()];
}

function resolved(message: ThreadMessage, correlationId: string): ResolvedId {
  const { id, from, type, subject, log, to } = message;
  return { event_id: id, correlation_id: correlationId, from, type, subject, log, to: [...to] };
}

function resolvedLine(
  session: Pick<Session, "place" | "env">,
  stored: StoredMessage,
): ResolvedId | undefined {
  const { entry, message } = stored;
  const log = session.place.layout.logs.get(entry.log);
  if (log === undefined) return undefined;
  return {
    event_id: message.id,
    correlation_id: message.correlationId,
    from: log.owner,
    type: message.type,
    subject: message.subject,
    log: entry.log,
    to: [...addresseesOf(message, log, session.env)],
  };
}

function meaning(message: ResolvedId): string {
  return `${message.event_id}: ${facts(message)}`;
}

function facts({ from, type, subject }: Pick<ResolvedId, "from" | "type" | "subject">): string {
  const shown = Array.from(subject);
  const cut = shown.length > MAX_LISTED_SUBJECT;
  const text = cut ? `${shown.slice(0, MAX_LISTED_SUBJECT).join("")}…` : subject;
  return `${from}, ${type} ${JSON.stringify(text)}`;
}

function ambiguous(id: string, meanings: readonly string[], isName = false): DeaddropError {
  const listed = meanings.slice(0, MAX_LISTED);
  const more = meanings.length - listed.length;
  const rest = more === 0 ? [] : [`and ${more} more`];
  return new DeaddropError("ambiguous_id", [`"${id}" could mean:`, ...listed, ...rest].join("\n"), {
    hint: isName
      ? "give the event id of the message that you mean, with --event if a thread has the same name"
      : "give the whole event id of the one that you mean",
  });
}

function unknown(id: string, orName = false): DeaddropError {
  return new DeaddropError("unknown_id", `no message is named "${id}"`, {
    hint: `give an event id, or the first ${MIN_ID_PREFIX} or more characters of one${orName ? ", or a correlation id" : ""}; deaddrop inbox and deaddrop sent list them`,
  });
}
