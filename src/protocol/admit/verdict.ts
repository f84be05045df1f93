import { bodyBytes } from "../../wire/compose.ts";
import { MINUTE_MS } from "../../wire/durations.ts";
import type { Limits } from "../../wire/limits.ts";
import { acceptsType, isState, type Tier } from "../../trust/tiers.ts";
import type { ChainedLine, LooseLine, Problem } from "./read-line.ts";

/** What is known of a line and its author besides its bytes, when it is judged. */
export interface Circumstances {
  readonly self: string;
  readonly limits: Limits;
  /** Undefined: blocked, or of a tier that does not exist. */
  readonly tier: Tier | undefined;
  readonly isBlocked: boolean;
  /** The author is a member of the roster in force. */
  readonly isMember: boolean;
  /** It is not mail before the operator decides about its author. */
  readonly isHeld: boolean;
  /** A revoked key has signed it, or the operator follows another branch. */
  readonly aside: "struck" | "rejected" | null;
  /** The line is believed for its key. Spec 2.1. */
  readonly isBelieved: boolean;
  /** It may become believed, by a pin or a later line. */
  readonly mayBeBelieved: boolean;
  /** Of a line without number: lines of a chain of its author are held, and the operator does not allow both. */
  readonly isOutsideChain: boolean;
  readonly receivedMs: number;
  readonly nowMs: number;
  /** It was not there when reading began: its date is compared with our clock. */
  readonly isLive: boolean;
  /** A later line of its author is not dated ahead of its own receipt. */
  readonly isFollowedInTime: boolean;
  /** It is addressed to our agent. */
  readonly isOurs: boolean;
}

/**
 * What becomes of a line that is taken in.
 * - `mail`: it is delivered.
 * - `passed`: it is taken, and is for somebody else, or says how its author is.
 * - `refused`: it is no mail.
 * - `waits`: it is judged again.
 */
export type Verdict =
  | { readonly is: "mail" }
  | { readonly is: "passed" }
  | { readonly is: "refused"; readonly problem: Problem }
  | { readonly is: "waits"; readonly for: "operator" | "tier" | "key" | "clock" };

/** A date ahead of our clock is waited for so long. */
export const SKEW_WAIT_MS = 15 * MINUTE_MS;

/**
 * Whether a line of a branch that is followed, or one without number, is mail. The order of the questions is
 * that of the reasons. Spec 2.4.
 */
export function verdictOf(line: ChainedLine | LooseLine, at: Circumstances): Verdict {
  const { author, type } = line;
  if (author === at.self) return line.seq === null && at.isOurs ? mailOrPassed(line, at) : PASSED;
  if (at.isHeld && at.aside === null && (line.seq !== null || at.isBelieved))
    return { is: "waits", for: "operator" };
  if (line.problem !== undefined) return { is: "refused", problem: line.problem };
  if (!at.isBelieved || at.aside === "struck") {
    if (at.mayBeBelieved && at.aside !== "struck") return { is: "waits", for: "key" };
    return refused("untrusted_key", `${line.signed?.keyId ?? "its key"} is not believed`);
  }
  if (at.isOutsideChain && type !== "heartbeat")
    return refused("unchained", `${author} chains its lines, and this one is in no chain`);
  if (!at.isMember) return refused("left_member", `${author} is no member`);
  if (at.aside === "rejected")
    return refused("log_forked", "it is on a branch that the operator does not follow");
  const rightMs = line.sentMs - at.limits.max_clock_skew_seconds * 1_000;
  if (at.isLive && rightMs > at.receivedMs && !at.isFollowedInTime) {
    const endMs = at.receivedMs + SKEW_WAIT_MS;
    if (rightMs > Math.min(at.nowMs, endMs)) {
      if (at.nowMs < endMs) return { is: "waits", for: "clock" };
      return refused("clock_skew", `it is dated ${line.timestamp}, and was received before that`);
    }
  }
  if (at.tier === "UNTRUSTED" && !at.isBlocked && !acceptsType(at.tier, type))
    return { is: "waits", for: "tier" };
  const problem = policyProblem(line, at);
  return problem === undefined ? mailOrPassed(line, at) : { is: "refused", problem };
}

/** What our policy has against a line of an author of that tier; undefined: nothing. */
export function policyProblem(
  { author, type, size, body, refs }: ChainedLine | LooseLine,
  { tier, isBlocked, limits }: Pick<Circumstances, "tier" | "isBlocked" | "limits">,
): Problem | undefined {
  if (!acceptsType(tier, type)) {
    const rank = isBlocked ? "blocked" : (tier ?? "of no known tier");
    return { reason: "tier_refused", detail: `${author} is ${rank}: ${type} is not taken` };
  }
  const maxBytes = limits.max_message_body_kb * 1_024;
  const bytes = tier !== "TRUSTED" && size > maxBytes ? bodyBytes(body) : 0;
  if (bytes > maxBytes) {
    const detail = `body has ${bytes} bytes; at most ${maxBytes} are taken`;
    return { reason: "body_too_large", detail };
  }
  if (refs <= limits.max_refs) return undefined;
  return { reason: "too_many_refs", detail: `${refs} refs; at most ${limits.max_refs} are taken` };
}

const PASSED: Verdict = { is: "passed" };

function mailOrPassed({ type }: ChainedLine | LooseLine, { isOurs }: Circumstances): Verdict {
  return isOurs && !isState(type) ? { is: "mail" } : PASSED;
}

function refused(reason: Problem["reason"], detail: string): Verdict {
  return { is: "refused", problem: { reason, detail } };
}
