import { compareTiers, type Tier } from "../../trust/tiers.ts";
import type { Known } from "../duties/duty.ts";

/** How far the author of a text is believed; null: of no tier, or blocked. Our own texts are always shown. */
export function tierOf({ place }: Pick<Known, "place">, author: string): Tier | null {
  if (author === place.self) return "TRUSTED";
  const { tier, blocked } = place.believed(author);
  return blocked ? null : (tier ?? null);
}

export function isVerified(tier: Tier | null): boolean {
  return tier !== null && compareTiers(tier, "VERIFIED") >= 0;
}

/** The operator has to decide about its key or its chain before more of it is taken in. */
export function isHeld({ place, store }: Pick<Known, "place" | "store">, handle: string): boolean {
  return place.believed(handle).held !== undefined || store.chains.whole(handle).fork !== null;
}

/** A subject as lists show it: below VERIFIED, a text of ours in place of its author's. Spec 2.3. */
export function listedSubject(
  known: Pick<Known, "place">,
  author: string,
  subject: string,
): string {
  const tier = tierOf(known, author);
  return isVerified(tier) ? subject : `(not shown: ${author} is ${tier ?? "of no tier"})`;
}
