import type { Claim } from "../claims/claims-state.ts";
import { isLiveClaim } from "../claims/claims-state.ts";
import { liveClaims, rivalsOf, type ClaimFacts, type Rival } from "../claims/claim-standing.ts";
import { quoted, type Matter } from "./agent-notice.ts";

const KINDS = { won: "claim_kept", lost: "claim_lost", contested: "claim_contested" } as const;

/**
 * What our agent is told of its claims: that one overlaps another's and who holds, what an owner says
 * of it, and that it is alone again. Spec 3.7, 3.12.
 *
 * @param changed the claims about which the event says something
 */
export function claimNews(facts: ClaimFacts, changed: readonly Claim[]): Matter[] {
  const { self } = facts.env;
  const live = liveClaims(facts);
  const ours = live.filter(({ from }) => from === self);
  return ours.flatMap((claim) => {
    const rivals = rivalsOf(claim, live, facts);
    return [
      ...rivals.map((rival) => overlapOf(claim, rival)),
      ...(changed.includes(claim) ? answersOf(claim, facts) : []),
      ...changed
        .filter((other) => other.from !== self && !isLiveClaim(other, facts.nowMs))
        .filter((other) => rivals.length === 0 && rivalsOf(claim, [other], facts).length > 0)
        .map((other) => aloneAgain(claim, other)),
    ];
  });
}

function overlapOf(claim: Claim, { claim: other, is }: Rival): Matter {
  const { from: peer } = other;
  const both = `Your claim of ${pathsOf(claim)} and ${peer}'s of ${pathsOf(other)} overlap`;
  const words: Record<Rival["is"], string> = {
    won: `${both}: yours was known to ${peer} and holds.`,
    lost: `${both}: ${peer}'s was known to you and holds, so yours does not.`,
    contested: `${both}, and neither of you knew of the other: neither holds until one of you releases its claim (\`deaddrop release\`).`,
  };
  return { kind: KINDS[is], about: `${claim.id} ${other.id}`, text: words[is], peer };
}

function answersOf(claim: Claim, { env }: ClaimFacts): Matter[] {
  const owners = new Set([...env.policy.domains.values()].map(({ owner }) => owner));
  return [...claim.answers]
    .filter(([peer]) => owners.has(peer))
    .map(([peer, { id, grants }]) => {
      const said = grants ? "granted" : "denied";
      const text = `${peer} ${said} your claim of ${pathsOf(claim)}.`;
      return { kind: grants ? "claim_granted" : "claim_denied", about: id, text, peer };
    });
}

function aloneAgain(claim: Claim, other: Claim): Matter {
  const text = `${other.from} released its claim of ${pathsOf(other)}: nothing overlaps yours of ${pathsOf(claim)} any more.`;
  return { kind: "claim_alone", about: `${claim.id} ${other.id}`, text, peer: other.from };
}

function pathsOf({ paths: [first = "", ...more] }: Claim): string {
  return more.length === 0 ? quoted(first) : `${quoted(first)} and ${more.length} more`;
}
