import { readFileSync } from "node:fs";
import { parsePlan, type PlanDocument } from "../../src/plans/plan/parse-plan.ts";
import { problemText } from "../../src/plans/plan/problem.ts";

/** The four steps of a CSV upload. */
export const CSV_UPLOAD = readFileSync(
  new URL("../data/plans/csv-upload.yaml", import.meta.url),
  "utf8",
);

/** A plan that has to be valid. */
export function planOf(text: string, name = "plan.yaml"): PlanDocument {
  const read = parsePlan(Buffer.from(text, "utf8"), name);
  if (!read.ok) throw new Error(read.problems.map((each) => problemText(name, each)).join("\n"));
  return read;
}

/** What is said of a plan, refused or not. */
export function problemsOf(text: string | Uint8Array, name = "plan.yaml"): string[] {
  const read = parsePlan(typeof text === "string" ? Buffer.from(text, "utf8") : text, name);
  return (read.ok ? read.warnings : read.problems).map((each) => problemText(name, each));
}

/** Steps from short rows: `id owner after,after files`, with `|` for parallel. */
export function stepsText(...rows: readonly string[]): string {
  const steps = rows.map((row) => {
    const [id, owner, deps = "", files = "", parallel] = row.split(" ");
    return [
      `  - id: ${id}`,
      `    description: do ${id}`,
      `    owner: ${owner}`,
      ...(deps === "" || deps === "-" ? [] : [`    deps: [${deps}]`]),
      ...(files === "" || files === "-" ? [] : [`    files: [${files}]`]),
      ...(parallel === undefined ? [] : ["    parallel: true"]),
    ].join("\n");
  });
  return `plan_id: p\nsteps:\n${steps.join("\n")}\n`;
}
