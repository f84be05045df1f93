import { isChained, type ChainHead } from "../chain.ts";
import { isJsonObject, type JsonValue } from "../json/json.ts";
import type { Message } from "../message.ts";

type LineOfLog = Pick<
  Message,
  "type" | "body" | "from" | "version" | "id" | "log" | "seq" | "prev"
>;

/**
 * Whether a line says that it is the last one of its author's log, which goes on in the author's
 * outbox: a chained `correction` with `body.closes` and `body.into`. Spec 1.6. What it says holds only
 * where the layout has that log as a closed one: `closingLineOf`.
 */
export function saysClosed(message: LineOfLog): boolean {
  const { type, body, from, log } = message;
  if (type !== "correction" || !isChained(message) || !isJsonObject(body)) return false;
  return body["closes"] === log && body["into"] === from;
}

/**
 * The place of a line that closes that log; undefined for any other line, and where the change of
 * layout is not in force. The only judge of it. Spec 1.6.
 */
export function closingLineOf(
  message: LineOfLog,
  log: { readonly into?: string | undefined },
): ChainHead | undefined {
  if (log.into === undefined || message.from !== log.into || !saysClosed(message)) return undefined;
  return isChained(message) ? { seq: message.seq, id: message.id } : undefined;
}

/** Whether a line is the first one of an outbox that goes on with closed logs. Spec 1.6. */
export function saysContinued({ type, body, seq }: LineOfLog): boolean {
  return (
    type === "correction" && seq === 1 && isJsonObject(body) && body["continues"] !== undefined
  );
}

/** The body of the line that closes a log. */
export function closingBody(log: string, owner: string): JsonValue {
  return { closes: log, into: owner };
}

/** The body of the first line of an outbox: the closing lines of the logs that it goes on with. */
export function continuingBody(
  closed: readonly (ChainHead & { readonly log: string })[],
): JsonValue {
  return { continues: closed.map(({ log, seq, id }) => ({ log, seq, event_id: id })) };
}
