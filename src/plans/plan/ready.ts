import type { Plan, Step } from "./plan.ts";
import { couldShareTime, needsOf, sharedFiles } from "./sharing.ts";

/** Steps that may be begun: pending, and all that they wait for is complete. In the plan's order. */
export function readySteps(plan: Plan): Step[] {
  return plan.steps.filter(
    (step) => step.status === "pending" && openDeps(plan, step).length === 0,
  );
}

/** What a step waits for and is not complete. */
export function openDeps({ steps }: Plan, { deps }: Step): Step[] {
  return steps.filter(({ id, status }) => status !== "complete" && deps.includes(id));
}

/**
 * The ready steps that may be begun now beside those that are in progress, at most `maxParallel` at
 * once in all. Spec 7.3, 7.5.
 */
export function startable(plan: Plan, maxParallel: number): Step[] {
  const needs = needsOf(plan);
  const running = plan.steps.filter(({ status }) => status === "in_progress");
  const begun: Step[] = [];
  for (const step of readySteps(plan)) {
    if (running.length + begun.length >= maxParallel) break;
    const beside = [...running, ...begun];
    const fits = beside.every(
      (other) => couldShareTime(step, other, needs) && sharedFiles(step, other).length === 0,
    );
    if (fits) begun.push(step);
  }
  return begun;
}
