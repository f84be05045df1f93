import { fork } from "node:child_process";
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { failsAnyway, foundByTest, type NamedTest } from "./found-by-test.ts";
import { addFigures, NO_FIGURES, type SeedReport } from "./report.ts";
import { PLANTS, withPlant, type Plant } from "./plants.js";
import { rangesPlayed, type RangesPlayed } from "./ranges.ts";
import { playSeed } from "./play-seed.ts";
import { isTimeUp, TIME_IS_UP } from "../support/time-limit.ts";

const USAGE = `npm run sim -- [options]
  --seed S        play one seed, and shrink it when it fails
  --seeds A-B     play these seeds (1-300 unless said)
  --in-ci         play the seeds that CI plays, with steps of their own (ranges.ts)
  --at-night      play the seeds of a night
  --steps N       steps of each other seed (2000 unless said)
  --only 3,7,12   of one seed, only these steps
  --jobs J        processes at a time (one for each core unless said)
  --plants        put each planted mistake in, and play until it is found`;

/** Seeds between two words of how a long run stands. */
const TOLD_EVERY = 500;

const { values } = readOptions();

function readOptions() {
  try {
    return parseArgs({
      options: {
        seed: { type: "string" },
        seeds: { type: "string" },
        "in-ci": { type: "boolean" },
        "at-night": { type: "boolean" },
        steps: { type: "string" },
        only: { type: "string" },
        jobs: { type: "string" },
        plants: { type: "boolean" },
        worker: { type: "boolean" },
        help: { type: "boolean" },
      },
    });
  } catch (error) {
    return misused((error as Error).message);
  }
}
const stepsAsked = countOf("steps", values.steps ?? "2000");
const jobs = countOf("jobs", values.jobs ?? String(availableParallelism()));

if (values.help === true) console.log(USAGE);
else if (values.worker === true) work();
else if (values.seed !== undefined) await playOne(countOf("seed", values.seed));
else if (values["in-ci"] === true) await playRanges("in-ci");
else if (values["at-night"] === true) await playRanges("at-night");
else {
  const bounds = (values.seeds ?? "1-300").split("-");
  const [first = 1, last = first] = bounds.map((each) => countOf("seeds", each));
  if (last < first || bounds.length > 2)
    misused(`--seeds ${values.seeds} is no range such as 1-300`);
  const ok =
    values.plants === true
      ? await findPlants(last)
      : await playMany({ first, last, steps: stepsAsked });
  process.exitCode = ok ? 0 : 1;
}

/** A proof of nothing must not look like one: what is not understood is not played. */
function countOf(option: string, text: string, least = 1): number {
  const count = /^[0-9]{1,9}$/.test(text) ? Number(text) : -1;
  return count >= least
    ? count
    : misused(`--${option} ${text} is no whole number from ${least} on`);
}

function misused(problem: string): never {
  console.error(`${problem}\n\n${USAGE}`);
  process.exit(1);
}

/** A child: plays what it is told, one seed at a time. */
function work(): void {
  process.on("message", (seed: number) => {
    playSeed({ seed, steps: stepsAsked }, { shrinks: false }).then(
      (report) => process.send?.(report),
      (error: unknown) => {
        console.error(error);
        process.exit(1);
      },
    );
  });
}

async function playOne(seed: number): Promise<void> {
  const only = values.only?.split(",").map((step) => countOf("only", step, 0));
  const run = { seed, steps: stepsAsked, ...(only === undefined ? {} : { only: new Set(only) }) };
  const report = await playSeed(run, { shrinks: only === undefined });
  console.log(report.text);
  process.exitCode = report.ok ? 0 : 1;
}

interface Played {
  readonly first: number;
  readonly last: number;
  /** Of each seed. */
  readonly steps: number;
}

