/** Seeds that are played in a row: from `above + 1` to `above + count`. */
export interface SeedRange {
  readonly above: number;
  readonly count: number;
  /** Of each seed. */
  readonly steps: number;
}

export type RangesPlayed = "in-ci" | "at-night";

/** Many short runs find what follows from how a wire is made, long ones what comes with its age. */
const RANGES: Readonly<Record<RangesPlayed, readonly SeedRange[]>> = {
  "in-ci": [
    { above: 0, count: 120, steps: 150 },
    { above: 100_000, count: 8, steps: 1_000 },
  ],
  "at-night": [
    { above: 0, count: 6_000, steps: 150 },
    { above: 100_000, count: 300, steps: 1_000 },
  ],
};

export function rangesPlayed(when: RangesPlayed): readonly SeedRange[] {
  return RANGES[when];
}
