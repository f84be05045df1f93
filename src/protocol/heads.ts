import { isJsonArray, type JsonValue } from "../wire/json.ts";
import type { Layout } from "../wire/layout.ts";
import { parseTimestamp } from "../wire/timestamp.ts";
import { bodyObject, countField, field, textField } from "./body.ts";

/** At most so many refusals are named per log and beat. Spec 3.2. */
export const MAX_NAMED_REFUSALS = 32;
const MAX_REASON = 64;
const EVENT_ID = /^[0-9a-f]{64}$/u;

/** How far a beat's author says that it has read one log. Spec 3.2. */
export interface Head {
  readonly lines: number;
  readonly seq?: number;
  readonly eventId?: string;
  readonly readLines: number;
  readonly refused: readonly (readonly [line: number, reason: string])[];
}

/**
 * The heads that a beat carries, by target log; empty when it carries none. A body is a peer's
 * word: logs outside the layout, and heads that are not well formed, are left out.
 */
export function parseHeads(body: JsonValue, layout: Layout): Map<string, Head> {
  const heads = new Map<string, Head>();
  const value = bodyObject(field(body, "heads") ?? null);
  if (value === undefined) return heads;
  for (const name of Object.keys(value)) {
    if (!layout.logs.has(name)) continue;
    const head = parseHead(value[name] ?? null);
    if (head !== undefined) heads.set(name, head);
  }
  return heads;
}

/** A head over a log in which so many lines more stood before it began anew. */
export function counted(head: Head, earlier: number): Head {
  const { lines, readLines, refused } = head;
  return {
    ...head,
    lines: lines + earlier,
    readLines: readLines === 0 ? 0 : readLines + earlier,
    refused: refused.map(([line, reason]) => [line + earlier, reason] as const),
  };
}

function parseHead(value: JsonValue): Head | undefined {
  const lines = countField(value, "lines");
  if (lines === undefined) return undefined;
  const seq = countField(value, "seq");
  if (seq === undefined && field(value, "seq") !== undefined) return undefined;
  const eventId = textField(value, "event_id");
  if (eventId === undefined ? field(value, "event_id") !== undefined : !EVENT_ID.test(eventId)) {
    return undefined;
  }
  return {
    lines,
    ...(seq === undefined ? {} : { seq }),
    ...(eventId === undefined ? {} : { eventId }),
    readLines: Math.min(countField(value, "read_lines") ?? 0, lines),
    refused: parseRefused(field(value, "refused") ?? null),
  };
}

function parseRefused(value: JsonValue): [number, string][] {
  if (!isJsonArray(value)) return [];
  const refused: [number, string][] = [];
  for (const item of value.slice(0, MAX_NAMED_REFUSALS)) {
    if (!isJsonArray(item)) continue;
    const [line, reason] = item;
    if (typeof line !== "number" || line < 1 || typeof reason !== "string") continue;
    refused.push([line, reason.slice(0, MAX_REASON)]);
  }
  return refused;
}

/** Milliseconds between the beat and the next that it promises; `undefined` when it does not. */
export function advertisedCadence(body: JsonValue, timestampMs: number): number | undefined {
  const eta = textField(body, "next_eta");
  const etaMs = eta === undefined ? undefined : parseTimestamp(eta);
  return etaMs !== undefined && etaMs > timestampMs ? etaMs - timestampMs : undefined;
}
