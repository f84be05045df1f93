import { runSeed, type Failure, type Run } from "./run-seed.ts";

/** So many tries a shrinking may take: one costs as much as the run that failed, or less. */
const MAX_TRIES = 120;

/**
 * The fewest steps with which a seed still breaks the same promise, as far as leaving out pieces of
 * what is left finds them (delta debugging). Every step has its own luck, so that leaving one out
 * changes the others only through what it did.
 */
export async function shrink(run: Run, failure: Failure): Promise<ReadonlySet<number>> {
  const steps = failure.step < run.steps ? failure.step + 1 : run.steps;
  let left = [...failure.told.keys()];
  let pieces = 2;
  for (let tries = 0; tries < MAX_TRIES && left.length > 1;) {
    const size = Math.ceil(left.length / pieces);
    let shorter: number[] | undefined;
    for (let from = 0; from < left.length && shorter === undefined; from += size) {
      const candidate = [...left.slice(0, from), ...left.slice(from + size)];
      tries += 1;
      if (tries > MAX_TRIES) break;
      const outcome = await runSeed({ ...run, steps, only: new Set(candidate) });
      if (!outcome.ok && outcome.failure.kind === failure.kind) shorter = candidate;
    }
    if (shorter !== undefined) {
      left = shorter;
      pieces = Math.max(2, pieces - 1);
    } else if (size === 1) break;
    else pieces = Math.min(left.length, pieces * 2);
  }
  return new Set(left);
}
