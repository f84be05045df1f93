import { sanitise } from "../../wire/quote.ts";
import { titleOf, type Plan, type Status } from "../plan/plan.ts";
import type { PlanCheck } from "./checks.ts";
import type { Artifact, Outcome, StepReport } from "./report.ts";

/** The end of a plan, as JSON has it. Spec 7.4. */
export interface FinalReport {
  readonly plan_id: string | null;
  readonly task: string | null;
  readonly made_at: string;
  /** All steps are complete and no check fails. */
  readonly ok: boolean;
  readonly steps: readonly FinalStep[];
  readonly checks: readonly PlanCheck[];
}

export interface FinalStep {
  readonly id: string;
  readonly owner: string;
  readonly description: string;
  readonly status: Status;
  readonly attempt: number;
  /** Of the last attempt; null where there is none. */
  readonly outcome: Outcome | null;
  readonly details: string | null;
  readonly error: string | null;
  readonly artifacts: readonly Artifact[];
  readonly reported_by: string | null;
  readonly reported_at: string | null;
}

const CHECK_WORDS: Readonly<Record<PlanCheck["name"], string>> = {
  steps_complete: "All steps are complete",
  tests_passed: "All tests passed",
  planned_files: "Reports name only planned files",
  diff_files: "Only planned files changed",
  diff_size: "The change is small enough",
};
/** What is said of a check for which nothing was reported. */
const UNKNOWN_WORDS: Partial<Record<PlanCheck["name"], string>> = {
  tests_passed: "No report names a test",
  planned_files: "No report names a file",
  diff_files: "The range of commits changes no file",
};
/** Signs that are marks in Markdown or HTML. */
const MARKS = /[\\`*_{}[\]()#|<>~&!]|^[-+=]/gu;

export function finalReport(
  plan: Plan,
  reports: readonly StepReport[],
  checks: readonly PlanCheck[],
  nowMs: number,
): FinalReport {
  return {
    plan_id: plan.id ?? null,
    task: plan.task ?? null,
    made_at: new Date(nowMs).toISOString(),
    ok: checks.every(({ ok }) => ok !== false),
    steps: plan.steps.map((step): FinalStep => {
      const { id, owner, description, status, attempt } = step;
      const last = reports.findLast(({ report }) => report.step_id === id);
      const report = last?.report;
      return {
        ...{ id, owner, description, status, attempt },
        outcome: report?.outcome ?? null,
        details: report?.details ?? null,
        error: report?.error ?? null,
        artifacts: report?.artifacts ?? [],
        reported_by: last?.by ?? null,
        reported_at: report?.timestamp ?? null,
      };
    }),
    checks,
  };
}

/** As Markdown; words of others are plain text in it, whatever they hold. */
export function markdownReport(final: FinalReport): string {
  const { steps, checks, plan_id: id, task, made_at: at } = final;
  const rows = steps.map(
    (step) =>
      `| ${plain(step.id)} | ${plain(step.owner)} | ${step.status} | ${step.outcome ?? "no report"} | ${plain(titleOf(step))} |`,
  );
  const done = steps.filter(({ status }) => status === "complete").length;
  return [
    `# Plan ${plain(id ?? "without a name")}: ${final.ok ? "done" : "not done"}`,
    "",
    ...(task === null ? [] : [plain(task), ""]),
    `${done} of ${steps.length} steps are complete. Written at ${at}.`,
    "",
    "## Checks",
    "",
    ...checks.flatMap(({ name, ok, details }) => [
      ok === null
        ? `- unknown: ${UNKNOWN_WORDS[name] ?? CHECK_WORDS[name]}`
        : `- ${ok ? "yes" : "**no**"}: ${CHECK_WORDS[name]}`,
      ...details.map((detail) => `  - ${plain(detail)}`),
    ]),
    "",
    "## Steps",
    "",
    "| step | owner | status | outcome | what |",
    "| --- | --- | --- | --- | --- |",
    ...rows,
    ...steps.filter(({ outcome }) => outcome !== null).flatMap(sectionOf),
    "",
  ].join("\n");
}

function sectionOf(step: FinalStep): string[] {
  const by = step.reported_by === null ? "" : `, by ${plain(step.reported_by)}`;
  return [
    "",
    `### ${plain(step.id)}`,
    "",
    `${step.outcome ?? ""}, attempt ${step.attempt}${by}, ${step.reported_at ?? ""}`,
    ...paragraphs(step.details),
    ...(step.error === null ? [] : ["", `Error: ${plain(step.error)}`]),
    ...(step.artifacts.length === 0 ? [] : ["", ...step.artifacts.map(artifactRow)]),
  ];
}

/** Each line by itself, whichever ends they have: what follows another one is no part of its sentence. */
function paragraphs(text: string | null): string[] {
  const lines = (text ?? "").split(/[\r\n]/u).filter((line) => line.trim() !== "");
  return lines.flatMap((line) => ["", plain(line)]);
}

function artifactRow({ file, status, test, result, log, screenshot }: Artifact): string {
  if (file !== undefined) return `- file ${plain(file)}: ${plain(status ?? "")}`;
  if (test !== undefined) return `- test ${plain(test)}: ${plain(result ?? "")}`;
  if (log !== undefined) return `- log: ${plain(log)}`;
  return `- screenshot: ${plain(screenshot ?? "")}`;
}

/** One line in which nothing is a mark. */
function plain(text: string): string {
  const row = sanitise(text.replace(/\s+/gu, " ").trim());
  return row.replace(MARKS, (mark) =>
    mark === "<" ? "&lt;" : mark === "&" ? "&amp;" : `\\${mark}`,
  );
}
