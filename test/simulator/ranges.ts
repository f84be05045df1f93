import {
  SEEDS_WITHOUT_ARCHIVE,
  SEEDS_WITHOUT_CLAIMS,
  SEEDS_WITHOUT_HOSTS,
  SEEDS_WITHOUT_LOGS_PUT_BACK,
  SEEDS_WITHOUT_MEMBERS,
  SEEDS_WITHOUT_MOVES,
  SEEDS_WITHOUT_REQUESTS,
} from "./stage/cast.ts";

/** Seeds that are played in a row: from `above + 1` to `above + count`. */
export interface SeedRange {
  readonly above: number;
  readonly count: number;
}

export type RangesPlayed = "in-ci" | "at-night";

/** What a wire may see depends on its seed (stage/cast.ts): each kind has seeds in CI and more at night. */
const RANGES: readonly (Record<RangesPlayed, number> & { readonly above: number })[] = [
  { above: SEEDS_WITHOUT_LOGS_PUT_BACK - 25, "in-ci": 40, "at-night": 5_000 },
  { above: SEEDS_WITHOUT_REQUESTS, "in-ci": 20, "at-night": 1_000 },
  { above: SEEDS_WITHOUT_CLAIMS, "in-ci": 25, "at-night": 1_000 },
  { above: SEEDS_WITHOUT_ARCHIVE, "in-ci": 20, "at-night": 1_000 },
  { above: SEEDS_WITHOUT_MOVES, "in-ci": 15, "at-night": 1_000 },
  { above: SEEDS_WITHOUT_MEMBERS, "in-ci": 15, "at-night": 1_000 },
  { above: SEEDS_WITHOUT_HOSTS, "in-ci": 15, "at-night": 300 },
];

export function rangesPlayed(when: RangesPlayed): SeedRange[] {
  return RANGES.map((range) => ({ above: range.above, count: range[when] }));
}
