import { agentOf, type Owners } from "../plan/owners.ts";
import type { Plan, Step } from "../plan/plan.ts";
import { startable } from "../plan/ready.ts";
import { unplannedFiles } from "../report/checks.ts";
import type { Report } from "../report/report.ts";
import { sanitise } from "../../wire/quote.ts";
import type { PlanEffect } from "./effects.ts";
import type { Dispatch, Facts, LocalWork, WireReport } from "./facts.ts";

/** What the operator has set for a run. */
export interface RunLimits {
  readonly maxParallel: number;
  /** From the request to the report. */
  readonly stepTimeoutMs: number;
  /** Steps that correct the same one. */
  readonly maxFixes: number;
}

export interface Known {
  readonly plan: Plan;
  readonly facts: Facts;
  readonly owners: Owners;
}

/** What is told of an error, at most. */
const MAX_ERROR = 1_000;
/** The id of a step that corrects another one. */
const FIX = /-fix-\d+$/u;
const NO_WORK: LocalWork = { isBegun: false, isRunning: false, report: undefined };

/**
 * What to do now. The plan says what is wanted, the wire what has happened: a step whose request is on
 * the wire is never sent again, whatever the file says. Spec 7.5.
 */
export function decidePlan(known: Known, nowMs: number, limits: RunLimits): PlanEffect[] {
  const { plan, facts } = known;
  const effects = plan.steps.flatMap((step): PlanEffect[] => {
    const dispatch = facts.dispatches.get(step.id);
    if (step.status === "pending" && dispatch !== undefined) return [mark(step, "in_progress")];
    if (step.status === "in_progress") return goOn(step, dispatch, known, nowMs, limits);
    return dispatch === undefined ? [] : uncounted(step, dispatch);
  });
  if (effects.some((effect) => effect.do === "mark" || effect.do === "amend")) return effects;
  const begun = startable(plan, limits.maxParallel);
  const begins = begun.flatMap((step) => goOn(step, undefined, known, nowMs, limits));
  return [...effects, ...begins, ...ended(plan, begun.length)];
}

function ended({ steps }: Plan, begun: number): PlanEffect[] {
  if (begun > 0 || steps.some(({ status }) => status === "in_progress")) return [];
  const isComplete = steps.every(({ status }) => status === "complete");
  return [{ do: "end", outcome: isComplete ? "complete" : "stuck" }];
}

/** What a step needs that is in progress, or may be begun now. */
function goOn(
  step: Step,
  dispatch: Dispatch | undefined,
  known: Known,
  nowMs: number,
  limits: RunLimits,
): PlanEffect[] {
  if (dispatch !== undefined) return waitFor(step, dispatch, known, nowMs, limits);
  const agent = agentOf(step.owner, known.owners);
  if (agent === undefined) {
    return block(step, `its owner ${step.owner} is not on this wire: name another one in the plan`);
  }
  if (agent !== "self") return [{ do: "send", step: step.id, to: agent }];
  const { isBegun, isRunning, report } = known.facts.local.get(step.id) ?? NO_WORK;
  if (report !== undefined) return take(step, report, undefined, known, limits);
  if (isRunning) return [];
  if (!isBegun) return [{ do: "run", step: step.id }];
  return block(
    step,
    "the run ended after it was begun and before its report: look at what was done",
  );
}

/** A step that was sent: its report, its refusal, or its time. */
function waitFor(
  step: Step,
  dispatch: Dispatch,
  known: Known,
  nowMs: number,
  limits: RunLimits,
): PlanEffect[] {
  const { target, answer, reason, askedAtMs } = dispatch;
  const sorted = sortReports(step, dispatch);
  const told = sorted.odd.map((text) => warn(step, text));
  if (sorted.counts !== undefined) {
    return [...told, ...take(step, sorted.counts, target, known, limits)];
  }
  if (answer === "refused") {
    return [...told, ...block(step, `${target} refused it: ${reason ?? "no reason given"}`)];
  }
  if (answer === "ended") {
    return [...told, ...block(step, `the request to ${target} ended without an answer`)];
  }
  if (nowMs - askedAtMs >= limits.stepTimeoutMs) {
    const seconds = limits.stepTimeoutMs / 1_000;
    return [...told, ...block(step, `${target} has not reported within ${seconds} s`)];
  }
  return told;
}

