import { isChained, type ChainVerdict } from "../wire/chain.ts";
import { quote } from "../wire/quote.ts";
import type { AdmissionContext, VerifiedMessage } from "./admission.ts";
import type { LogAdmission } from "./log-admission.ts";
import { isStrayCopy } from "./replay.ts";

// What single checks of `admit` find wrong with a line, in words; undefined: nothing.

/** Spec 1.6. A chained line that names no wire was written for one without an id. */
export function wrongWire(
  message: VerifiedMessage,
  wireId: string | undefined,
): string | undefined {
  if (wireId === undefined || message.wire === wireId) return undefined;
  if (message.wire === undefined) {
    return isChained(message) ? `the line names no wire; this one is ${wireId}` : undefined;
  }
  return `the line was written for the wire ${quote(message.wire)}; this one is ${wireId}`;
}

/** Spec 1.6: outside the chain are v2.0 lines that policy admitted and agents marked `allow_unchained`. */
export function strayLine(
  verdict: ChainVerdict,
  message: VerifiedMessage,
  ctx: AdmissionContext,
): string | undefined {
  if (verdict.outcome !== "unchained" || !verdict.afterChained) return undefined;
  if (message.version === "v2.0") return undefined;
  if (ctx.store.peers.get(message.from)?.allowUnchained === true) return undefined;
  return `this log is chained, and the line carries no place in the chain`;
}

/** Spec 2.4: dated further ahead of its receipt than the limit. */
export function clockSkew(
  { timestampMs }: VerifiedMessage,
  { limits }: AdmissionContext,
  receivedAtMs: number,
): string | undefined {
  const aheadMs = timestampMs - receivedAtMs;
  if (aheadMs <= limits.maxClockSkewSeconds * 1_000) return undefined;
  const ahead = Math.round(aheadMs / 1_000);
  return `dated ${ahead} s ahead of our clock; at most ${limits.maxClockSkewSeconds} s are let pass`;
}

/** Spec 2.4: its content stood in this log before, or was written to another one. */
export function replayed(
  message: VerifiedMessage,
  log: Pick<LogAdmission, "name" | "addressee" | "otherAddressees">,
  seenBefore: boolean,
): string | undefined {
  if (seenBefore) return `${log.name} has shown ${message.id} before`;
  if (isChained(message)) return undefined;
  if (!isStrayCopy(message.to, log.addressee, log.otherAddressees)) return undefined;
  return `unchained, and to ${message.to?.[0] ?? ""}, not to ${log.addressee ?? ""}: a copy out of another log`;
}
