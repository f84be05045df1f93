import { DAY_MS, MINUTE_MS } from "../wire/durations.ts";
import type { JsonValue } from "../wire/json/json.ts";
import { parseTimestamp } from "../wire/timestamp.ts";
import { textField } from "./body.ts";

/** Spec 3.4.6: `body.due` is between these two after the line's own timestamp. */
export const MIN_DUE_MS = 2 * MINUTE_MS;
export const MAX_DUE_MS = 30 * DAY_MS;

/** `body.due` of a line of that timestamp, in ms; undefined when it is absent or out of range. */
export function dueOf(body: JsonValue, timestampMs: number): number | undefined {
  const text = textField(body, "due");
  const dueMs = text === undefined ? undefined : parseTimestamp(text);
  if (dueMs === undefined) return undefined;
  const afterMs = dueMs - timestampMs;
  return afterMs >= MIN_DUE_MS && afterMs <= MAX_DUE_MS ? dueMs : undefined;
}
