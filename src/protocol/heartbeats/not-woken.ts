import type { JsonValue } from "../../wire/json/json.ts";
import { parseTimestamp } from "../../wire/timestamp.ts";
import { field, textField } from "../body.ts";

/** Until when (Unix ms) an agent is not woken for a peer's mail: its wakes are used up. Spec 8.3. */
export interface NotWoken {
  readonly untilMs: number;
  /** The same for urgent mail; absent: that still wakes. */
  readonly urgentUntilMs?: number;
}

/** The same in a heartbeat, ISO-8601. Spec 3.1. */
export interface NotWokenBody {
  readonly until: string;
  readonly urgent_until?: string;
}

/** What is still true of it at that time, for these readers of a log. */
export function notWokenBody(
  all: Readonly<Record<string, NotWoken>>,
  readers: readonly string[],
  nowMs: number,
): Record<string, NotWokenBody> {
  const iso = (ms: number): string => new Date(ms).toISOString();
  return Object.fromEntries(
    readers.flatMap((peer) => {
      const { untilMs = 0, urgentUntilMs = 0 } = all[peer] ?? {};
      if (untilMs <= nowMs) return [];
      const urgent = urgentUntilMs > nowMs ? { urgent_until: iso(urgentUntilMs) } : {};
      return [[peer, { until: iso(untilMs), ...urgent }]];
    }),
  );
}

/** What a peer's heartbeat says of our own mail. */
export function readNotWoken(body: JsonValue, self: string): NotWoken | undefined {
  const said = field(field(body, "not_woken") ?? null, self) ?? null;
  const timeIn = (name: string): number | undefined => parseTimestamp(textField(said, name) ?? "");
  const [untilMs, urgentUntilMs] = [timeIn("until"), timeIn("urgent_until")];
  if (untilMs === undefined) return undefined;
  return { untilMs, ...(urgentUntilMs === undefined ? {} : { urgentUntilMs }) };
}
