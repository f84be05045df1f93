import type { CoreEvent } from "../events.ts";
import { liveClaims, rivalsOf, type ClaimFacts } from "./claim-standing.ts";
import type { Claim } from "./claims-state.ts";

/**
 * Peers whose claim is contested with one of ours since a claim came: the edge that T0 begins with.
 * Spec 3.1.
 */
export function contestedBy(
  facts: ClaimFacts,
  event: CoreEvent,
  changed: readonly Claim[],
): { peer: string; thread: string }[] {
  if (event.kind !== "line" || event.message.type !== "claim") return [];
  const { self } = facts.env;
  const live = liveClaims(facts);
  return changed.flatMap((claim) =>
    rivalsOf(claim, live, facts)
      .filter(
        ({ is, claim: other }) => is === "contested" && [claim.from, other.from].includes(self),
      )
      .map(({ claim: { from } }) => ({
        peer: claim.from === self ? from : claim.from,
        thread: claim.correlationId,
      })),
  );
}

/** Whether a live claim of that thread is contested with any other. */
export function isContested(facts: ClaimFacts, thread: string): boolean {
  const live = liveClaims(facts);
  return live
    .filter(({ correlationId }) => correlationId === thread)
    .some((claim) => rivalsOf(claim, live, facts).some(({ is }) => is === "contested"));
}
