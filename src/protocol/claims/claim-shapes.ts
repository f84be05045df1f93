import type { ClaimMode } from "./claim-line.ts";

/** What the owner of a domain says of a claim that touches it. */
export type GrantStatus = "granted" | "denied" | "waiting";

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
  /** Patterns, such as `src/**`. */
  paths: string[];
  mode: ClaimMode;
  reason: string | null;
  /** Spec 3.7. */
  status: ClaimStatus;
  /** The claims that it lost to or is contested with. */
  against: { event_id: string; from: string }[];
  /** The owners of the domains that it touches, and what they say. */
  owners: { domain: string; owner: string; says: GrantStatus }[];
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

/** Whether a claim has ended, whatever else it was. */
export function isOver({ status }: Pick<ClaimView, "status">): boolean {
  return status === "released" || status === "expired";
}

/** Why we should not edit a path now. */
export type PathBlock =
  /** Another agent's domain, and no decision in force that both agreed to touches it. Spec 3.6. */
  | { readonly kind: "domain"; readonly domain: string; readonly owner: string }
  /** Another agent claims it for itself alone. Spec 3.7. */
  | {
      readonly kind: "claim";
      readonly from: string;
      readonly event_id: string;
      /** ISO 8601: when the claim ends by itself, by our clock. */
      readonly until: string;
      readonly reason: string | null;
    };

/**
 * `own`: our domain; `covered`: another's, and a decision in force touches it or its owner has granted
 * our claim; `free`: nobody's;
 * `blocked`: by each of `blocked_by`.
 */
export interface CheckedPath {
  /** As it was asked: relative to the folder that the paths of domains begin at, with `/`. */
  path: string;
  verdict: "own" | "covered" | "free" | "blocked";
  /** Names of the domains that it is in. */
  domains: string[];
  /** Ids of the decisions that cover it. */
  decisions: string[];
  /** Event ids of claims of ours that its domain's owner has granted. */
  claims: string[];
  blocked_by: PathBlock[];
}

/** What we may edit, as `deaddrop check` and the git hooks ask it. Spec 3.6, 3.7. */
export interface CheckView {
  handle: string;
  /** Logs that are not read to their end: what they hold may change a verdict. */
  behind: string[];
  paths: CheckedPath[];
}
