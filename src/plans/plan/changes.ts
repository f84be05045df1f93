import { quote } from "../../wire/quote.ts";
import { stepNamed, type Plan, type Status, type Step } from "./plan.ts";
import { openDeps } from "./schedule.ts";
import type { Edit } from "./source.ts";

/** What a change makes of the document, or why it is refused. */
export type Change =
  | { readonly ok: true; readonly edits: readonly Edit[] }
  | { readonly ok: false; readonly reason: string };

/** A step that is added. */
export interface NewStep {
  readonly id: string;
  readonly description: string;
  readonly owner: string;
  readonly deps?: readonly string[] | undefined;
  readonly files?: readonly string[] | undefined;
  readonly commands?: readonly string[] | undefined;
  readonly criteria?: readonly string[] | undefined;
  readonly parallel?: boolean | undefined;
}

/**
 * Another status for a step. It is not begun while what it waits for is open. One that was begun and
 * becomes pending again gets another attempt: the request for the last one was sent. Spec 7.3.
 */
export function setStatus(plan: Plan, id: string, status: Status): Change {
  const step = stepNamed(plan, id);
  if (step === undefined) return { ok: false, reason: noStep(plan, id) };
  const begins = status === "in_progress" || status === "complete";
  const open = begins ? openDeps(plan, step) : [];
  if (open.length > 0) {
    const deps = open.map((dep) => `${quote(dep.id)} (${dep.status})`).join(", ");
    return { ok: false, reason: `step ${quote(id)} waits for ${deps}` };
  }
  const again = status === "pending" && step.status !== "pending";
  const attempt = { path: ["steps", step.index, "attempt"], value: step.attempt + 1 };
  return { ok: true, edits: [...markEdits(step, status), ...(again ? [attempt] : [])] };
}

/** Only the status, whatever the plan says of what it waits for: what has happened has happened. */
export function markEdits({ index }: Step, status: Status): Edit[] {
  return [{ path: ["steps", index, "status"], value: status }];
}

/** Appends a step; what it makes of the plan is judged when it is written. */
export function addStep(plan: Plan, step: NewStep): Change {
  if (stepNamed(plan, step.id) !== undefined) {
    return { ok: false, reason: `there is a step ${quote(step.id)} already` };
  }
  const { id, description, owner } = step;
  const value: Record<string, unknown> = { id, description, owner };
  for (const name of ["deps", "parallel", "criteria", "commands", "files"] as const) {
    const given = step[name];
    // An empty list and "not parallel" are what a step has anyway.
    if (given === true || (Array.isArray(given) && given.length > 0)) value[name] = given;
  }
  return { ok: true, edits: [{ path: ["steps", plan.steps.length], value }] };
}

/**
 * A step that corrects what went wrong, by the same owner on the same files; the failed one is tried
 * again after it. All in one change, so a crash leaves the whole of it or nothing. Spec 7.5.
 */
export function fixStep(plan: Plan, failed: Step, error: string): Change {
  const id = `${failed.id}-fix-${failed.attempt}`;
  const added = addStep(plan, {
    id,
    description: `Correct what went wrong in step ${failed.id}: ${error}`,
    owner: failed.owner,
    deps: failed.deps,
    files: failed.files,
  });
  if (!added.ok) return added;
  const at = ["steps", failed.index] as const;
  return {
    ok: true,
    edits: [
      ...(failed.deps.length === 0
        ? [{ path: [...at, "deps"], value: [id] }]
        : [{ path: [...at, "deps", failed.deps.length], value: id }]),
      { path: [...at, "status"], value: "pending" },
      { path: [...at, "attempt"], value: failed.attempt + 1 },
      ...added.edits,
    ],
  };
}

export function noStep({ steps }: Plan, id: string): string {
  const ids = steps.slice(0, 20).map((step) => step.id);
  return `there is no step ${quote(id)}; there are ${ids.join(", ")}${steps.length > 20 ? ", …" : ""}`;
}
