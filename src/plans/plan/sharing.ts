import { patternCovers, patternsOverlap } from "../../protocol/claims/path-match.ts";
import type { Plan, Step } from "./plan.ts";

/** Of each step, by id: all steps that have to be complete before it, at any distance. */
export type Needs = ReadonlyMap<string, ReadonlySet<string>>;

export function needsOf({ steps }: Plan): Needs {
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
