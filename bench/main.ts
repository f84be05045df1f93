import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { FULL, type Plan } from "./plan.ts";
import { machineFacts, publishedText, resultsText } from "./results.ts";
import { verdictOf, type Row } from "./row.ts";
import { ROWS, USUAL } from "./rows.ts";
import { checkout } from "./stage/processes.ts";
import { reportsFolder } from "./stage/wire.ts";
import { tableText } from "./table.ts";

const number = { type: "string" } as const;
const { values } = parseArgs({
  options: {
    row: { type: "string", multiple: true },
    scale: number,
    turns: number,
    idle: number,
    json: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
  },
});

function numberOf(name: "scale" | "turns" | "idle", otherwise: number): number {
  const value = Number(values[name] ?? otherwise);
  if (Number.isFinite(value) && value > 0) return value;
  throw new Error(`--${name} is a number above 0`);
}

const plan: Plan = {
  scale: numberOf("scale", FULL.scale),
  turns: numberOf("turns", FULL.turns),
  idleSeconds: numberOf("idle", FULL.idleSeconds),
};
const wanted = values.row ?? USUAL;
const unknown = wanted.find((name) => !ROWS.has(name));
if (unknown !== undefined) throw new Error(`--row is one of ${[...ROWS.keys()].join(", ")}`);

const before = machineFacts();
const rows: Row[] = [];
for (const name of wanted) {
  process.stderr.write(`${name} …\n`);
  const made = await measured(name);
  rows.push(...made);
  // A run takes long, and may be ended before it is complete.
  process.stderr.write(`${tableText(made)}\n`);
}
const judged = rows.map((row) => ({ ...row, verdict: verdictOf(row) }));
const json = `${JSON.stringify({ machine: before, plan, rows: judged }, null, 2)}\n`;
writeFileSync(join(reportsFolder(), "bench.json"), json);
process.stdout.write(values.json ? json : `${tableText(rows)}\n\n${publishedText()}\n`);
if (values.write) {
  writeFileSync(join(checkout, "bench", "results.md"), resultsText(before, plan, rows));
}

/** A row that fails does not take the others with it. */
async function measured(name: string): Promise<Row[]> {
  try {
    return await ROWS.get(name)!(plan);
  } catch (error) {
    process.stderr.write(`${String(error)}\n`);
    process.exitCode = 1;
    return [{ id: name, what: "it failed", skipped: String(error).split("\n")[0] ?? "" }];
  }
}