/** Seeds from `first` to `last`, on so many processes; stops early when `hear` has had enough. */
async function playAll(
  { first, last, steps }: Played,
  env: NodeJS.ProcessEnv,
  hear: (report: SeedReport) => "go on" | "enough",
): Promise<void> {
  let next = first;
  let isEnough = false;
  const one = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const args = ["--worker", "--steps", String(steps)];
      const child = fork(new URL(import.meta.url), args, { env: { ...process.env, ...env } });
      let playing = first;
      const give = (): void => {
        if (isEnough || next > last) {
          child.disconnect();
          return;
        }
        playing = next;
        child.send(next);
        next += 1;
      };
      child.on("message", (report: SeedReport) => {
        if (hear(report) === "enough") isEnough = true;
        give();
      });
      child.on("exit", (code) => {
        if (code === 0) resolve();
        else reject(new Error(`who played seed ${playing} ended with exit code ${code}`));
      });
      give();
    });
  await Promise.all(Array.from({ length: Math.min(jobs, last - first + 1) }, one));
}

async function playRanges(when: RangesPlayed): Promise<void> {
  let ok = true;
  for (const { above, count, steps } of rangesPlayed(when)) {
    console.log(`seeds ${above + 1} to ${above + count}`);
    const isRangeOk = await playMany({ first: above + 1, last: above + count, steps });
    ok &&= isRangeOk;
  }
  process.exitCode = ok ? 0 : 1;
}

async function playMany(range: Played): Promise<boolean> {
  const { first, last, steps } = range;
  const started = performance.now();
  let figures = NO_FIGURES;
  let failed = 0;
  let played = 0;
  await playAll(range, {}, (report) => {
    played += 1;
    if (played % TOLD_EVERY === 0) console.error(`${played} seeds played, ${failed} failed`);
    if (report.ok) figures = addFigures(figures, report.figures);
    else {
      failed += 1;
      console.log(report.text);
    }
    return isTimeUp() ? "enough" : "go on";
  });
  const seconds = Math.round((performance.now() - started) / 1_000);
  console.log(`${played} seeds of ${steps} steps in ${seconds} s: ${failed} failed`);
  const left = last - first + 1 - played;
  if (left > 0) console.log(`  ${left} more were ${TIME_IS_UP}`);
  for (const [name, value] of Object.entries(figures)) console.log(`  ${name}: ${value}`);
  return failed === 0;
}

/** Each mistake is found within so many seeds, or by the test that is named for it. */
async function findPlants(mostSeeds: number): Promise<boolean> {
  let isAllFound = true;
  const noticing: NamedTest[] = [];
  for (const plant of PLANTS) {
    if (isTimeUp()) {
      console.log(`${plant.name}: ${TIME_IS_UP}`);
      continue;
    }
    const started = performance.now();
    // Throws when the mistake no longer fits its file: a test that cannot load has found nothing.
    withPlant(plant, `/${plant.file}`, readFileSync(plant.file, "utf8"));
    const test = plant.test === undefined ? undefined : foundByTest(plant);
    if (test !== undefined) noticing.push(test);
    const how =
      plant.test === undefined
        ? await foundBySeeds(plant, mostSeeds)
        : test && `${test.file}: ${test.title}`;
    isAllFound &&= how !== undefined;
    const seconds = Math.round((performance.now() - started) / 1_000);
    console.log(`${plant.name}: ${how ?? "NOT FOUND"} (${seconds} s)`);
  }
  const proveNothing = failsAnyway(noticing);
  for (const { file, title } of proveNothing) {
    console.log(`NOT FOUND: does not pass without a mistake either: ${file}: ${title}`);
  }
  return isAllFound && proveNothing.length === 0;
}

async function foundBySeeds(
  { name, seeds: first = 1 }: Plant,
  mostSeeds: number,
): Promise<string | undefined> {
  let found: Extract<SeedReport, { ok: false }> | undefined;
  const range = { first, last: first + mostSeeds - 1, steps: stepsAsked };
  await playAll(range, { DEADDROP_PLANT: name }, (report) => {
    if (!report.ok) found ??= report;
    return report.ok ? "go on" : "enough";
  });
  return found === undefined ? undefined : `seed ${found.seed}: ${found.what}`;
}
