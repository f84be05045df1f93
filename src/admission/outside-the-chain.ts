import { isChained, type ChainVerdict } from "../wire/chain.ts";
import type { AdmissionContext, VerifiedMessage } from "./authenticate.ts";

/** Spec 1.6. A chained line that names no wire was written for one without an id. */
export function wrongWire(
  message: VerifiedMessage,
  wireId: string | undefined,
): string | undefined {
  if (wireId === undefined || message.wire === wireId) return undefined;
  if (message.wire === undefined) {
    return isChained(message) ? `the line names no wire; this one is ${wireId}` : undefined;
  }
  const other = WIRE_ID.test(message.wire) ? `the wire ${message.wire}` : "another wire";
  return `the line was written for ${other}; this one is ${wireId}`;
}

/** As `init` makes them. Anything else is free text of its author, which is told to nobody. */
const WIRE_ID = /^[0-9a-f]{16}$/;

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