/** What reports mean for a step that waits for none. */
function uncounted(step: Step, dispatch: Dispatch): PlanEffect[] {
  const { counts, odd } = sortReports(step, dispatch);
  const late =
    counts === undefined || step.status !== "blocked"
      ? []
      : [
          `${dispatch.target} reported ${counts.outcome} after the step was blocked: deaddrop plan set ${step.id} complete takes it`,
        ];
  return [...odd, ...late].map((text) => warn(step, text));
}

interface Sorted {
  /** The first report that is one. */
  readonly counts: Report | undefined;
  /** What is said of the others. */
  readonly odd: readonly string[];
}

/** The first report of the one who was asked counts; all others are named. Spec 7.5. */
function sortReports(step: Step, { target, reports }: Dispatch): Sorted {
  let counts: Report | undefined;
  const odd: string[] = [];
  for (const each of reports) {
    const fault = faultOf(each, step, target);
    if (fault !== undefined) odd.push(fault);
    else if (counts !== undefined) {
      odd.push(
        `${target} reported a second time (${short(each.eventId)}): the first report counts`,
      );
    } else if (each.read.ok) counts = each.read.report;
  }
  return { counts, odd };
}

function faultOf({ from, read, eventId }: WireReport, step: Step, target: string) {
  const which = short(eventId);
  if (from !== target) {
    return `${from} reported (${which}), but the step is ${target}'s: the report does not count`;
  }
  if (!read.ok) return `the report of ${target} (${which}) does not count: ${read.detail}`;
  const about = read.report.step_id;
  if (about === step.id) return undefined;
  return `${target} reported here about step ${about} (${which}): the report does not count`;
}

/** A report that counts. `by`: who made it; undefined: the runner. */
function take(
  step: Step,
  report: Report,
  by: string | undefined,
  { plan }: Known,
  { maxFixes }: RunLimits,
): PlanEffect[] {
  const kept: PlanEffect = { do: "keep_report", report: { attempt: step.attempt, by, report } };
  const unplanned = unplannedFiles(plan, report).map((text) => warn(step, text));
  const { outcome } = report;
  if (outcome === "success") return [kept, ...unplanned, mark(step, "complete")];
  const error = cut(report.error ?? report.details);
  const mayFix = outcome !== "blocked" && step.attempt <= maxFixes && !FIX.test(step.id);
  const next: PlanEffect[] = mayFix
    ? [
        warn(step, `it ended with ${outcome}: ${error}; a step that corrects it is added`),
        { do: "amend", step: step.id, error },
      ]
    : block(step, `it ended with ${outcome}: ${error}`);
  return [kept, ...unplanned, ...next];
}

function mark({ id }: Step, status: Step["status"]): PlanEffect {
  return { do: "mark", step: id, status };
}

function block(step: Step, why: string): PlanEffect[] {
  const hint = `deaddrop plan set ${step.id} pending tries it again`;
  const text = `step ${step.id} is blocked: ${why} (${hint})`;
  return [{ do: "tell", about: { step: step.id, level: "asks" }, text }, mark(step, "blocked")];
}

function warn({ id }: Step, text: string): PlanEffect {
  return { do: "tell", about: { step: id, level: "warns" }, text: `step ${id}: ${text}` };
}

function short(eventId: string): string {
  return eventId.slice(0, 8);
}

function cut(text: string): string {
  const letters = Array.from(sanitise(text));
  return letters.length > MAX_ERROR ? `${letters.slice(0, MAX_ERROR).join("")}…` : letters.join("");
}
