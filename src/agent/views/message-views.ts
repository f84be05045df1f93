import { threadMessageOf, type Thread } from "../../protocol/threads/threads.ts";
import { threadViewsOf } from "../../protocol/threads/threads-view.ts";
import { toPlain } from "../../wire/json/json.ts";
import type { Priority } from "../../wire/message.ts";
import type { MessageFields, ThreadMessage, ThreadView, ViewArgs } from "../../api/views.ts";
import { idKey, type LineRow } from "../../storage/files/line-row.ts";
import { resolveThread, type NamedThread } from "./resolve-id.ts";
import type { Session } from "../session/session.ts";
import { threadDigits } from "../state/indexed-journal.ts";
import { messagesAt } from "../state/stored-messages.ts";

/** Of a thread that memory has dropped, the newest: a peer can write as many as it likes. */
const MAX_READ = 4_096;

/** The threads of a correlation id, or of the message that is named, with their texts. */
export function threadMessagesView(session: Session, args: ViewArgs["thread"]): ThreadView[] {
  const { memory, env } = session;
  const nowMs = session.world.clock.wallMs();
  const named = resolveThread(session, args);
  const threads = threadViewsOf(memory.state, env, nowMs, threadNamed(session, named));
  const texts = new Map<string, { fields: MessageFields; priority: Priority }>();
  const shown = new Set(
    threads.flatMap(({ messages }) => messages.map((each) => idKey(each.event_id))),
  );
  const rows = rowsOfThread(session, named.correlationId, ({ idKey: key }) => shown.has(key));
  for (const { entry, message } of messagesAt(session, rows)) {
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
  const rows = rowsOfThread(session, correlationId);
  const read = rows.slice(-MAX_READ);
  const messages = [];
  for (const { entry, message } of messagesAt(session, read)) {
    if (message.correlationId !== correlationId || message.type === "heartbeat") continue;
    const { log, line, at, reason: refused } = entry;
    const kept = threadMessageOf({ message, log, line, at, refused }, session.env);
    if (kept !== undefined) messages.push(kept);
  }
  return { correlationId, messages, omitted: rows.length - read.length };
}

/** Those of its messages that pass, and perhaps some of other threads. */
function rowsOfThread(
  { recorder, files }: Pick<Session, "recorder" | "files">,
  correlationId: string,
  passes: (row: LineRow) => boolean = () => true,
): number[] {
  recorder.flush();
  return files.journal.find(passes, { thread: threadDigits(correlationId) });
}
