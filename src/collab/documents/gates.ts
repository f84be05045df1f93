import type { DeliverableType } from "./deliverable.ts";

/** The gates of a round of schema 2 beside those of its objective, in this order. Spec 6.2. */
export function generatedGates(reference: string, type: DeliverableType): string[] {
  return [
    `Primary deliverable exists: \`${reference}\``,
    `Primary deliverable has required \`${type}\` sections`,
    "Every accepted decision has `Reflected in`",
    "Every accepted decision is reflected in the primary deliverable",
    "Primary deliverable status is `Frozen`",
    "Primary deliverable SHA-256 snapshot recorded",
  ];
}
