import { pathMatcher } from "../decisions/path-match.ts";
import { liveClaims, rivalsOf, type ClaimFacts } from "./claim-standing.ts";
import type { Claim } from "./claims-state.ts";

/** What a live claim means for paths. `owners`: those in whose domains a path is. */
interface BindingClaim {
  readonly claim: Claim;
  readonly isOurs: boolean;
  /** Whether every owner of that path has granted the claim; false where nobody owns it. */
  grants(path: string, owners: ReadonlySet<string>): boolean;
  /** Whether it keeps us from editing that path. Spec 3.7. */
  binds(path: string, owners: ReadonlySet<string>): boolean;
}

/** The live claims, to be asked about many paths. */
export function bindingClaims(facts: ClaimFacts): BindingClaim[] {
  const { self } = facts.env;
  const live = liveClaims(facts);
  return live.map((claim) => {
    const { from, to, mode, answers, paths } = claim;
    const matches = pathMatcher(paths);
    const mayBind = from !== self && mode === "exclusive" && to.includes(self);
    // Where nobody owns the paths it must not have lost, nor be contested.
    const isHeld = rivalsOf(claim, live, facts).every(({ is }) => is === "won");
    const isGranted = (owners: ReadonlySet<string>): boolean =>
      [...owners].every((owner) => owner === from || answers.get(owner)?.grants === true);
    return {
      claim,
      isOurs: from === self,
      grants: (path, owners) => owners.size > 0 && isGranted(owners) && matches(path),
      // No claim binds the owner of the paths.
      binds: (path, owners) =>
        mayBind &&
        !owners.has(self) &&
        (owners.size === 0 ? isHeld : isGranted(owners)) &&
        matches(path),
    };
  });
}
