import { domainsOwned, type Env } from "../env.ts";
import { authorTier, isVerified } from "../routing.ts";
import type { ClaimMode } from "./claim-line.ts";
import {
  grantsOf,
  liveClaims,
  mayClaim,
  rivalsOf,
  type ClaimFacts,
  type Grant,
} from "./claim-standing.ts";
import { allClaims, claimEndMs, isLiveClaim, type Claim } from "./claims-state.ts";

/**
 * `held`; `waiting` for a domain's owner, or `denied` by one; `lost` to a claim that its
 * author knew of, or `contested` with one; over: `released`, `expired`; `void`: its author may not
 * claim any more.
 */
export type ClaimStatus =
  "held" | "waiting" | "denied" | "lost" | "contested" | "released" | "expired" | "void";

/** One claim, as `deaddrop claims` prints it. It is our own view of it. Spec 3.7. */
export interface ClaimView {
  event_id: string;
  correlation_id: string;
  from: string;
  /** Whom it binds. */
  to: string[];
  paths: string[];
  mode: ClaimMode;
  reason: string | null;
  status: ClaimStatus;
  /** The claims that it lost to or is contested with. */
  against: { event_id: string; from: string }[];
  /** The owners of the domains that it touches, and what they say. */
  owners: { domain: string; owner: string; says: Grant["says"] }[];
  /** ISO 8601. */
  since: string;
  /** When it ends by itself, by our clock. */
  until: string;
}

/** What a claim would meet if we sent it now. Spec 3.7. */
export interface ClaimForecast {
  /** The claims to which it would lose, or with which it would be contested. */
  against: { event_id: string; from: string; paths: string[]; until: string }[];
  /** The owners who are asked, each with the domain. */
  owners: { domain: string; owner: string }[];
}

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

/** Whether a claim has ended, whatever else it was. */
export function isOver({ status }: Pick<ClaimView, "status">): boolean {
  return status === "released" || status === "expired";
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
