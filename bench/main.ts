import { mkdirSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { FIGURES, FULL, runBench, type Counts } from "./bench.ts";
import { comparison, isMet, tableText, type Row } from "./figures.ts";
import { checkout } from "./stage.ts";

const count = { type: "string" } as const;
const { values } = parseArgs({
  options: {
    lines: count,
    sends: count,
    deliveries: count,
    runs: count,
    only: { type: "string", multiple: true },
  },
});

function countOf(name: keyof Counts): number {
  const text = values[name];
  if (text === undefined) return FULL[name];
  if (/^[1-9]\d{0,7}$/.test(text)) return Number(text);
  throw new Error(`--${name} is a whole number of at least 1`);
}

const counts: Counts = {
  lines: countOf("lines"),
  sends: countOf("sends"),
  deliveries: countOf("deliveries"),
  runs: countOf("runs"),
};
const only = values.only ?? FIGURES;
const unknown = only.find((name) => !FIGURES.includes(name));
if (unknown !== undefined) throw new Error(`--only is one of ${FIGURES.join(", ")}`);

const machine = {
  cores: availableParallelism(),
  cpu: cpus()[0]?.model ?? "unknown",
  node: process.version,
  platform: process.platform,
};
const rows = await runBench(counts, only);
process.stdout.write(`${tableText(rows)}\n`);
const report = join(checkout, "reports", "bench.json");
mkdirSync(join(checkout, "reports"), { recursive: true });
const json = { machine, counts, rows: rows.map(withVerdict) };
writeFileSync(report, `${JSON.stringify(json, null, 2)}\n`);
process.stdout.write(
  `\n${machine.cores} cores (${machine.cpu}), Node ${machine.node}; ${report}\n`,
);

function withVerdict(row: Row): Row & { comparison: number; met: boolean } {
  return { ...row, comparison: comparison(row), met: isMet(row) };
}
