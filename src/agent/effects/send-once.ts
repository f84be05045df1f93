import type { SendAnswer } from "../../api/client.ts";
import { DeaddropError } from "../../api/errors.ts";
import type { RequestKey } from "../../protocol/events.ts";
import { keyedSend } from "../../protocol/receipts/send-keys.ts";
import { quote } from "../../wire/quote.ts";
import type { Session } from "../session/session.ts";

type Parts = Pick<Session, "world" | "memory" | "files" | "recorder">;

/**
 * The answer to a call that was carried out before under the same key; undefined when its lines are
 * not promised: nothing was sent, and it may be sent now. Throws DeaddropError for a key that was
 * used for something else. Spec 8.1.
 */
export function answeredBefore(session: Parts, key: RequestKey): SendAnswer | undefined {
  const { world, memory, files } = session;
  const nowMs = world.clock.wallMs();
  const keyed = keyedSend(memory.state.sendKeys, key.name, nowMs);
  if (keyed === undefined || !keyed.messages.every(({ event_id }) => isOurs(session, event_id))) {
    return undefined;
  }
  if (keyed.digest !== key.digest) {
    throw new DeaddropError(
      "bad_draft",
      `not sent: the key ${quote(key.name)} was used for something else at ${new Date(keyed.at).toISOString()}`,
      { hint: "give each message a key of its own, and repeat a key only with the same message" },
    );
  }
  const { writer } = files.own;
  const waits = keyed.messages.some(({ log, event_id }) =>
    writer.unplaced(log).some(({ id }) => id === event_id),
  );
  return {
    outcome: waits ? "queued" : "sent",
    messages: keyed.messages.map((message) => ({ ...message, to: [...message.to] })),
    repeated: true,
  };
}

/** Whether a line was promised: it waits, it was written and not read back yet, or it is in its log. */
function isOurs({ files, recorder }: Parts, id: string): boolean {
  const { written, writer } = files.own;
  if (written.has(id) || writer.promised.some((line) => line.id === id)) return true;
  recorder.flush();
  return files.journal.find(() => true, { id, most: 1 }).length > 0;
}
