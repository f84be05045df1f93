/** One figure beside its baseline, both measured in this run. */
export interface Row {
  /** As in the list of figures: "P1". */
  readonly id: string;
  readonly what: string;
  readonly unit: string;
  readonly ours: number;
  readonly baseline: number;
  /** How ours is held against the baseline: divided by it, or what it is over it. */
  readonly compared: "ratio" | "difference";
  readonly target: { readonly atLeast: number } | { readonly atMost: number };
}

/** The value below which that share (0 to 1) of the samples lies, by the nearest rank. */
export function percentile(samples: readonly number[], share: number): number {
  if (samples.length === 0) throw new Error("no samples");
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]!;
}

/** How many times the largest sample is the smallest: what a noisy machine did to the run. */
export function spread(samples: readonly number[]): number {
  return percentile(samples, 1) / percentile(samples, 0);
}

export function sum(samples: readonly number[]): number {
  return samples.reduce((total, sample) => total + sample, 0);
}

export function comparison({ compared, ours, baseline }: Row): number {
  return compared === "ratio" ? ours / baseline : ours - baseline;
}

export function isMet(row: Row): boolean {
  const value = comparison(row);
  return "atLeast" in row.target ? value >= row.target.atLeast : value <= row.target.atMost;
}

/** The rows as aligned columns. */
export function tableText(rows: readonly Row[]): string {
  const cells = [
    ["", "figure", "ours", "baseline", "compared", "target", ""],
    ...rows.map((row) => [
      row.id,
      row.what,
      `${short(row.ours)} ${row.unit}`,
      `${short(row.baseline)} ${row.unit}`,
      comparedText(comparison(row), row),
      targetText(row),
      isMet(row) ? "met" : "not met",
    ]),
  ];
  const widths = cells[0]!.map((_, column) => Math.max(...cells.map((row) => row[column]!.length)));
  return cells
    .map((row) => row.map((cell, column) => cell.padEnd(widths[column]!)).join("  "))
    .map((line) => line.trimEnd())
    .join("\n");
}

function comparedText(value: number, { compared, unit }: Row): string {
  return compared === "ratio" ? `${value.toFixed(2)} ×` : `${short(value)} ${unit} over`;
}

function targetText(row: Row): string {
  const [sign, value] =
    "atLeast" in row.target ? ["≥", row.target.atLeast] : ["≤", row.target.atMost];
  return `${sign} ${comparedText(value, row)}`;
}

function short(value: number): string {
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString("en-US");
  return value.toPrecision(3);
}
