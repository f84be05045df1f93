import { firstCodePoints } from "../../wire/json/code-points.ts";
import type { JsonValue } from "../../wire/json/json.ts";
import { DAY_MS, HOUR_MS, SECOND_MS } from "../../wire/durations.ts";
import { countField, field, textField, textsField } from "../body.ts";
import { isProjectPattern } from "./path-match.ts";

export const CLAIM_MODES = ["exclusive", "shared"] as const;
export type ClaimMode = (typeof CLAIM_MODES)[number];

const MAX_CLAIM_PATTERNS = 32;
/** UTF-16 units of all patterns of a claim together: to compare two claims takes their product. */
const MAX_PATTERN_UNITS = 2_048;
/** How long a claim may last. Spec 3.7. */
export const MAX_CLAIM_TTL_MS = DAY_MS;
/** Of a claim that says no `ttl_seconds`. */
const DEFAULT_CLAIM_TTL_MS = HOUR_MS;
/** Characters of a reason that are kept; the line has all of it. */
const MAX_CLAIM_REASON = 256;

/** What a claim says. */
export interface ClaimWords {
  readonly paths: readonly string[];
  readonly mode: ClaimMode;
  readonly ttlMs: number;
  readonly reason: string | undefined;
}

/** Undefined for a body that claims nothing. Spec 3.7. */
export function readClaim(body: JsonValue): ClaimWords | undefined {
  if (claimProblem(body) !== undefined) return undefined;
  const ttlSeconds = countField(body, "ttl_seconds");
  return {
    paths: textsField(body, "paths") ?? [],
    mode: modeOf(body) ?? "exclusive",
    ttlMs: ttlSeconds === undefined ? DEFAULT_CLAIM_TTL_MS : ttlSeconds * SECOND_MS,
    reason: reasonIn(body),
  };
}

/** Why a body claims nothing, in words for its author; undefined: it is a claim. */
export function claimProblem(body: JsonValue): string | undefined {
  const paths = textsField(body, "paths");
  if (paths === undefined || paths.length === 0) return "paths is no list of patterns";
  if (paths.length > MAX_CLAIM_PATTERNS) {
    return `paths has ${paths.length} patterns; at most ${MAX_CLAIM_PATTERNS} are allowed`;
  }
  if (paths.reduce((sum, path) => sum + path.length, 0) > MAX_PATTERN_UNITS) {
    return `paths has more than ${MAX_PATTERN_UNITS} characters`;
  }
  const outside = paths.find((path) => !isProjectPattern(path));
  if (outside !== undefined) {
    return `${JSON.stringify(outside)} is no pattern of paths below the project's folder`;
  }
  if (modeOf(body) === undefined) return "mode is neither exclusive nor shared";
  const ttl = field(body, "ttl_seconds");
  if (ttl === undefined) return undefined;
  const seconds = countField(body, "ttl_seconds") ?? 0;
  return seconds >= 1 && seconds * SECOND_MS <= MAX_CLAIM_TTL_MS
    ? undefined
    : `ttl_seconds is not from 1 to ${MAX_CLAIM_TTL_MS / SECOND_MS}`;
}

function modeOf(body: JsonValue): ClaimMode | undefined {
  const mode = field(body, "mode");
  return mode === undefined ? "exclusive" : CLAIM_MODES.find((each) => each === mode);
}

function reasonIn(body: JsonValue): string | undefined {
  const reason = textField(body, "reason");
  return reason && firstCodePoints(reason, MAX_CLAIM_REASON);
}
