import { quote } from "../../wire/quote.ts";
import type { Plan, Step } from "./plan.ts";
import { errorAt, type Fault } from "./problem.ts";
import { couldShareTime, levelsOf, needsOf, sharedFiles } from "./schedule.ts";

/** Pairs of steps on the same files that are reported. */
const MAX_PAIRS = 50;

/** Everything that the schema cannot say. Spec 7.3. */
export function planFaults(plan: Plan): Fault[] {
  const faults = [...sameIds(plan), ...unknownDeps(plan)];
  // Only where each name means one step can be said what follows from what.
  if (faults.length > 0) return faults;
  const cycle = findCycle(plan);
  const [first] = cycle;
  if (first === undefined) return clashes(plan);
  const circle = [...cycle, first].map(({ id }) => id).join(" → ");
  return [errorAt(["steps", first.index, "deps"], `these steps wait for each other: ${circle}`)];
}

function sameIds({ steps }: Plan): Fault[] {
  const first = new Map<string, Step>();
  return steps.flatMap((step) => {
    const other = first.get(step.id);
    if (other === undefined) {
      first.set(step.id, step);
      return [];
    }
    const text = `the id ${quote(step.id)} has another step already, number ${other.index + 1}`;
    return [errorAt(["steps", step.index, "id"], text)];
  });
}

function unknownDeps({ steps }: Plan): Fault[] {
  const ids = new Set(steps.map(({ id }) => id));
  return steps.flatMap(({ id, index, deps }) =>
    deps.flatMap((dep, at) => {
      if (ids.has(dep) && dep !== id) return [];
      const why = dep === id ? "waits for itself" : `waits for ${quote(dep)}, which is no step`;
      return [errorAt(["steps", index, "deps", at], `step ${quote(id)} ${why}`)];
    }),
  );
}

/** Steps that wait for each other in a circle, in its order; none without one. */
function findCycle(plan: Plan): Step[] {
  const levels = levelsOf(plan);
  // Each of these waits for another one of them, so whoever follows them comes around.
  const stuck = new Map(
    plan.steps.filter(({ id }) => !levels.has(id)).map((step) => [step.id, step]),
  );
  const path: Step[] = [];
  let [step] = stuck.values();
  while (step !== undefined && !path.includes(step)) {
    path.push(step);
    const next = step.deps.find((dep) => stuck.has(dep)) ?? "";
    step = stuck.get(next);
  }
  return step === undefined ? [] : path.slice(path.indexOf(step));
}

/** Steps that could share time, and say that they change the same files. */
function clashes(plan: Plan): Fault[] {
  const faults: Fault[] = [];
  const needs = needsOf(plan);
  for (const [at, later] of plan.steps.entries()) {
    if (later.files.length === 0) continue;
    for (const earlier of plan.steps.slice(0, at)) {
      if (!couldShareTime(earlier, later, needs)) continue;
      const [file] = sharedFiles(earlier, later);
      if (file === undefined) continue;
      const text = `step ${quote(later.id)} and step ${quote(earlier.id)} could share time but for ${quote(file)}, which both change: they run one after the other`;
      faults.push({ level: "warning", path: ["steps", later.index, "files"], text });
      if (faults.length === MAX_PAIRS) return faults;
    }
  }
  return faults;
}
