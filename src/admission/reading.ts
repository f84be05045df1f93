import type { ChainRange } from "../wire/chain.ts";
import type { Mode, NotedReason, RefusalReason } from "./checks.ts";

/** What is asked of a line that may have to wait. */
export interface FirstLook {
  /** Whether lines of the chain between these numbers are in the file behind that offset. Spec 1.6. */
  hasLinesBehind(offset: number, gap: ChainRange): boolean;
}

/** What our private journal noted of the line at one place. Spec 2.4. */
export interface NotedLine {
  /** Whether it was found to be its author's. */
  readonly authentic: boolean;
  readonly reason: RefusalReason | undefined;
  /** Whether the note is about the line of that id; of a line that proved nothing no id is noted. */
  isOf(id: string): boolean;
  /**
   * Whether the noted line is as long as these bytes; true for a line in a run, whose length is not
   * noted.
   */
  fits(bytes: Uint8Array): boolean;
}

interface AnyReading {
  readonly mode: Mode;
  /** Our wall clock when the line was taken in. */
  readonly receivedAtMs: number;
  /** Its place in the log, archives included. */
  readonly line?: number;
}

/**
 * Who asks, and what is known of a line besides its bytes. The checks and their order are the same
 * for all; the table in `checks.ts` says which are asked in which mode. For the same line, state,
 * context and receipt time verdicts differ in these cases only:
 * - `wait` is given in mode `live` alone: to lines of a held peer, to a log that begins late or is
 *   out of order, and to a line that may be dated right. The journal notes no such line. An audit
 *   reads on, after a peer's fork as if the operator had let its chain go on from there.
 * - mode `recall`: the verdict that was noted is the verdict.
 * - mode `audit`: for what depends on our clock, pins, tiers, policy and limits, the verdict that
 *   was noted, where our journal has one of this very line. Elsewhere the line's own timestamp is
 *   its receipt time, so that nothing is `clock_skew`; what tier its author had and what the limits
 *   were is not known, so that nothing is `tier_refused`, `body_too_large` or `too_many_refs`;
 *   pins, policy and `allow_unchained` are today's. Of these reasons only those that depend on
 *   pins, policy and `allow_unchained` can change what is folded or how the chain moves.
 * - mode `verify`: there is no log, so nothing depends on what it has shown.
 */
export type Reading =
  | (AnyReading & {
      readonly mode: "live";
      /** Of a line that is judged for the first time, and may have to wait. */
      readonly first?: FirstLook | undefined;
      /** Where the line ends in its file. */
      readonly end?: number;
    })
  | (AnyReading & { readonly mode: "recall"; readonly noted: NotedReason })
  | (AnyReading & { readonly mode: "audit"; readonly noted?: NotedLine | undefined })
  | { readonly mode: "verify" };

/** For `deaddrop verify`, which knows nothing but the line. */
export const VERIFY: Reading = { mode: "verify" };
