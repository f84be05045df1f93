import type { ChainRange } from "../wire/chain.ts";
import type { RefusalReason } from "./authenticate.ts";

/** What is asked of a line that may have to wait. */
export interface FirstLook {
  /** Whether lines of the chain between these numbers stand in the file behind the line. Spec 1.6. */
  standsBehind(gap: ChainRange): boolean;
}

/**
 * Who asks, and what is known of the line besides its bytes. The order of the checks is the same for
 * all. For the same line, state, context and receipt time verdicts differ in these cases only:
 * - `wait` is given in mode `live` alone: to lines of a held peer, to a log that begins late or is out
 *   of order, and to a line that may be dated right. The journal notes no such line. An audit reads on, after a peer's fork as if the operator had let
 *   its chain go on from there.
 * - mode `journal`: the verdict that was noted is the verdict.
 * - mode `audit`: for what hangs on our clock, pins, tiers, policy and limits (`BY_CONTEXT`), the
 *   verdict that was noted, where our journal has one of this very line. Elsewhere the line's own
 *   timestamp is its receipt time, so that nothing is `clock_skew`; what tier its author had and
 *   what the limits were is not known, so that nothing is `tier_refused`, `body_too_large` or
 *   `too_many_refs`; pins, policy and `allow_unchained` are today's. Of these reasons only those that
 *   hang on pins, policy and `allow_unchained` can change what is folded or how the chain moves.
 */
export interface Reading {
  readonly mode: "live" | "journal" | "audit";
  /** Its place in the log, archives included. */
  readonly line?: number;
  /** In mode `live`: of a line that is judged for the first time, and may have to wait. */
  readonly first?: FirstLook | undefined;
  /** What our journal noted of this line; in mode `journal` always given. */
  readonly noted?: { readonly reason: RefusalReason | undefined };
}

/** A daemon reads on, and nothing was noted yet. */
export const LIVE: Reading = { mode: "live" };

/** Reasons that hang on what we knew and allowed when the line was received. */
export const BY_CONTEXT: ReadonlySet<RefusalReason> = new Set<RefusalReason>([
  "unsigned",
  "untrusted_key",
  "unchained",
  "clock_skew",
  "tier_refused",
  "body_too_large",
  "too_many_refs",
]);

/** What is wrong with a line, or what our journal noted in its place. See `Reading`. */
export function decided(
  { mode, noted }: Reading,
  reason: RefusalReason,
  problem: string | undefined,
): string | undefined {
  if (noted === undefined || (mode !== "journal" && !BY_CONTEXT.has(reason))) return problem;
  if (noted.reason !== reason) return undefined;
  return problem ?? "it was refused when it was received";
}
