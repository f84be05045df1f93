import { isChained } from "../wire/chain.ts";
import type { AdmissionContext, VerifiedMessage } from "./admission.ts";

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

/** Spec 1.6: v2.0 lines that policy admitted and agents marked `allow_unchained`. */
export function mayStandOutside(message: VerifiedMessage, ctx: AdmissionContext): boolean {
  if (message.version === "v2.0") return true;
  return ctx.store.peers.get(message.from)?.allowUnchained ?? false;
}
