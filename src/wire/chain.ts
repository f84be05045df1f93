import type { Message } from "./message.ts";

/** The last chained line of a log. */
export interface ChainHead {
  readonly seq: number;
  /** Its event id: the `prev` of the line after it. */
  readonly id: string;
}

/** Lines `from` to `to` that have not been seen, and what their neighbours say of them. */
export interface ChainGap {
  readonly from: number;
  readonly to: number;
  /** Id of line `from − 1`; undefined at the beginning of the log. */
  readonly after: string | undefined;
  /** Id that line `to` must have: the `prev` of line `to + 1`. Undefined where nothing says it. */
  readonly before: string | undefined;
}

/** What is remembered of the chain of one log: plain data, updated by `advance`. */
export interface ChainState {
  /** Undefined until the log has shown a chained line. */
  head: ChainHead | undefined;
  /** In order of `from`, without overlap. */
  gaps: readonly ChainGap[];
}

export function emptyChain(): ChainState {
  return { head: undefined, gaps: [] };
}

export type ChainLine = Pick<Message, "version" | "id" | "log" | "seq" | "prev">;

/**
 * What a line is to its log. Spec 1.6.
 * - `first`: the first chained line; `startsAt` above 1 means that the log needs its archive or the
 *   operator's decision.
 * - `next`: follows the head.
 * - `duplicate`: is known already.
 * - `gap`: lines `from` to `to` before it are missing.
 * - `filler`: fills one of the gaps and links to all neighbours that are known.
 * - `fork`: contradicts what the author wrote before. The chain does not move.
 * - `unchained`: is outside the chain; `afterChained` when the log has shown chained lines.
 */
export type ChainVerdict =
  | { readonly outcome: "first"; readonly startsAt: number }
  | { readonly outcome: "next" }
  | { readonly outcome: "duplicate" }
  | { readonly outcome: "gap"; readonly from: number; readonly to: number }
  | { readonly outcome: "filler"; readonly gap: ChainGap }
  | { readonly outcome: "fork"; readonly detail: string }
  | { readonly outcome: "unchained"; readonly afterChained: boolean };

/** A signed line that says its place: `log` ties `seq` to its file. A v3.0 line has an id, too (spec 1.5). */
export function isChained(line: ChainLine): line is ChainLine & { seq: number; log: string } {
  return line.version !== "v2.0" && line.seq !== undefined && line.log !== undefined;
}

/** Spec 1.6. A chained line that names no wire was written for one without an id. */
export function isOfAnotherWire(
  line: ChainLine & { readonly wire?: string | undefined },
  wireId: string | undefined,
): boolean {
  if (wireId === undefined || line.wire === wireId) return false;
  return line.wire !== undefined || isChained(line);
}

/** Lines of a chain by their numbers, both ends included. */
export interface ChainRange {
  readonly from: number;
  readonly to: number;
}
