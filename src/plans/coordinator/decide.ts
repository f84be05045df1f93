import { sanitise } from "../../wire/quote.ts";
import { agentOf, type Owners } from "../plan/owners.ts";
import type { Plan, Status, Step } from "../plan/plan.ts";
import { startable } from "../plan/schedule.ts";
import { unplannedFiles } from "../report/checks.ts";
import type { Report, ReportRead, StepReport } from "../report/report.ts";

/** What the operator has set for a run. */
export interface RunLimits {
  readonly maxParallel: number;
  /** From the request to the report. */
  readonly stepTimeoutMs: number;
  /** Steps that correct the same one. */
  readonly maxFixes: number;
}

/** What the wire says of the request for one attempt at a step. */
export interface Dispatch {
  /** Whom it asks. */
  readonly target: string;
  readonly answer: "none" | "accepted" | "refused" | "ended";
  /** Why it was refused or ended, in the words of who did it. */
  readonly reason: string | null;
  /** When our daemon took it in. */
  readonly askedAtMs: number;
  /** What came in its thread, the oldest first. */
  readonly reports: readonly WireReport[];
}

/** A message in the thread of a request that says to be its report. */
export interface WireReport {
  readonly eventId: string;
  readonly from: string;
  readonly read: ReportRead;
}

/** What this machine knows of a step that the runner does itself. */
export interface LocalWork {
  /** It was begun, in this process or in one before it. */
  readonly isBegun: boolean;
  readonly isRunning: boolean;
  readonly report: Report | undefined;
}

export interface Known {
  readonly plan: Plan;
  readonly owners: Owners;
  /** All that is known of the attempts that the plan is at, by id of the step. */
  readonly facts: {
    readonly dispatches: ReadonlyMap<string, Dispatch>;
    readonly local: ReadonlyMap<string, LocalWork>;
  };
}

/** What the coordinator has to do; each may be carried out twice without harm. */
export type PlanEffect =
  /** Note it in the plan file. */
  | { readonly do: "mark"; readonly step: string; readonly status: Status }
  /** Send the request for the attempt that the plan is at, once; then the step is in progress. */
  | { readonly do: "send"; readonly step: string; readonly to: string }
  /** Begin to work at it here, once; then the step is in progress. */
  | { readonly do: "run"; readonly step: string }
  | { readonly do: "keep_report"; readonly report: StepReport }
  /** Add the step that corrects what went wrong, and try again after it. */
  | { readonly do: "amend"; readonly step: string; readonly error: string }
  | { readonly do: "tell"; readonly about: Telling; readonly text: string }
  | { readonly do: "end"; readonly outcome: "complete" | "stuck" };

/** `asks`: the operator has to do something. `warns`: something is odd, and the run goes on. */
export interface Telling {
  readonly step: string;
  readonly level: "asks" | "warns";
}

interface Scene extends Known {
  readonly nowMs: number;
  readonly limits: RunLimits;
}

/** Characters of an error in a message to the operator. */
const MAX_ERROR = 1_000;
/** The id of a step that corrects another one. */
const FIX = /-fix-\d+$/u;

/**
 * What to do now. The plan says what is wanted, the wire what has happened: a step whose request is on
 * the wire is never sent again, whatever the file says. Spec 7.5.
 */
export function decidePlan(known: Known, nowMs: number, limits: RunLimits): PlanEffect[] {
  const { plan, facts } = known;
  const scene = { ...known, nowMs, limits };
  const effects = plan.steps.flatMap((step): PlanEffect[] => {
    const dispatch = facts.dispatches.get(step.id);
    if (step.status === "in_progress") return advance(step, dispatch, scene);
    if (dispatch === undefined) return [];
    return step.status === "pending" ? [mark(step, "in_progress")] : lateReports(step, dispatch);
  });
  if (effects.some((effect) => effect.do === "mark" || effect.do === "amend")) return effects;
  const started = startable(plan, limits.maxParallel);
  effects.push(...started.flatMap((step) => advance(step, undefined, scene)));
  if (started.length === 0 && plan.steps.every(({ status }) => status !== "in_progress")) {
    const isComplete = plan.steps.every(({ status }) => status === "complete");
    effects.push({ do: "end", outcome: isComplete ? "complete" : "stuck" });
  }
  return effects;
}

