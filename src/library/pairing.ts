import {
  committedSas,
  staticSas,
  type CommittedParty,
  type SasParty,
} from "../trust/pairing/sas.ts";

/**
 * The six digits that two operators compare (spec 2.3): over both nonces when both sides show one,
 * else the published ones, which follow from the keys alone and by themselves promote no agent.
 * Throws a TypeError when one side has a nonce and the other has none, for lengths that are not 32
 * bytes, and when both sides are the same agent.
 */
export function computeSas(a: SasParty | CommittedParty, b: SasParty | CommittedParty): string {
  const [aCommitted, bCommitted] = ["nonce" in a, "nonce" in b];
  if (aCommitted !== bCommitted) throw new TypeError("only one side has a nonce");
  return aCommitted && bCommitted
    ? committedSas(a as CommittedParty, b as CommittedParty)
    : staticSas(a, b);
}
