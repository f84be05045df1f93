import { needsOf, couldShareTime, isPlanned } from "../../plans/plan/schedule.ts";
import { parsePlan } from "../../plans/plan/parse-plan.ts";
import type { Plan, Step } from "../../plans/plan/plan.ts";
import { isError, problemText } from "../../plans/plan/problem.ts";
import { isPassed } from "../../plans/report/checks.ts";
import { completedReport, readReport, reportIn, type Report } from "../../plans/report/report.ts";
import type { BenchTask, ExpectedPlan, ExpectedReport } from "./task.ts";

/** One thing that is expected of an answer. */
interface ShapeCheck {
  readonly what: string;
  readonly ok: boolean;
}

/** What one answer comes to. */
export interface Judged {
  /** 0 to 1: how many of the things that are expected hold. An answer that is none has 0. */
  readonly score: number;
  /** What does not hold. */
  readonly missing: readonly string[];
  /** The same for answers of one shape, whatever their words; undefined: it is no answer. */
  readonly shape: string | undefined;
}

/** Judges what an adapter has printed by its shape alone: nobody says whether its words are good. Spec 7.6. */
export function judgeAnswer({ expect }: BenchTask, printed: string, nowMs: number): Judged {
  if (expect.kind === "plan") {
    const read = parsePlan(Buffer.from(planIn(printed), "utf8"), "plan.yaml");
    if (!read.ok) {
      const first = read.problems.find(isError);
      return noAnswer(first === undefined ? "no plan" : problemText("plan", first));
    }
    return judged(planChecks(read.plan, expect.plan), planShape(read.plan));
  }
  const said = completedReport(reportIn(printed), expect.report.step_id, nowMs);
  const read = readReport(said);
  if (!read.ok) return noAnswer(said === undefined ? "no report" : read.detail);
  return judged(reportChecks(read.report, expect.report), reportShape(read.report));
}

export function noAnswer(why: string): Judged {
  return { score: 0, missing: [`no answer: ${why}`], shape: undefined };
}

function judged(checks: readonly ShapeCheck[], shape: string): Judged {
  const held = checks.filter(({ ok }) => ok).length;
  const missing = checks.filter(({ ok }) => !ok).map(({ what }) => what);
  return { score: held / checks.length, missing, shape };
}

/** The last fenced block, else all of it. */
function planIn(printed: string): string {
  const fenced = [...printed.matchAll(/^```(?:ya?ml|json)?[ \t]*\r?\n([\s\S]*?)^```/gmu)];
  return fenced.at(-1)?.[1] ?? printed;
}

function planChecks(plan: Plan, expected: ExpectedPlan): ShapeCheck[] {
  const { steps } = plan;
  const { min_steps: least, max_steps: most, owners = [], files = [] } = expected;
  const { every_step: fields = [], before = [], together = [] } = expected;
  const needs = needsOf(plan);
  const of = (owner: string): Step[] => steps.filter((step) => step.owner === owner);
  const pairs = ([first, second]: readonly [string, string]): [Step, Step][] =>
    of(first).flatMap((one) => of(second).map((other): [Step, Step] => [one, other]));
  return [
    { what: `${least} to ${most} steps`, ok: steps.length >= least && steps.length <= most },
    ...owners.map((owner) => ({ what: `a step of ${owner}`, ok: of(owner).length > 0 })),
    ...fields.map((field) => ({
      what: `${field} in every step`,
      ok: steps.every((step) => hasField(step, field)),
    })),
    ...files.map((file) => ({
      what: `a step that names ${file}`,
      ok: steps.some((step) => isPlanned(step.files, file)),
    })),
    ...before.map((pair) => ({
      what: `${pair[0]} before ${pair[1]}`,
      ok: isEvery(pairs(pair), ([one, other]) => needs.get(other.id)?.has(one.id) === true),
    })),
    ...together.map((pair) => ({
      what: `${pair[0]} beside ${pair[1]}`,
      ok: pairs(pair).some(([one, other]) => couldShareTime(one, other, needs)),
    })),
  ];
}

function isEvery<T>(all: readonly T[], holds: (one: T) => boolean): boolean {
  return all.length > 0 && all.every(holds);
}

function hasField(step: Step, field: NonNullable<ExpectedPlan["every_step"]>[number]): boolean {
  if (field === "risk_notes") return (step.riskNotes ?? "").trim() !== "";
  return step[field].length > 0;
}

function reportChecks(report: Report, expected: ExpectedReport): ShapeCheck[] {
  const { artifacts = [] } = report;
  const tests = artifacts.filter(({ test }) => test !== undefined);
  const { tests_passed: passed } = expected;
  return [
    { what: `about step ${expected.step_id}`, ok: report.step_id === expected.step_id },
    {
      what: `the outcome ${expected.outcome.join(" or ")}`,
      ok: expected.outcome.includes(report.outcome),
    },
    ...(expected.artifacts ?? []).map((kind) => ({
      what: `a ${kind} among the artifacts`,
      ok: artifacts.some((each) => each[kind] !== undefined),
    })),
    ...(passed === undefined
      ? []
      : [
          {
            what: passed ? "tests that all passed" : "a test that did not pass",
            ok: tests.length > 0 && tests.every(({ result = "" }) => isPassed(result)) === passed,
          },
        ]),
  ];
}

/** Who does how many steps at which place in the order. */
function planShape({ steps }: Plan): string {
  const needs = needsOf({ steps });
  return steps
    .map(({ id, owner }) => `${owner} ${needs.get(id)?.size ?? 0}`)
    .toSorted()
    .join("; ");
}

function reportShape({ outcome, artifacts = [] }: Report): string {
  const kinds = artifacts.map((each) =>
    each.file !== undefined ? "file" : each.test !== undefined ? "test" : "other",
  );
  return [outcome, ...new Set(kinds.toSorted())].join(" ");
}
