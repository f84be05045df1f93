import { isChained } from "../wire/chain.ts";
import { recallVerified, type VerifiedMessage } from "./authenticate.ts";
import type { LogAdmission } from "./log-admission.ts";
import { isStrayCopy } from "./seen-ids.ts";

/**
 * Whether a line that is not authentic for want of a pin or of policy is byte for byte one that its
 * log has shown: that is asked before anything else. Spec 2.4.
 */
export function repeats(line: Uint8Array, log: LogAdmission): string | undefined {
  const known = recallVerified(line);
  if (known === undefined || log.seen.tagOf(known.id) !== known.lineTag) return undefined;
  return known.id;
}

/** Spec 2.4: its content stood in this log before, or was written to another one. */
export function replayed(
  message: VerifiedMessage,
  log: LogAdmission,
  seenBefore: boolean,
): string | undefined {
  if (seenBefore) return `${log.name} has shown ${message.id} before`;
  if (isChained(message)) return undefined;
  if (!isStrayCopy(message.to, log.addressee, log.otherAddressees)) return undefined;
  return `unchained, and to ${message.to?.[0] ?? ""}, not to ${log.addressee ?? ""}: a copy out of another log`;
}
