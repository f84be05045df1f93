import { pathMatcher } from "./path-match.ts";
import { addresses } from "../escalations/incident-line.ts";
import type { CheckedPath, CheckView, PathBlock } from "./claim-shapes.ts";
import {
  bindingClaims,
  domainsOwned,
  grantsOf,
  rivalsOf,
  type ClaimFacts,
  type LiveClaim,
} from "./standing.ts";

/** A decision in force, as far as it covers domains. */
export interface CoveringDecision {
  readonly decision_id: string;
  readonly affected_domains: readonly string[];
  readonly acked_by: readonly string[];
}

/** What the reader of paths goes by besides claims. */
export interface PathFacts extends ClaimFacts {
  readonly inForce: readonly CoveringDecision[];
  /** Agents whose carriers are not read to their end: what they hold may change a verdict. */
  readonly behind: readonly string[];
}

/** What our agent may edit of those paths. Spec 3.6 and 3.7. */
export function checkPaths(facts: PathFacts, paths: readonly string[]): CheckView {
  const { self } = facts;
  const claims = asked(facts);
  const domains = domainsOwned(facts).map(([name, { owner, paths: owned }]) => ({
    name,
    owner,
    covers: pathMatcher(owned),
    decisions: coveringDecisions(facts, name, owner),
  }));
  return {
    handle: self,
    behind: [...facts.behind],
    paths: paths.map((path) => {
      const touched = domains.filter(({ covers }) => covers(path));
      const foreign = touched.filter(({ owner }) => owner !== self);
      const owners = new Set(touched.map(({ owner }) => owner));
      const granted = claims.filter((each) => each.grants(path, owners));
      const blocked_by: PathBlock[] = [
        ...foreign
          .filter(({ decisions }) => decisions.length === 0 && granted.length === 0)
          .map(({ name, owner }) => ({ kind: "domain" as const, domain: name, owner })),
        ...claims.filter((each) => each.binds(path, owners)).map(({ claim }) => blockBy(claim)),
      ];
      return {
        path,
        verdict: verdictOf(blocked_by.length, touched.length, foreign.length),
        domains: touched.map(({ name }) => name),
        decisions: [...new Set(foreign.flatMap(({ decisions }) => decisions))],
        claims: granted.map(({ claim }) => claim.line.place.id),
        blocked_by,
      };
    }),
  };
}

function blockBy({ line: { place }, endsMs, reason }: LiveClaim): PathBlock {
  const until = new Date(endsMs).toISOString();
  return { kind: "claim", from: place.author, event_id: place.id, until, reason: reason ?? null };
}

function verdictOf(blocks: number, touched: number, foreign: number): CheckedPath["verdict"] {
  if (blocks > 0) return "blocked";
  if (touched === 0) return "free";
  return foreign === 0 ? "own" : "covered";
}

/** The decisions in force that touch a domain, and that we and its owner are party to. */
function coveringDecisions({ inForce, self }: PathFacts, domain: string, owner: string): string[] {
  return inForce
    .filter(
      ({ affected_domains, acked_by }) =>
        affected_domains.includes(domain) && acked_by.includes(self) && acked_by.includes(owner),
    )
    .map(({ decision_id }) => decision_id);
}

/** What a binding claim means for paths. `owners`: those in whose domains a path is. */
interface AskedClaim {
  readonly claim: LiveClaim;
  /** Ours, and each owner of the path has granted it; false where nobody owns it. */
  grants(path: string, owners: ReadonlySet<string>): boolean;
  /** It keeps us from editing the path. */
  binds(path: string, owners: ReadonlySet<string>): boolean;
}

function asked(facts: ClaimFacts): readonly AskedClaim[] {
  const { self } = facts;
  const binding = bindingClaims(facts);
  return binding.map((claim) => {
    const { line, mode, paths } = claim;
    const { author } = line.place;
    const matches = pathMatcher(paths);
    const mayBind = author !== self && mode === "exclusive" && addresses(line, self);
    const granting = new Set(
      grantsOf(claim, facts)
        .filter(({ says }) => says === "granted")
        .map(({ owner }) => owner),
    );
    const isGranted = (owners: ReadonlySet<string>): boolean =>
      [...owners].every((owner) => owner === author || granting.has(owner));
    // Where nobody owns the paths it must neither have lost nor be contested.
    const isHeld = (): boolean => rivalsOf(claim, binding, facts).every(({ is }) => is === "won");
    return {
      claim,
      grants: (path, owners) =>
        author === self && owners.size > 0 && isGranted(owners) && matches(path),
      // No claim binds the owner of the paths.
      binds: (path, owners) =>
        mayBind &&
        !owners.has(self) &&
        matches(path) &&
        (owners.size === 0 ? isHeld() : isGranted(owners)),
    };
  });
}
