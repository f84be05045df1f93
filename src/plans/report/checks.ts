import { isPlanned } from "../plan/schedule.ts";
import type { Plan } from "../plan/plan.ts";
import type { Report, StepReport } from "./report.ts";

/** Something that was expected of the work, and whether it holds. Spec 7.4. */
export interface PlanCheck {
  readonly name: "steps_complete" | "tests_passed" | "planned_files" | "diff_files" | "diff_size";
  /** Null: nothing was reported that could be checked. */
  readonly ok: boolean | null;
  /** What does not hold, one finding per line; empty when everything does. */
  readonly details: readonly string[];
}

/** What git says of a range of commits. */
export interface DiffFacts {
  readonly range: string;
  readonly files: readonly { readonly path: string; readonly lines: number }[];
}

export interface Expectations {
  readonly diff?: DiffFacts | undefined;
  readonly maxDiff?: number | undefined;
}

/** Words for a test that passed. */
const PASSED = /^(?:pass(?:ed)?|ok|success|green)$/iu;
/** Of each check; the others are counted. */
const MAX_DETAILS = 100;

/** The checks of a plan with its reports, each attempt's last one. */
export function checksOf(
  plan: Plan,
  reports: readonly StepReport[],
  { diff, maxDiff }: Expectations = {},
): PlanCheck[] {
  const artifacts = reports.flatMap(({ report }) => report.artifacts ?? []);
  return [
    check("steps_complete", true, openSteps(plan)),
    check(
      "tests_passed",
      artifacts.some(({ test }) => test !== undefined),
      reports.flatMap(({ report }) => failedTests(report)),
    ),
    check(
      "planned_files",
      artifacts.some(({ file }) => file !== undefined),
      reports.flatMap(({ report }) =>
        unplannedFiles(plan, report).map((text) => `step ${report.step_id}: ${text}`),
      ),
    ),
    ...(diff === undefined
      ? []
      : [check("diff_files", diff.files.length > 0, unplannedDiff(plan, diff))]),
    ...(diff === undefined || maxDiff === undefined
      ? []
      : [check("diff_size", true, tooManyLines(diff, maxDiff))]),
  ];
}

/** Files that a report names and its step does not. */
export function unplannedFiles({ steps }: Plan, report: Report): string[] {
  const step = steps.find(({ id }) => id === report.step_id);
  const files = (report.artifacts ?? []).flatMap(({ file }) => file ?? []);
  return files
    .filter((file) => !isPlanned(step?.files ?? [], file))
    .map((file) => `${file} is not one of its files`);
}

/** Whether that word for the result of a test says that it passed. */
export function isPassed(result: string): boolean {
  return PASSED.test(result);
}

function openSteps({ steps }: Plan): string[] {
  return steps
    .filter(({ status }) => status !== "complete")
    .map(({ id, status }) => `step ${id} is ${status}`);
}

function failedTests({ step_id: id, artifacts = [] }: Report): string[] {
  return artifacts.flatMap(({ test, result = "" }) =>
    test === undefined || isPassed(result) ? [] : [`step ${id}: ${test}: ${result}`],
  );
}

function unplannedDiff({ steps }: Plan, { files }: DiffFacts): string[] {
  const planned = steps.flatMap((step) => step.files);
  return files
    .filter(({ path }) => !isPlanned(planned, path))
    .map(({ path }) => `${path} has changed and is in no step`);
}

function tooManyLines({ files, range }: DiffFacts, maxDiff: number): string[] {
  const lines = files.reduce((sum, file) => sum + file.lines, 0);
  return lines <= maxDiff
    ? []
    : [`${range} changes ${lines} lines; at most ${maxDiff} are expected`];
}

function check(
  name: PlanCheck["name"],
  hasEvidence: boolean,
  details: readonly string[],
): PlanCheck {
  if (!hasEvidence) return { name, ok: null, details: [] };
  const more = details.length - MAX_DETAILS;
  const shown = details.slice(0, MAX_DETAILS);
  return { name, ok: details.length === 0, details: more > 0 ? [...shown, `${more} more`] : shown };
}
