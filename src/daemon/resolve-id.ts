import type { ThreadMessage } from "../protocol/threads.ts";
import type { ResolvedId } from "./view-types.ts";
import { DeaddropError } from "./errors.ts";
import type { Session } from "./session.ts";

const MIN_PREFIX = 6;
const HEX = /^[0-9a-f]+$/;

/**
 * The message that a person names: by event id, a unique prefix of at least six characters, or a
 * correlation id, which means the thread's root. Spec 4.4.
 */
export function resolveId(session: Session, id: string): ResolvedId {
  const { threads } = session.memory.state.threads;
  const thread = threads.get(id);
  if (thread !== undefined) {
    const root = thread.messages.find((message) => message.root) ?? thread.messages[0];
    if (root !== undefined) return resolved(root, id);
  }
  const prefix = id.toLowerCase();
  if (prefix.length < MIN_PREFIX || !HEX.test(prefix)) throw unknown(id);
  const found = new Map<string, ResolvedId>();
  for (const [correlationId, { messages }] of threads) {
    for (const message of messages) {
      if (message.id.startsWith(prefix)) found.set(message.id, resolved(message, correlationId));
    }
  }
  const [first, second] = [...found.values()];
  if (first === undefined) throw unknown(id);
  if (second !== undefined) {
    throw new DeaddropError("ambiguous_id", `"${id}" names more than one message`, {
      hint: `give more characters: ${[...found.keys()].slice(0, 4).join(", ")}`,
    });
  }
  return first;
}

function resolved(message: ThreadMessage, correlationId: string): ResolvedId {
  const { id, from, type, log, to } = message;
  return { event_id: id, correlation_id: correlationId, from, type, log, to: [...to] };
}

function unknown(id: string): DeaddropError {
  return new DeaddropError("unknown_id", `no message is named "${id}"`, {
    hint: `give an event id, the first ${MIN_PREFIX} or more characters of one, or a correlation id; deaddrop inbox and deaddrop sent list them`,
  });
}
