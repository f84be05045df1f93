/** What one side did in one turn. */
export interface Side {
  readonly value: number;
  /** Of all threads of the process that is measured, for one unit of work; undefined: not known. */
  readonly cpuMs?: number | undefined;
}

export interface Turn<T = Side> {
  readonly ours: T;
  readonly baseline: T;
}

export type Target = { readonly atLeast: number } | { readonly atMost: number };

/** How ours is held against the baseline: divided by it, what it is over it, or by itself. */
export type Comparison = "ratio" | "difference" | "alone";

export interface Question {
  /** As in the list of figures: "P1". */
  readonly id: string;
  readonly what: string;
  readonly unit: string;
  readonly compared: Comparison;
  /** Undefined: the figure is published, and nothing is asked of it. */
  readonly target?: Target;
}

/** One figure beside its baseline, both measured in this run. */
export interface Measured extends Question {
  /** The median of the turns; of the baseline, undefined where there is none. */
  readonly ours: number;
  readonly baseline?: number;
  /** The median of what each turn compared to. */
  readonly value: number;
  /** CPU time per unit of work, in milliseconds, and the median of the turns' ratios. */
  readonly cpu?: { readonly ours: number; readonly baseline?: number; readonly ratio?: number };
  /** The baseline's largest turn divided by its smallest: what a noisy machine did to the run. */
  readonly spread?: number;
  readonly turns: number;
}

export interface Skipped {
  readonly id: string;
  readonly what: string;
  /** Why it cannot be measured here. */
  readonly skipped: string;
}

export type Row = Measured | Skipped;

export type Verdict = "met" | "not met" | "too noisy to judge" | "published" | "skipped";

/** A baseline that differs by more than this from turn to turn says nothing about ours. */
const MAX_SPREAD = 1.5;

/** The value below which that share (0 to 1) of the samples lies, by the nearest rank. */
export function percentile(samples: readonly number[], share: number): number {
  if (samples.length === 0) throw new Error("no samples");
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]!;
}

export function median(samples: readonly number[]): number {
  return percentile(samples, 0.5);
}

/** How many times the largest sample is the smallest. */
export function spread(samples: readonly number[]): number {
  return percentile(samples, 1) / percentile(samples, 0);
}

export function sum(samples: readonly number[]): number {
  return samples.reduce((total, sample) => total + sample, 0);
}

/** The row that the turns make: medians, and the median of what each turn compares to. */
export function rowOf(question: Question, turns: readonly Turn[]): Measured {
  const { compared } = question;
  const ours = turns.map((turn) => turn.ours.value);
  const baseline = turns.map((turn) => turn.baseline.value);
  const compare = compared === "difference" ? minus : over;
  return {
    ...question,
    ours: median(ours),
    baseline: median(baseline),
    value: median(ours.map((value, at) => compare(value, baseline[at]!))),
    ...cpuOf(turns),
    spread: spread(baseline),
    turns: turns.length,
  };
}

/** A row that has no baseline: the median of what was seen, or what is the worst of it. */
export function rowAlone(
  question: Omit<Question, "compared">,
  sides: readonly Side[],
  pick: (values: readonly number[]) => number = median,
): Measured {
  const value = pick(sides.map((side) => side.value));
  const cpu = sides.flatMap(({ cpuMs }) => cpuMs ?? []);
  return {
    ...question,
    compared: "alone",
    ours: value,
    value,
    ...(cpu.length === 0 ? {} : { cpu: { ours: median(cpu) } }),
    turns: sides.length,
  };
}

function cpuOf(turns: readonly Turn[]): Pick<Measured, "cpu"> {
  const known = turns.flatMap(({ ours, baseline }) => {
    const pair = { ours: ours.cpuMs, baseline: baseline.cpuMs };
    return pair.ours === undefined || pair.baseline === undefined || pair.baseline === 0
      ? []
      : [{ ours: pair.ours, baseline: pair.baseline }];
  });
  if (known.length === 0) return {};
  return {
    cpu: {
      ours: median(known.map((each) => each.ours)),
      baseline: median(known.map((each) => each.baseline)),
      ratio: median(known.map((each) => each.ours / each.baseline)),
    },
  };
}

const over = (ours: number, baseline: number): number => ours / baseline;
const minus = (ours: number, baseline: number): number => ours - baseline;

export function isSkipped(row: Row): row is Skipped {
  return "skipped" in row;
}

export function verdictOf(row: Row): Verdict {
  if (isSkipped(row)) return "skipped";
  const { target, value } = row;
  if (target === undefined) return "published";
  if (row.spread !== undefined && row.spread > MAX_SPREAD) return "too noisy to judge";
  const isMet = "atLeast" in target ? value >= target.atLeast : value <= target.atMost;
  return isMet ? "met" : "not met";
}
