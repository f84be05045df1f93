import { decisionsView } from "../decisions/decisions-view.ts";
import { pathMatcher } from "../decisions/path-match.ts";
import type { SignedDecision } from "../decisions/record/decision-record.ts";
import type { CheckedPath, CheckView, PathBlock } from "./claim-shapes.ts";
import { claimEndMs, type Claim } from "./claims-state.ts";
import { domainsOwned, type Env } from "../env.ts";
import type { State } from "../state.ts";
import { liveClaims, rivalsOf, type ClaimFacts } from "./claim-standing.ts";

/** What we may edit of those paths now. Domains are those of the pinned configuration. */
export function checkPaths(
  state: State,
  env: Env,
  nowMs: number,
  paths: readonly string[],
): CheckView {
  const claims = bindingClaims({ claims: state.claims, logs: state.logs, env, nowMs });
  const domains = [...domainsOwned(env.policy.domains, env.layout)].map(
    ([name, { owner, paths: owned }]) => ({
      name,
      owner,
      covers: pathMatcher(owned),
      decisions: decisionsOf(state, env, name, owner),
    }),
  );
  const behind = [...env.layout.logs.keys()].filter((log) => !env.reading.caughtUp(log, -Infinity));
  return {
    handle: env.self,
    behind,
    paths: paths.map((path) => {
      const touched = domains.filter(({ covers }) => covers(path));
      const foreign = touched.filter(({ owner }) => owner !== env.self);
      const owners = new Set(touched.map(({ owner }) => owner));
      const granted = claims.filter((each) => each.isOurs && each.grants(path, owners));
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
        claims: granted.map(({ claim }) => claim.id),
        blocked_by,
      };
    }),
  };
}

function blockBy(claim: Claim): PathBlock {
  const { from, id, reason = null } = claim;
  const until = new Date(claimEndMs(claim)).toISOString();
  return { kind: "claim", from, event_id: id, until, reason };
}

function verdictOf(blocks: number, touched: number, foreign: number): CheckedPath["verdict"] {
  if (blocks > 0) return "blocked";
  if (touched === 0) return "free";
  return foreign === 0 ? "own" : "covered";
}

/** The decisions in force that touch a domain, and that we and its owner are party to. */
function decisionsOf({ decisions }: State, { self }: Env, domain: string, owner: string): string[] {
  const isParty = ({ acked_by }: SignedDecision): boolean =>
    [self, owner].every((handle) => acked_by.includes(handle));
  return decisionsView(decisions)
    .in_force.filter((each) => each.affected_domains.includes(domain) && isParty(each))
    .map(({ decision_id }) => decision_id);
}

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
function bindingClaims(facts: ClaimFacts): BindingClaim[] {
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
