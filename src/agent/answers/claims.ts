import { checkPaths } from "../../protocol/claims/blocked-paths.ts";
import type { ClaimMode } from "../../protocol/claims/claim-line.ts";
import type { CheckView, ClaimForecast } from "../../protocol/claims/claim-shapes.ts";
import {
  claimsView as viewClaims,
  forecastClaim,
  type ClaimFacts,
  type PlacedClaim,
} from "../../protocol/claims/standing.ts";
import type { Known } from "../duties/duty.ts";
import { decisionsInForce } from "./decisions.ts";
import { tierOf } from "./listed.ts";

/** What claims are judged by now. Spec 3.7. */
export function claimFacts(
  known: Pick<Known, "store" | "history" | "place" | "members">,
  nowMs: number,
): ClaimFacts {
  const { history, members, place, store } = known;
  const { self, domains } = place;
  return {
    ...{ history, self, domains, live: store.claims.live(history, nowMs) },
    members: new Set(members.keys()),
    tierOf: (handle) => tierOf(known, handle) ?? undefined,
  };
}

/** The live claims, in the order in which they were taken in. */
export function claimsView(known: Known): PlacedClaim[] {
  return viewClaims(claimFacts(known, known.world.clock.wallMs()));
}

/** What a claim of ours to all would meet now. */
export function claimForecastView(
  known: Known,
  claim: { readonly paths: readonly string[]; readonly mode: ClaimMode },
): ClaimForecast {
  return forecastClaim(claimFacts(known, known.world.clock.wallMs()), claim);
}

/** What our agent may edit of these paths, for `deaddrop check` and the guard's hooks. Spec 3.6. */
export function checkView(
  known: Known,
  { paths }: { readonly paths: readonly string[] },
): CheckView {
  const facts = claimFacts(known, known.world.clock.wallMs());
  const inForce = decisionsInForce(known);
  const behind = [...facts.members].filter((handle) => known.knownMs(handle) === undefined);
  return checkPaths({ ...facts, inForce, behind }, paths);
}
