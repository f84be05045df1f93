import { domainsOwned, type Env } from "../env.ts";
import { authorTier, isVerified } from "../routing.ts";
import type { ClaimForecast, ClaimStatus, ClaimView } from "./claim-shapes.ts";
import {
  grantsOf,
  liveClaims,
  mayClaim,
  rivalsOf,
  type ClaimFacts,
  type Grant,
} from "./claim-standing.ts";
import { allClaims, claimEndMs, isLiveClaim, type Claim } from "./claims-state.ts";

/** By the rules for claims that are there: it is compared as the newest one of ours. */
export function forecastClaim(
  facts: ClaimFacts,
  { paths, mode }: Pick<Claim, "paths" | "mode">,
): ClaimForecast {
  const { self, layout, policy } = facts.env;
  const domains = domainsOwned(policy.domains, layout);
  const claim: Claim = {
    ...{ id: "", log: "", line: Infinity, from: self, correlationId: "", paths, mode },
    ...{ to: layout.roster, reason: undefined, ttlMs: 0, at: facts.nowMs, live: true },
    ...{ timestampMs: facts.nowMs, isReleased: false, answers: new Map() },
  };
  return {
    against: rivalsOf(claim, liveClaims(facts), facts).map(({ claim: other }) => ({
      event_id: other.id,
      from: other.from,
      paths: [...other.paths],
      until: new Date(claimEndMs(other)).toISOString(),
    })),
    owners: grantsOf(claim, domains).map(({ domain, owner }) => ({ domain, owner })),
  };
}

/** All that are remembered, oldest first. */
export function claimsView(facts: ClaimFacts): ClaimView[] {
  const live = liveClaims(facts);
  return allClaims(facts.claims)
    .sort(inOrder)
    .map((claim) => viewOf(claim, live, facts));
}

function inOrder(a: Claim, b: Claim): number {
  if (a.at !== b.at) return a.at - b.at;
  if (a.log !== b.log) return a.log < b.log ? -1 : 1;
  return a.line - b.line;
}

function viewOf(claim: Claim, live: readonly Claim[], facts: ClaimFacts): ClaimView {
  const { env, nowMs } = facts;
  const owners = grantsOf(claim, domainsOwned(env.policy.domains, env.layout));
  const rivals = live.includes(claim) ? rivalsOf(claim, live, facts) : [];
  const status = statusOf(claim, owners, new Set(rivals.map(({ is }) => is)), env, nowMs);
  return {
    event_id: claim.id,
    correlation_id: claim.correlationId,
    from: claim.from,
    to: [...claim.to],
    paths: [...claim.paths],
    mode: claim.mode,
    reason: isVerified(authorTier(env, claim.from)) ? (claim.reason ?? null) : null,
    status,
    against: rivals
      .filter(({ is }) => is === status)
      .map(({ claim: { id, from } }) => ({ event_id: id, from })),
    owners,
    since: new Date(claim.at).toISOString(),
    until: new Date(claimEndMs(claim)).toISOString(),
  };
}

function statusOf(
  claim: Claim,
  owners: readonly Grant[],
  rivals: ReadonlySet<string>,
  env: Env,
  nowMs: number,
): ClaimStatus {
  if (claim.isReleased) return "released";
  if (!isLiveClaim(claim, nowMs)) return "expired";
  if (!mayClaim(claim, env)) return "void";
  if (owners.some(({ says }) => says === "denied")) return "denied";
  if (rivals.has("lost")) return "lost";
  if (rivals.has("contested")) return "contested";
  return owners.some(({ says }) => says === "waiting") ? "waiting" : "held";
}