/** What a step needs that is in progress, or may be begun now. */
function advance(step: Step, dispatch: Dispatch | undefined, scene: Scene): PlanEffect[] {
  if (dispatch !== undefined) return advanceSent(step, dispatch, scene);
  const agent = agentOf(step.owner, scene.owners);
  if (agent === undefined) {
    return block(step, `its owner ${step.owner} is not on this wire: name another one in the plan`);
  }
  if (agent !== "self") return [{ do: "send", step: step.id, to: agent }];
  const local = scene.facts.local.get(step.id);
  if (local?.report !== undefined) return takeReport(step, local.report, undefined, scene);
  if (local?.isRunning === true) return [];
  if (local?.isBegun !== true) return [{ do: "run", step: step.id }];
  return block(
    step,
    "the run ended after it was begun and before its report: look at what was done",
  );
}

/** A step that was sent: its report, its refusal, or its time. */
function advanceSent(step: Step, dispatch: Dispatch, scene: Scene): PlanEffect[] {
  const { target, answer, reason, askedAtMs } = dispatch;
  const { stepTimeoutMs } = scene.limits;
  const { counts, odd } = sortReports(step, dispatch);
  const told = odd.map((text) => warn(step, text));
  if (counts !== undefined) return [...told, ...takeReport(step, counts, target, scene)];
  if (answer === "refused") {
    return [...told, ...block(step, `${target} refused it: ${reason ?? "no reason given"}`)];
  }
  if (answer === "ended") {
    return [...told, ...block(step, `the request to ${target} ended without an answer`)];
  }
  if (scene.nowMs - askedAtMs < stepTimeoutMs) return told;
  const seconds = stepTimeoutMs / 1_000;
  return [...told, ...block(step, `${target} has not reported within ${seconds} s`)];
}

/** What reports mean for a step that waits for none. */
function lateReports(step: Step, dispatch: Dispatch): PlanEffect[] {
  const { counts, odd } = sortReports(step, dispatch);
  const warnings = odd.map((text) => warn(step, text));
  if (counts === undefined || step.status !== "blocked") return warnings;
  const late = `${dispatch.target} reported ${counts.outcome} after the step was blocked: deaddrop plan set ${step.id} complete takes it`;
  return [...warnings, warn(step, late)];
}

/** The first report of the one who was asked counts; all others are named in `odd`. Spec 7.5. */
function sortReports(
  step: Step,
  { target, reports }: Dispatch,
): { readonly counts: Report | undefined; readonly odd: readonly string[] } {
  let counts: Report | undefined;
  const odd: string[] = [];
  for (const { from, read, eventId } of reports) {
    const which = eventId.slice(0, 8);
    if (from !== target) {
      odd.push(
        `${from} reported (${which}), but the step is ${target}'s: the report does not count`,
      );
    } else if (!read.ok) {
      odd.push(`the report of ${target} (${which}) does not count: ${read.detail}`);
    } else if (read.report.step_id !== step.id) {
      const other = read.report.step_id;
      odd.push(`${target} reported here about step ${other} (${which}): the report does not count`);
    } else if (counts !== undefined) {
      odd.push(`${target} reported a second time (${which}): the first report counts`);
    } else counts = read.report;
  }
  return { counts, odd };
}

/** A report that counts. `by`: who made it; undefined: the runner. */
function takeReport(
  step: Step,
  report: Report,
  by: string | undefined,
  { plan, limits }: Scene,
): PlanEffect[] {
  const { outcome } = report;
  const taken = [
    { do: "keep_report" as const, report: { attempt: step.attempt, by, report } },
    ...unplannedFiles(plan, report).map((text) => warn(step, text)),
  ];
  if (outcome === "success") return [...taken, mark(step, "complete")];
  const error = cut(report.error ?? report.details);
  const ending = `it ended with ${outcome}: ${error}`;
  if (outcome === "blocked" || step.attempt > limits.maxFixes || FIX.test(step.id)) {
    return [...taken, ...block(step, ending)];
  }
  return [
    ...taken,
    warn(step, `${ending}; a step that corrects it is added`),
    { do: "amend", step: step.id, error },
  ];
}

function mark({ id }: Step, status: Status): PlanEffect {
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

function cut(text: string): string {
  const letters = Array.from(sanitise(text));
  return letters.length > MAX_ERROR ? `${letters.slice(0, MAX_ERROR).join("")}…` : letters.join("");
}
