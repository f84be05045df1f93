import { quote } from "../../wire/quote.ts";
import type { Plan, Step } from "./plan.ts";
import type { Path, Problem } from "./problem.ts";
import { couldShareTime, needsOf, sharedFiles } from "./sharing.ts";

/** What is wrong with a plan by itself, and where. */
export interface PlanFault {
  readonly level: Problem["level"];
  readonly path: Path;
  readonly text: string;
}

/** Pairs of steps on the same files that are told of. */
const MAX_PAIRS_TOLD = 50;

/** Everything that the schema cannot say. Spec 7.3. */
export function planProblems(plan: Plan): PlanFault[] {
  const named = [...sameIds(plan), ...unknownDeps(plan)];
  // Only where each name means one step can be said what follows from what.
  if (named.length > 0) return named;
  const cycle = cycleIn(plan);
  if (cycle !== undefined) {
    const [first] = cycle;
    const circle = [...cycle, first].map((step) => step?.id ?? "").join(" → ");
    const path = ["steps", first?.index ?? 0, "deps"];
    return [{ level: "error", path, text: `these steps wait for each other: ${circle}` }];
  }
  return clashes(plan);
}

function sameIds({ steps }: Plan): PlanFault[] {
  const first = new Map<string, Step>();
  const faults: PlanFault[] = [];
  for (const step of steps) {
    const other = first.get(step.id);
    if (other === undefined) first.set(step.id, step);
    else {
      const text = `the id ${quote(step.id)} has another step already, number ${other.index + 1}`;
      faults.push({ level: "error", path: ["steps", step.index, "id"], text });
    }
  }
  return faults;
}

function unknownDeps({ steps }: Plan): PlanFault[] {
  const ids = new Set(steps.map(({ id }) => id));
  return steps.flatMap(({ id, index, deps }) =>
    deps.flatMap((dep, at): PlanFault[] => {
      if (ids.has(dep) && dep !== id) return [];
      const why = dep === id ? "waits for itself" : `waits for ${quote(dep)}, which is no step`;
      const text = `step ${quote(id)} ${why}`;
      return [{ level: "error", path: ["steps", index, "deps", at], text }];
    }),
  );
}

/** Steps that wait for each other in a circle, in its order. Without recursion: plans may be long. */
function cycleIn({ steps }: Plan): Step[] | undefined {
  const byId = new Map(steps.map((step) => [step.id, step]));
  const done = new Set<Step>();
  for (const start of steps) {
    const way: { readonly step: Step; next: number }[] = [{ step: start, next: 0 }];
    const onWay = new Set([start]);
    while (!done.has(start)) {
      const last = way.at(-1);
      if (last === undefined) break;
      const dep = last.step.deps[last.next];
      last.next += 1;
      if (dep === undefined) {
        done.add(last.step);
        onWay.delete(last.step);
        way.pop();
        continue;
      }
      const step = byId.get(dep);
      if (step === undefined || done.has(step)) continue;
      if (onWay.has(step)) {
        const circle = way.map((each) => each.step);
        return circle.slice(circle.indexOf(step));
      }
      way.push({ step, next: 0 });
      onWay.add(step);
    }
  }
  return undefined;
}

/** Steps that could share time, and say that they change the same files. */
function clashes(plan: Plan): PlanFault[] {
  const faults: PlanFault[] = [];
  const needs = needsOf(plan);
  for (const [at, later] of plan.steps.entries()) {
    if (later.files.length === 0) continue;
    for (const earlier of plan.steps.slice(0, at)) {
      if (!couldShareTime(earlier, later, needs)) continue;
      const [file] = sharedFiles(earlier, later);
      if (file === undefined) continue;
      const text = `step ${quote(later.id)} and step ${quote(earlier.id)} could share time but for ${quote(file)}, which both change: they run one after the other`;
      faults.push({ level: "warning", path: ["steps", later.index, "files"], text });
      if (faults.length === MAX_PAIRS_TOLD) return faults;
    }
  }
  return faults;
}
