import type { Domain } from "../../trust/policy/config.ts";
import { acceptsType } from "../../trust/tiers.ts";
import { patternIncludes, patternsOverlap } from "../decisions/path-match.ts";
import { domainsOwned, type Domains, type Env } from "../env.ts";
import { authorHolds } from "../logs/author-holds.ts";
import type { LogsState } from "../logs/logs-state.ts";
import { authorTier } from "../routing.ts";
import type { GrantStatus } from "./claim-shapes.ts";
import { allClaims, isLiveClaim, type Claim, type ClaimsState } from "./claims-state.ts";

/** How a claim and another one that overlaps it get on, without an owner of the paths. Spec 3.7. */
export interface Rival {
  readonly claim: Claim;
  /** `contested`: neither author knew of the other, or we lack the lines that would tell. */
  readonly is: "won" | "lost" | "contested";
}

/** What the owner of a domain says of a claim that touches it. */
export interface Grant {
  readonly domain: string;
  readonly owner: string;
  readonly says: GrantStatus;
}

/** What the reader of logs makes of claims now. */
export interface ClaimFacts {
  readonly claims: ClaimsState;
  readonly logs: LogsState;
  readonly env: Env;
  readonly nowMs: number;
}

/** The claims that may bind somebody: not over, and of agents that may claim. Spec 2.3. */
export function liveClaims({ claims, env, nowMs }: ClaimFacts): Claim[] {
  return allClaims(claims).filter((claim) => isLiveClaim(claim, nowMs) && mayClaim(claim, env));
}

export function mayClaim({ from }: Claim, env: Env): boolean {
  // Spec 1.1: who left has no authority.
  if (!env.layout.members.includes(from)) return false;
  return acceptsType(authorTier(env, from) ?? undefined, "claim");
}

/** What each owner says whose domain the claim touches; its author needs no grant for its own domain. */
export function grantsOf({ paths, from, answers }: Claim, domains: Domains): Grant[] {
  return [...domains]
    .filter(([, domain]) => domain.owner !== from && touches(domain, paths))
    .map(([domain, { owner }]) => {
      const answer = answers.get(owner);
      if (answer === undefined) return { domain, owner, says: "waiting" };
      return { domain, owner, says: answer.grants ? "granted" : "denied" };
    });
}

function touches(domain: Domain, paths: readonly string[]): boolean {
  return domain.paths.some((owned) => paths.some((path) => patternsOverlap(owned, path)));
}

/**
 * The live claims that overlap this one where nobody owns the paths. The one loses whose author's
 * heads, at its place in its log, covered the other. Spec 3.7.
 */
export function rivalsOf(claim: Claim, live: readonly Claim[], facts: ClaimFacts): Rival[] {
  const domains = domainsOwned(facts.env.policy.domains, facts.env.layout);
  return live
    .filter((other) => isRival(claim, other, domains))
    .map((other) => ({ claim: other, is: whoLoses(claim, other, facts) }));
}

function isRival(claim: Claim, other: Claim, domains: Domains): boolean {
  if (claim.from === other.from) return false;
  if (claim.mode === "shared" && other.mode === "shared") return false;
  // A claim in a pair's log binds only that pair.
  if (!claim.to.includes(other.from) && !other.to.includes(claim.from)) return false;
  return overlaps(claim, other).some(
    (pair) => !isDecidedByOwner(pair[0], domains) && !isDecidedByOwner(pair[1], domains),
  );
}

/** Whether all that a pattern can match is in one domain: its owner decides there. */
function isDecidedByOwner(pattern: string, domains: Domains): boolean {
  return [...domains.values()].some(({ paths }) =>
    paths.some((owned) => patternIncludes(owned, pattern)),
  );
}

function whoLoses(claim: Claim, other: Claim, facts: ClaimFacts): Rival["is"] {
  const knew = didKnow(claim, other, facts);
  const wasKnown = didKnow(other, claim, facts);
  if (knew === true && wasKnown === false) return "lost";
  return knew === false && wasKnown === true ? "won" : "contested";
}

/** Whether the author of a claim knew of the other when it wrote it; undefined: not known yet. */
function didKnow(
  claim: Claim,
  other: Claim,
  { logs, env: { layout } }: ClaimFacts,
): boolean | undefined {
  return authorHolds(logs, layout, claim, other.log)?.(other.line);
}

type Pair = readonly [pattern: string, other: string];
/** Patterns never change, and comparing them costs most. */
const known = new WeakMap<Claim, WeakMap<Claim, readonly Pair[]>>();

/** The patterns of both that have a path in common. */
function overlaps(claim: Claim, other: Claim): readonly Pair[] {
  const ofClaim = known.get(claim) ?? new WeakMap<Claim, readonly Pair[]>();
  known.set(claim, ofClaim);
  const before = ofClaim.get(other);
  if (before !== undefined) return before;
  const pairs = claim.paths.flatMap((path) =>
    other.paths.filter((each) => patternsOverlap(path, each)).map((each): Pair => [path, each]),
  );
  ofClaim.set(other, pairs);
  return pairs;
}
