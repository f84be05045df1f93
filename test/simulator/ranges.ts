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
  /** Of each seed. */
  readonly steps: number;
}

export type RangesPlayed = "in-ci" | "at-night";

/** Seeds, and the steps of each. */
type Amount = readonly [count: number, steps: number];

/**
 * What a wire may see depends on its seed (stage/cast.ts): each kind has seeds in CI and more at night.
 * Where the shape of the wire itself changes, CI plays many short ones.
 */
const RANGES: readonly (Record<RangesPlayed, Amount> & { readonly above: number })[] = [
  { above: SEEDS_WITHOUT_LOGS_PUT_BACK - 6, "in-ci": [12, 300], "at-night": [5_000, 300] },
  { above: SEEDS_WITHOUT_REQUESTS, "in-ci": [6, 300], "at-night": [1_000, 300] },
  { above: SEEDS_WITHOUT_CLAIMS, "in-ci": [8, 300], "at-night": [1_000, 300] },
  { above: SEEDS_WITHOUT_ARCHIVE, "in-ci": [6, 300], "at-night": [1_000, 300] },
  { above: SEEDS_WITHOUT_MOVES, "in-ci": [60, 150], "at-night": [1_000, 300] },
  { above: SEEDS_WITHOUT_MEMBERS, "in-ci": [60, 150], "at-night": [1_000, 300] },
  { above: SEEDS_WITHOUT_HOSTS, "in-ci": [60, 150], "at-night": [1_000, 300] },
];

export function rangesPlayed(when: RangesPlayed): SeedRange[] {
  return RANGES.map((range) => {
    const [count, steps] = range[when];
    return { above: range.above, count, steps };
  });
}
