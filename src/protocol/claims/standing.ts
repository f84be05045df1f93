import type { Domain } from "../../trust/policy/config.ts";
import { acceptsType, type Tier } from "../../trust/tiers.ts";
import { placeJson, type Place, type PlaceJson } from "../../wire/places.ts";
import { booleanField } from "../body.ts";
import type { History, HistoryLine } from "../asks/history.ts";
import { patternIncludes, patternsOverlap } from "./path-match.ts";
import { addresses } from "../escalations/incident-line.ts";
import { looseAnswer } from "../asks/obligation.ts";
import type { ClaimWords } from "./claim-line.ts";
import type { ClaimForecast, ClaimStatus, ClaimView, GrantStatus } from "./claim-shapes.ts";

/** Of one author so many claims count at a time: the first ones in its chain. */
export const MAX_LIVE_CLAIMS = 8;

/** A claim that has neither ended nor is ignored for being one too many. Spec 3.7. */
export interface LiveClaim extends ClaimWords {
  readonly line: HistoryLine;
  /** Its TTL runs from our receipt; milliseconds of Unix time. */
  readonly receivedMs: number;
  readonly endsMs: number;
}

/** What the reader of claims goes by. */
export interface ClaimFacts {
  readonly history: History;
  readonly live: readonly LiveClaim[];
  readonly self: string;
  /** The roster in force. */
  readonly members: ReadonlySet<string>;
  /** Those of the pinned configuration. */
  readonly domains: ReadonlyMap<string, Domain>;
  tierOf(handle: string): Tier | undefined;
}

/** How a claim and another one that overlaps it get on where nobody owns the paths. */
export interface Rival {
  readonly claim: LiveClaim;
  readonly is: "won" | "lost" | "contested";
}

/** The live claims of members that we allow to claim. */
export function bindingClaims(facts: ClaimFacts): readonly LiveClaim[] {
  return facts.live.filter((claim) => mayClaim(claim, facts));
}

function mayClaim({ line: { place } }: LiveClaim, { self, members, tierOf }: ClaimFacts): boolean {
  if (!members.has(place.author)) return false;
  return place.author === self || acceptsType(tierOf(place.author), "claim");
}

/** What each owner says whose domain a claim touches. */
export interface Grant {
  readonly domain: string;
  readonly owner: string;
  readonly says: GrantStatus;
}

export function grantsOf({ line, paths }: LiveClaim, facts: ClaimFacts): readonly Grant[] {
  return domainsTouched(paths, line.place.author, facts).map(({ domain, owner }) => {
    const grants = lastSaid(facts.history, owner, line);
    if (grants === undefined) return { domain, owner, says: "waiting" };
    return { domain, owner, says: grants ? "granted" : "denied" };
  });
}

function domainsTouched(
  paths: readonly string[],
  author: string,
  facts: ClaimFacts,
): readonly { readonly domain: string; readonly owner: string }[] {
  return domainsOwned(facts)
    .filter(([, { owner, paths: owned }]) => owner !== author && touches(owned, paths))
    .map(([domain, { owner }]) => ({ domain, owner }));
}

function touches(owned: readonly string[], paths: readonly string[]): boolean {
  return owned.some((pattern) => paths.some((path) => patternsOverlap(pattern, path)));
}

/** Who left owns nothing. */
export function domainsOwned({
  domains,
  members,
}: Pick<ClaimFacts, "domains" | "members">): readonly (readonly [string, Domain])[] {
  return [...domains].filter(([, { owner }]) => members.has(owner));
}

/** Of the acks of an owner about a claim so many are looked at: the last that says yes or no decides. */
const MOST_SAID = 64;

function lastSaid(
  history: History,
  owner: string,
  { place, thread }: HistoryLine,
): boolean | undefined {
  const said = history.namers(owner, "about", place, { from: "last", limit: MOST_SAID });
  const loose = history
    .looseReplies(owner, thread)
    .filter((reply) => reply.type === "ack" && looseAnswer(reply, place) === "by_name");
  return [...said, ...loose]
    .map(({ body }) => booleanField(body, "approve"))
    .find((approve) => approve !== undefined);
}

/** The claims that overlap a binding one where nobody owns the paths, and which of the two loses. */
export function rivalsOf(
  claim: LiveClaim,
  binding: readonly LiveClaim[],
  facts: ClaimFacts,
): readonly Rival[] {
  const { line, paths, mode } = claim;
  const asked = { author: line.place.author, addresses: (to: string) => addresses(line, to) };
  return binding
    .filter((other) => isRival({ ...asked, paths, mode }, other, facts))
    .map((other) => ({ claim: other, is: whoLoses(facts.history, line.place, other.line.place) }));
}

