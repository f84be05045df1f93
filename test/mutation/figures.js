/**
 * Stryker takes every mutant that ran into a limit for found, also one that a busy machine was slow
 * with. Here only a failed test kills: an assertion, or an error thrown in the code. A mutant that
 * loops is stopped by how often its code was hit, which is the same on every machine.
 */
const LEAST_SCORE = 85;
const HIT_LIMIT = /^Hit limit reached/;

/** Of the mutants of each layer (`src/<layer>/`), how many ended how; the last row is all of them. */
export function figuresOf(files) {
  const rows = new Map();
  for (const [path, { mutants }] of Object.entries(files)) {
    const layer = /src[/\\](\w+)/.exec(path)?.[1] ?? path;
    for (const name of [layer, "all"]) {
      const row = rows.get(name) ?? { name, killed: 0, looped: 0, byTime: 0, alive: 0, broken: 0 };
      rows.set(name, row);
      for (const mutant of mutants) {
        const end = endOf(mutant);
        if (end !== undefined) row[end] += 1;
      }
    }
  }
  const all = rows.get("all");
  rows.delete("all");
  return [...rows.values(), ...(all === undefined ? [] : [all])].map(withScore);
}

function endOf({ status, statusReason = "" }) {
  if (status === "Killed") return "killed";
  if (status === "Timeout") return HIT_LIMIT.test(statusReason) ? "looped" : "byTime";
  if (status === "Survived" || status === "NoCoverage") return "alive";
  return status === "Ignored" ? undefined : "broken";
}

/** Neither time nor a crash of the runner counts for the tests. */
function withScore(row) {
  const { killed, looped, byTime, alive, broken } = row;
  const found = killed + looped;
  return { ...row, score: (100 * found) / (found + byTime + alive + broken) };
}

export function textOf({ name, killed, looped, byTime, alive, broken, score }) {
  const count = killed + looped + byTime + alive + broken;
  return (
    `${name}: ${count} mutants: ${killed} killed, ${looped} stopped by count, ` +
    `${byTime} stopped by time, ${alive} alive` +
    `${broken === 0 ? "" : `, ${broken} broken`}: ${score.toFixed(1)} %`
  );
}

/** Prints the figures, and fails the run when those of a layer are too low. */
export class FiguresReporter {
  onMutationTestReportReady({ files }) {
    const rows = figuresOf(files);
    for (const row of rows) console.log(textOf(row));
    if (rows.some(({ score }) => score < LEAST_SCORE)) process.exitCode = 1;
  }
}
