import { patternCovers, patternsOverlap } from "../../protocol/claims/path-match.ts";
import type { Plan, Step } from "./plan.ts";

/** Of each step, by id: all steps that have to be complete before it, at any distance. */
export type Needs = ReadonlyMap<string, ReadonlySet<string>>;

export function needsOf({ steps }: Pick<Plan, "steps">): Needs {
  const byId = new Map(steps.map((step) => [step.id, step]));
  const needs = new Map<string, Set<string>>();
  for (const { id, deps } of steps) {
    const found = new Set<string>();
    const left = [...deps];
    for (let dep = left.pop(); dep !== undefined; dep = left.pop()) {
      if (found.has(dep)) continue;
      found.add(dep);
      left.push(...(byId.get(dep)?.deps ?? []));
    }
    needs.set(id, found);
  }
  return needs;
}

/**
 * Of each step, by id, the length of the longest chain of steps before it. Steps on a cycle, and those that
 * wait for them, have none.
 */
export function levelsOf({ steps }: Plan): ReadonlyMap<string, number> {
  const levels = new Map<string, number>();
  let left = steps;
  for (let level = 0; ; level += 1) {
    const next = left.filter(({ deps }) => deps.every((dep) => levels.has(dep)));
    if (next.length === 0) return levels;
    for (const { id } of next) levels.set(id, level);
    left = left.filter(({ id }) => !levels.has(id));
  }
}

/**
 * Whether two steps may be worked at together, files aside: neither waits for the other, and both are
 * marked `parallel` or they have different owners. Spec 7.3.
 */
export function couldShareTime(a: Step, b: Step, needs: Needs): boolean {
  if (needs.get(a.id)?.has(b.id) === true || needs.get(b.id)?.has(a.id) === true) return false;
  return (a.parallel && b.parallel) || a.owner !== b.owner;
}

/** Of the first step's files, those that the second one changes too. Spec 7.5. */
export function sharedFiles(a: Step, b: Step): string[] {
  return a.files.filter((file) => b.files.some((other) => patternsOverlap(file, other)));
}

/** Whether a file is one that these entries of `files` name. */
export function isPlanned(files: readonly string[], path: string): boolean {
  return files.some((file) => patternCovers(file, path));
}

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
  const beside = plan.steps.filter(({ status }) => status === "in_progress");
  const begun: Step[] = [];
  for (const step of readySteps(plan)) {
    if (beside.length >= maxParallel) break;
    const fits = beside.every(
      (other) => couldShareTime(step, other, needs) && sharedFiles(step, other).length === 0,
    );
    if (!fits) continue;
    begun.push(step);
    beside.push(step);
  }
  return begun;
}