interface Claiming extends Pick<ClaimWords, "paths" | "mode"> {
  readonly author: string;
  addresses(to: string): boolean;
}

function isRival(claim: Claiming, other: LiveClaim, facts: ClaimFacts): boolean {
  const { author } = other.line.place;
  if (claim.mode === "shared" && other.mode === "shared") return false;
  // A claim binds only those to whom it is addressed, and no claim its own author.
  if (!claim.addresses(author) && !addresses(other.line, claim.author)) return false;
  const isOwned = (pattern: string): boolean =>
    domainsOwned(facts).some(([, { paths }]) =>
      paths.some((each) => patternIncludes(each, pattern)),
    );
  return overlap(claim.paths, other.paths).some((pair) => !pair.some(isOwned));
}

/** The one whose author knew of the other at it; contested when neither did, or each of two forked chains. */
function whoLoses(history: History, claim: Place, other: Place): Rival["is"] {
  const knew = knewOf(history, claim, other);
  if (knew === knewOf(history, other, claim)) return "contested";
  return knew ? "lost" : "won";
}

/** Whether the author of a claim knew of another one. One in no chain shows nothing that it knows. */
function knewOf(history: History, { author, seq, id }: Place, other: Place): boolean {
  return seq !== null && history.isKnown({ author, seq, id }, other);
}

type Pair = readonly [pattern: string, other: string];
/** Pairs of lists that are remembered; beyond, all are forgotten. */
const MOST_COMPARED = 512;
/** Patterns never change, and comparing them costs most. */
const compared = new Map<string, readonly Pair[]>();

/** The patterns of both lists that have a path in common. */
function overlap(paths: readonly string[], others: readonly string[]): readonly Pair[] {
  const key = JSON.stringify([paths, others]);
  const known = compared.get(key);
  if (known !== undefined) return known;
  const pairs = paths.flatMap((path) =>
    others.filter((other) => patternsOverlap(path, other)).map((other): Pair => [path, other]),
  );
  if (compared.size >= MOST_COMPARED) compared.clear();
  compared.set(key, pairs);
  return pairs;
}

/** A claim as views show it, and what names it. */
export type PlacedClaim = ClaimView & { readonly place: PlaceJson };

/** The live claims as views show them, in the order in which they were taken in. */
export function claimsView(facts: ClaimFacts): PlacedClaim[] {
  const binding = bindingClaims(facts);
  return facts.live
    .toSorted((one, other) => one.receivedMs - other.receivedMs)
    .map((claim) => viewOf(claim, binding, facts));
}

function viewOf(claim: LiveClaim, binding: readonly LiveClaim[], facts: ClaimFacts): PlacedClaim {
  const { line, paths, mode, reason, receivedMs, endsMs } = claim;
  const isBinding = binding.includes(claim);
  const owners = grantsOf(claim, facts);
  const rivals = isBinding ? rivalsOf(claim, binding, facts) : [];
  const status = isBinding ? statusOf(owners, rivals) : "void";
  return {
    place: placeJson(line.place),
    event_id: line.place.id,
    correlation_id: line.thread,
    from: line.place.author,
    to: [...facts.members].filter((handle) => addresses(line, handle)),
    paths: [...paths],
    mode,
    reason: isBinding ? (reason ?? null) : null,
    status,
    against: rivals
      .filter(({ is }) => is === status)
      .map(({ claim: { line: other } }) => ({
        event_id: other.place.id,
        from: other.place.author,
      })),
    owners: [...owners],
    since: new Date(receivedMs).toISOString(),
    until: new Date(endsMs).toISOString(),
  };
}

function statusOf(owners: readonly Grant[], rivals: readonly Rival[]): ClaimStatus {
  if (owners.some(({ says }) => says === "denied")) return "denied";
  if (rivals.some(({ is }) => is === "lost")) return "lost";
  if (rivals.some(({ is }) => is === "contested")) return "contested";
  return owners.some(({ says }) => says === "waiting") ? "waiting" : "held";
}

/** What a claim of ours to all would meet now: it is compared as our newest line. */
export function forecastClaim(
  facts: ClaimFacts,
  { paths, mode }: Pick<ClaimWords, "paths" | "mode">,
): ClaimForecast {
  const isToAll = (to: string): boolean => to !== facts.self;
  const claim = { author: facts.self, addresses: isToAll, paths, mode };
  return {
    against: bindingClaims(facts)
      .filter((other) => isRival(claim, other, facts))
      .map(({ line: { place }, paths: theirs, endsMs }) => ({
        event_id: place.id,
        from: place.author,
        paths: [...theirs],
        until: new Date(endsMs).toISOString(),
      })),
    owners: [...domainsTouched(paths, facts.self, facts)],
  };
}
