import type { InboxMessage } from "../../api/views.ts";

/** Fields that only machines verify, and what `_meta` says anyway. */
const LEFT_OUT = new Set([
  ...["event_id", "public_key_id", "signature", "wire", "log", "seq", "prev", "kind"],
  ...["timestamp", "correlation_id", "priority", "ack_required"],
]);

/** A message without what only machines verify, for a reader who pays for each token. Spec 8.6. */
export function briefMessage(message: InboxMessage): Record<string, unknown> {
  const { _meta, ...fields } = message;
  const kept = Object.entries(fields).filter(
    ([name, value]) => !LEFT_OUT.has(name) && !(Array.isArray(value) && value.length === 0),
  );
  return { _meta, ...Object.fromEntries(kept) };
}
