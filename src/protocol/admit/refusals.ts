/**
 * Why a line is not delivered, in the order in which the reasons are looked for; the first that applies is
 * the reason. Spec 2.4.
 */
export const REFUSAL_REASONS = [
  "oversized",
  "malformed",
  "schema",
  "kind_mismatch",
  "wrong_file",
  "unsigned",
  "event_id_mismatch",
  "from_mismatch",
  "untrusted_key",
  "invalid_signature",
  "wrong_wire",
  "unchained",
  "left_member",
  "log_forked",
  "clock_skew",
  "replayed",
  "tier_refused",
  "body_too_large",
  "too_many_refs",
] as const;

export type RefusalReason = (typeof REFUSAL_REASONS)[number];
