import type { Draft } from "../wire/compose.ts";
import type { Parent } from "./naming/parent.ts";

/**
 * A message that may be sent, and what its sender is told with it. What prepares one only reads; it
 * throws DeaddropError for what may not be sent.
 */
export interface Prepared {
  readonly draft: Draft;
  /** The message that it answers. */
  readonly answers?: Parent | undefined;
  /** What it means, or what it does not do. */
  readonly note?: string | undefined;
}

/** What may be said of any message besides its words. */
export type Extras = Pick<Draft, "refs" | "priority" | "ackRequired">;
