import { isSkipped, verdictOf, type Measured, type Row } from "./row.ts";

const HEADS = [
  "",
  "figure",
  "ours",
  "baseline",
  "compared",
  "CPU ours",
  "CPU baseline",
  "CPU",
  "turns",
  "spread",
  "target",
  "verdict",
];

/** Of a row that was not measured: all but the first two and the verdict. */
const EMPTY = HEADS.slice(3).map(() => "");

/** The rows as aligned columns. */
export function tableText(rows: readonly Row[]): string {
  const cells = [HEADS, ...rows.map(cellsOf)];
  const widths = HEADS.map((_, column) => Math.max(...cells.map((row) => row[column]!.length)));
  return cells
    .map((row) => row.map((cell, column) => cell.padEnd(widths[column]!)).join("  "))
    .map((line) => line.trimEnd())
    .join("\n");
}

/** The same as a table of Markdown. */
export function tableMarkdown(rows: readonly Row[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [HEADS, HEADS.map(() => "---"), ...rows.map(cellsOf)].map(line).join("\n");
}

function cellsOf(row: Row): string[] {
  if (isSkipped(row)) {
    return [row.id, row.what, ...EMPTY, `skipped: ${row.skipped}`];
  }
  const { id, what, unit, ours, baseline, cpu, turns, spread, target } = row;
  return [
    id,
    what,
    `${short(ours)} ${unit}`,
    baseline === undefined ? "" : `${short(baseline)} ${unit}`,
    row.compared === "alone" ? "" : compared(row.value, row),
    cpu === undefined ? "" : `${short(cpu.ours)} ms`,
    cpu?.baseline === undefined ? "" : `${short(cpu.baseline)} ms`,
    cpu?.ratio === undefined ? "" : `${cpu.ratio.toFixed(2)} ×`,
    String(turns),
    spread === undefined ? "" : `${spread.toFixed(1)} ×`,
    target === undefined ? "" : targetText(target, row),
    verdictOf(row),
  ];
}

function targetText(target: NonNullable<Measured["target"]>, row: Measured): string {
  const [sign, value] = "atLeast" in target ? ["≥", target.atLeast] : ["≤", target.atMost];
  return `${sign} ${compared(value, row)}`;
}

function compared(value: number, { compared: how, unit }: Measured): string {
  if (how === "ratio") return `${value.toFixed(2)} ×`;
  return how === "difference" ? `${short(value)} ${unit} over` : `${short(value)} ${unit}`;
}

function short(value: number): string {
  if (value === 0) return "0";
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString("en-US");
  return value.toPrecision(3);
}
