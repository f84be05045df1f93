import type { SeedReport } from "./report.ts";
import { runSeed, type Failure, type Run } from "./run-seed.ts";
import { shrink } from "./shrink.ts";

const LAST_STEPS = 12;

/** Plays one seed, and says of a failure what it was and which one command shows it again. */
export async function playSeed(
  run: Run,
  { shrinks }: { readonly shrinks: boolean },
): Promise<SeedReport> {
  const { seed } = run;
  const outcome = await runSeed(run);
  if (outcome.ok) {
    const { figures } = outcome;
    return { ok: true, seed, figures, text: `seed ${seed}: all promises kept` };
  }
  const { failure } = outcome;
  const again = `npm run sim -- --seed ${seed} --steps ${run.steps}`;
  const told = shrinks ? await shortScene(run, failure, again) : lastSteps(failure);
  const text = [
    `seed ${seed}, step ${failure.step}: ${failure.text}`,
    `  again: ${again}${run.only === undefined ? "" : ` --only ${[...run.only].join(",")}`}`,
    ...told,
    ...(failure.kind === "fault" ? [failure.stack] : []),
  ].join("\n");
  return { ok: false, seed, text, what: failure.text };
}

function lastSteps({ told }: Failure): string[] {
  return [...told].slice(-LAST_STEPS).map(([step, name]) => `  ${step} ${name}`);
}

async function shortScene(run: Run, failure: Failure, again: string): Promise<string[]> {
  const kept = [...(await shrink(run, failure))].toSorted((a, b) => a - b);
  const scene = kept.map((step) => `  ${step} ${failure.told.get(step) ?? ""}`);
  return [`  shortest found: ${again} --only ${kept.join(",")}`, ...scene];
}
