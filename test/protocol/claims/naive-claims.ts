// Claims written from the text of 3.6 and 3.7 (docs/spec/next), over patterns whose paths are listed.
import { isJsonArray } from "../../../src/wire/json/json.ts";
import { placesNamed } from "../../../src/wire/places.ts";
import { fieldOf, Held, isPlaceOf } from "../../support/naive-held.ts";
import type { TimedLine } from "../../support/timed-lines.ts";

/** Each pattern with the paths of the tests that it matches. */
export const PATTERNS: ReadonlyMap<string, readonly string[]> = new Map([
  ["src/**", ["src/a/1", "src/a/2", "src/p/x", "src/p/1"]],
  ["src/a/**", ["src/a/1", "src/a/2"]],
  ["src/*/1", ["src/a/1", "src/p/1"]],
  ["src/p/x", ["src/p/x"]],
  ["docs", ["docs/1"]],
]);
export const PATHS = ["src/a/1", "src/a/2", "src/p/x", "src/p/1", "docs/1"];
export const OWNER = "ann";
export const OWNED = { pattern: "src/p/**", paths: ["src/p/x", "src/p/1"] };

interface Claim {
  readonly line: TimedLine;
  readonly patterns: readonly string[];
  readonly isExclusive: boolean;
  readonly endsMs: number;
}

const pathsOf = (pattern: string): readonly string[] => PATTERNS.get(pattern) ?? [];
const isAddressed = (line: TimedLine, handle: string): boolean =>
  handle !== line.author && (line.to?.includes("*") === true || line.to?.includes(handle) === true);

/** The claims that count at a time: of each author the first eight that are neither released nor over. */
function liveClaims(held: Held, nowMs: number): readonly Claim[] {
  const linked = held.linked();
  const live = linked.flatMap((line): readonly Claim[] => {
    const patterns = fieldOf(line, "paths");
    const ttl = fieldOf(line, "ttl_seconds");
    const endsMs = line.receivedMs + (typeof ttl === "number" ? ttl : 3_600) * 1_000;
    if (line.type !== "claim" || !isJsonArray(patterns) || endsMs <= nowMs) return [];
    const isReleased = linked.some(
      (other) =>
        other.type === "release" &&
        other.thread === line.thread &&
        other.author === line.author &&
        held.branch(other)?.slice(1).includes(line) === true,
    );
    if (isReleased) return [];
    const isExclusive = fieldOf(line, "mode") !== "shared";
    return [{ line, patterns: patterns.map(String), isExclusive, endsMs }];
  });
  return live.filter(
    ({ line }) =>
      live.filter(
        (other) =>
          other.line.author === line.author &&
          ((other.line.seq ?? 0) < (line.seq ?? 0) ||
            (other.line.seq === line.seq &&
              held.lines.indexOf(other.line) < held.lines.indexOf(line))),
      ).length < 8,
  );
}

/** Whether the other claim, or a line behind it, is known at this one. */
function knew(held: Held, claim: TimedLine, other: TimedLine): boolean {
  const named = (held.branch(claim) ?? []).flatMap(({ body }) => placesNamed(body));
  return named.some(({ place }) =>
    held
      .linked()
      .some(
        (line) =>
          isPlaceOf([place.author, place.seq, place.id], line) && held.isAtOrBehind(line, other),
      ),
  );
}

function overlapsOutside(one: Claim, other: Claim): boolean {
  const isOwned = (pattern: string): boolean =>
    pathsOf(pattern).every((path) => OWNED.paths.includes(path));
  return one.patterns.some((pattern) =>
    other.patterns.some(
      (theirs) =>
        pathsOf(pattern).some((path) => pathsOf(theirs).includes(path)) &&
        !isOwned(pattern) &&
        !isOwned(theirs),
    ),
  );
}

function rivals(
  held: Held,
  claim: Claim,
  live: readonly Claim[],
): readonly ("won" | "lost" | "contested")[] {
  return live
    .filter(
      (other) =>
        other.line.author !== claim.line.author &&
        (other.isExclusive || claim.isExclusive) &&
        (isAddressed(claim.line, other.line.author) ||
          isAddressed(other.line, claim.line.author)) &&
        overlapsOutside(claim, other),
    )
    .map((other) => {
      const [here, there] = [
        knew(held, claim.line, other.line),
        knew(held, other.line, claim.line),
      ];
      if (here === there) return "contested";
      return here ? "lost" : "won";
    });
}

function granted(held: Held, { line }: Claim): boolean | undefined {
  const said = held
    .linked()
    .filter(
      (each) =>
        each.author === OWNER &&
        each.type === "ack" &&
        isPlaceOf(fieldOf(each, "about"), line) &&
        typeof fieldOf(each, "approve") === "boolean",
    )
    .toSorted((one, other) => (one.seq ?? 0) - (other.seq ?? 0) || (one.id < other.id ? -1 : 1));
  const last = said.at(-1);
  return last && fieldOf(last, "approve") === true;
}

/** The status of each live claim, by the id of its line. */
export function claimStatuses(
  lines: readonly TimedLine[],
  nowMs: number,
): Readonly<Record<string, string>> {
  const held = new Held(lines);
  const live = liveClaims(held, nowMs);
  const statusOf = (claim: Claim): string => {
    const isInDomain =
      claim.line.author !== OWNER &&
      claim.patterns.some((each) => pathsOf(each).some((path) => OWNED.paths.includes(path)));
    const grant = granted(held, claim);
    if (isInDomain && grant === false) return "denied";
    const found = rivals(held, claim, live);
    if (found.includes("lost")) return "lost";
    if (found.includes("contested")) return "contested";
    return isInDomain && grant === undefined ? "waiting" : "held";
  };
  return Object.fromEntries(live.map((claim) => [claim.line.id, statusOf(claim)]));
}

/** Whether an agent is kept from a path. */
export function isBlocked(
  lines: readonly TimedLine[],
  nowMs: number,
  self: string,
  path: string,
): boolean {
  const held = new Held(lines);
  const live = liveClaims(held, nowMs);
  const matches = ({ patterns }: Claim): boolean =>
    patterns.some((pattern) => pathsOf(pattern).includes(path));
  const isOwned = OWNED.paths.includes(path);
  const isGranted = (claim: Claim): boolean =>
    claim.line.author === OWNER || granted(held, claim) === true;
  const isKeptAway = live.some(
    (claim) =>
      claim.line.author !== self &&
      claim.isExclusive &&
      isAddressed(claim.line, self) &&
      matches(claim) &&
      (isOwned
        ? self !== OWNER && isGranted(claim)
        : rivals(held, claim, live).every((each) => each === "won")),
  );
  const mayEdit =
    !isOwned ||
    self === OWNER ||
    live.some((claim) => claim.line.author === self && matches(claim) && isGranted(claim));
  return isKeptAway || !mayEdit;
}
