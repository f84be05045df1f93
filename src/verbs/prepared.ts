import type { Draft } from "../wire/compose.ts";
import type { Parent } from "./naming/parent.ts";

/**
 * A message that may be sent, and what its sender is told with it. What prepares one only reads; it
 * throws DeaddropError for what may not be sent.
 */
export interface Prepared {
  readonly draft: Draft;
  /** Sent with it, all or nothing. */
  readonly more?: readonly Draft[] | undefined;
  /** The message that it answers. */
  readonly answers?: Parent | undefined;
  /** What it means, or what it does not do. */
  readonly note?: string | undefined;
  /** Of a proposal: the words that are recorded once it is ratified. Spec 3.4.7. */
  readonly decides?: string | undefined;
  /** Of an agreement to a peer's proposal: the same, in that peer's words. */
  readonly agreesTo?: string | undefined;
}

/** What may be said of any message besides its words. */
export type Extras = Pick<Draft, "refs" | "priority" | "ackRequired">;

/** The same with a further note, where there is one. */
export function withNote(prepared: Prepared, note: string | undefined): Prepared {
  if (note === undefined) return prepared;
  return { ...prepared, note: prepared.note === undefined ? note : `${prepared.note}\n${note}` };
}
