import { isJsonArray, type JsonValue } from "../../wire/json/json.ts";
import type { Layout } from "../../wire/layout.ts";
import { parseTimestamp } from "../../wire/timestamp.ts";
import { bodyObject, countField, field, idField, textField } from "../body.ts";
import type { LineRange } from "./line-ranges.ts";
import { MAX_NAMED_REFUSALS, readReason, type NamedReason } from "../receipts/refused-lines.ts";

/** How far a beat's author says that it has read one log. Spec 3.2. */
export interface Head {
  readonly lines: number;
  readonly seq?: number;
  readonly eventId?: string;
  readonly readLines: number;
  readonly refused: readonly HeadRefusal[];
}

/** Lines that a beat names as refused. */
export interface HeadRefusal extends LineRange {
  readonly reason: NamedReason;
}

/**
 * The heads that a beat carries, by target log; empty when it carries none. A peer writes the body:
 * logs outside the layout, and heads that are not well formed, are left out.
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

/** A head over a rewritten log, in our count: with the lines that the log had before. */
export function counted(head: Head, earlier: number): Head {
  const { lines, readLines, refused } = head;
  return {
    ...head,
    lines: lines + earlier,
    readLines: readLines === 0 ? 0 : readLines + earlier,
    refused: refused.map(({ first, last, reason }) => ({
      first: first + earlier,
      last: last + earlier,
      reason,
    })),
  };
}

/** Whether a beat says how far its author has read, be it nothing yet. Spec 3.2. */
export function statesHeads(body: JsonValue): boolean {
  return bodyObject(field(body, "heads") ?? null) !== undefined;
}

function parseHead(value: JsonValue): Head | undefined {
  const lines = countField(value, "lines");
  if (lines === undefined) return undefined;
  const seq = countField(value, "seq");
  if (seq === undefined && field(value, "seq") !== undefined) return undefined;
  const eventId = idField(value, "event_id");
  if (eventId === undefined && field(value, "event_id") !== undefined) return undefined;
  return {
    lines,
    ...(seq === undefined ? {} : { seq }),
    ...(eventId === undefined ? {} : { eventId }),
    readLines: Math.min(countField(value, "read_lines") ?? 0, lines),
    refused: parseRefused(field(value, "refused") ?? null, lines),
  };
}

/** Entries that are no ranges within the `lines` of the same head are left out. Spec 3.2. */
function parseRefused(value: JsonValue, lines: number): HeadRefusal[] {
  if (!isJsonArray(value)) return [];
  return value.slice(0, MAX_NAMED_REFUSALS).flatMap((item) => {
    if (!isJsonArray(item) || item.length < 2 || item.length > 3) return [];
    const [first, second, third] = item;
    const [last, reason] = item.length === 2 ? [first, second] : [second, third];
    if (typeof first !== "number" || typeof last !== "number") return [];
    if (first < 1 || last < first || last > lines) return [];
    return [{ first, last, reason: readReason(reason) }];
  });
}

/** Milliseconds between the beat and the next that it promises; `undefined` when it does not. */
export function promisedCadence(body: JsonValue, timestampMs: number): number | undefined {
  const eta = textField(body, "next_eta");
  const etaMs = eta === undefined ? undefined : parseTimestamp(eta);
  return etaMs !== undefined && etaMs > timestampMs ? etaMs - timestampMs : undefined;
}
