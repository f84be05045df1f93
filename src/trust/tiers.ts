/** The trust tiers of spec 2.3, lowest first. */
export const TIERS = ["UNTRUSTED", "VERIFIED", "ATTESTED", "TRUSTED"] as const;
export type Tier = (typeof TIERS)[number];

/** So many reciprocations lift a VERIFIED agent to ATTESTED. Spec 2.3. */
export const RECIPROCATIONS_TO_ATTEST = 10;

/** What a stranger may say: that it lives, who it is, and how far it trusts us. Spec 2.3. */
const STATE_TYPES: ReadonlySet<string> = new Set([
  "heartbeat",
  "agent_card",
  "trust_tier_announcement",
]);

/**
 * Whether a line of that type says how its agent is, and nothing to anybody. It is all that a
 * stranger may send, and none of it is a message to the agent. Spec 2.3.
 */
export function isState(type: string): boolean {
  return STATE_TYPES.has(type);
}

/** The tier of that name, or `undefined`: an unknown tier name is no tier. Spec 2.3. */
export function tierNamed(name: string): Tier | undefined {
  return TIERS.find((tier) => tier === name);
}

/** How `a` compares to `b`: negative when lower, 0 when equal. */
export function compareTiers(a: Tier, b: Tier): number {
  return TIERS.indexOf(a) - TIERS.indexOf(b);
}

/**
 * Whether a sender of that tier may send that type (a name of the table in spec 1.3, or
 * `kind:<n>` for an unknown kind, which is as ordinary as any type but `claim`). No tier accepts
 * nothing. Spec 2.3.
 */
export function acceptsType(tier: Tier | undefined, type: string): boolean {
  switch (tier) {
    case undefined:
      return false;
    case "UNTRUSTED":
      return isState(type);
    case "VERIFIED":
      return type !== "claim";
    case "ATTESTED":
    case "TRUSTED":
      return true;
  }
}
