import { threadMessageOf, type Thread } from "../../protocol/threads/threads.ts";
import { threadViewsOf } from "../../protocol/threads/threads-view.ts";
import { toPlain } from "../../wire/json/json.ts";
import type { Priority } from "../../wire/message.ts";
import type { MessageFields, ThreadMessage, ThreadView, ViewArgs } from "../../api/views.ts";
import { resolveThread, type NamedThread } from "./resolve-id.ts";
import type { Session } from "../session/session.ts";
import { threadDigits } from "../state/indexed-journal.ts";
import { messagesAt, type StoredMessage } from "../state/stored-messages.ts";

/** The threads of a correlation id, or of the message that is named, with their texts. */
export function threadMessagesView(session: Session, args: ViewArgs["thread"]): ThreadView[] {
  const { memory, env } = session;
  const nowMs = session.world.clock.wallMs();
  const named = resolveThread(session, args);
  const threads = threadViewsOf(memory.state, env, nowMs, threadNamed(session, named));
  const texts = new Map<string, { fields: MessageFields; priority: Priority }>();
  for (const { entry, message } of messagesOfThread(session, named.correlationId)) {
    const fields = toPlain(message.fields) as MessageFields;
    texts.set(`${entry.log}:${entry.line}`, { fields, priority: message.priority });
  }
  return threads.map((thread) => ({
    ...thread,
    named_by: named.eventId === undefined ? "correlation_id" : "event_id",
    messages: thread.messages.flatMap((each): ThreadMessage[] => {
      const { event_id, log, line, received_at, tier, refused, corrections } = each;
      const text = texts.get(`${log}:${line}`);
      if (text === undefined) return [];
      const { fields, priority } = text;
      const _meta = { id: event_id, log, line, received_at, tier, priority, refused, corrections };
      return [{ ...fields, _meta }];
    }),
  }));
}

/** The thread from memory or, once memory has dropped the message that named it, from the files. */
function threadNamed(session: Session, { correlationId, eventId }: NamedThread): Thread {
  const held = session.memory.state.threads.threads.get(correlationId);
  const isHeld = eventId === undefined || held?.messages.some(({ id }) => id === eventId) === true;
  if (held !== undefined && isHeld) return held;
  const messages = [];
  for (const { entry, message } of messagesOfThread(session, correlationId)) {
    if (message.correlationId !== correlationId || message.type === "heartbeat") continue;
    const { log, line, at, reason: refused } = entry;
    const kept = threadMessageOf({ message, log, line, at, refused }, session.env);
    if (kept !== undefined) messages.push(kept);
  }
  return { correlationId, messages, omitted: 0 };
}

/** All of them, and perhaps some of other threads. */
function messagesOfThread(session: Session, correlationId: string): Iterable<StoredMessage> {
  const digits = threadDigits(correlationId);
  session.recorder.flush();
  return messagesAt(
    session,
    session.files.journal.find((row) => row.mayBeOfThread(digits)),
  );
}
