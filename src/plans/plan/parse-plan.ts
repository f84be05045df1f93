import { quote } from "../../wire/quote.ts";
import { check } from "../../wire/schemas.ts";
import type { Plan, Status, Step } from "./plan.ts";
import { isError, type Path, type Problem } from "./problem.ts";
import { planProblems } from "./rules.ts";
import type { PlanSource } from "./plan-source.ts";
import { readSource } from "./source.ts";

/** A plan with the document that it is written in. */
export interface PlanDocument {
  readonly plan: Plan;
  readonly source: PlanSource;
  readonly warnings: readonly Problem[];
}

export type PlanRead =
  | ({ readonly ok: true } & PlanDocument)
  /** All that was found, warnings too; at least one is an error. */
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** What a step is done with, unless it says another skill. */
const USUAL_SKILL = "execute";
const PLAN_FIELDS = ["plan_id", "task", "coordinators", "steps"];
const STEP_FIELDS = [
  ...["id", "description", "owner", "status", "deps", "parallel", "criteria", "commands"],
  ...["files", "risk_notes", "skill", "attempt"],
];

/** Reads and judges a plan. `name`: of its file, which says whether it is JSON. Spec 7.3. */
export function parsePlan(bytes: Uint8Array, name: string): PlanRead {
  const read = readSource(bytes, name);
  if (!read.ok) return read;
  const { source } = read;
  const odd = illFormedIn(source.data, []);
  if (odd !== undefined) {
    const fault = problemAt(source, "error", odd, "the text has half a letter (a lone surrogate)");
    return { ok: false, problems: [...source.warnings, fault] };
  }
  const checked = check("agent-plan", source.data);
  if (!checked.ok) {
    const fault = problemAt(source, "error", pathOf(checked.path, source.data), checked.detail);
    return { ok: false, problems: [...source.warnings, fault] };
  }
  const plan = planOf(source.data as RawPlan);
  const problems = [
    ...source.warnings,
    ...unknownFields(source),
    ...planProblems(plan).map(({ level, path, text }) => problemAt(source, level, path, text)),
  ];
  if (problems.some(isError)) return { ok: false, problems };
  return { ok: true, plan, source, warnings: problems };
}

export function problemAt(
  source: PlanSource,
  level: Problem["level"],
  path: Path,
  text: string,
): Problem {
  const place = source.placeOf(path);
  return { level, line: place?.line, column: place?.column, text };
}

interface RawPlan {
  readonly plan_id?: string;
  readonly task?: string;
  readonly coordinators?: readonly string[];
  readonly steps: readonly RawStep[];
}

interface RawStep {
  readonly id: string;
  readonly description: string;
  readonly owner: string;
  readonly status?: Status;
  readonly deps?: readonly string[];
  readonly parallel?: boolean;
  readonly criteria?: string | readonly string[];
  readonly commands?: readonly string[];
  readonly files?: readonly string[];
  readonly risk_notes?: string;
  readonly skill?: string;
  readonly attempt?: number;
}

function planOf({ plan_id: id, task, coordinators = [], steps }: RawPlan): Plan {
  return { id, task, coordinators, steps: steps.map(stepOf) };
}

function stepOf(raw: RawStep, index: number): Step {
  const { criteria = [] } = raw;
  return {
    index,
    id: raw.id,
    description: raw.description,
    owner: raw.owner,
    status: raw.status ?? "pending",
    deps: raw.deps ?? [],
    parallel: raw.parallel ?? false,
    criteria: typeof criteria === "string" ? [criteria] : criteria,
    commands: raw.commands ?? [],
    files: raw.files ?? [],
    riskNotes: raw.risk_notes,
    skill: raw.skill ?? USUAL_SKILL,
    attempt: raw.attempt ?? 1,
  };
}

/** Where a text is that no message can hold. The depth is bounded by the readers. */
function illFormedIn(value: unknown, at: Path): Path | undefined {
  if (typeof value === "string") return /\p{Surrogate}/u.test(value) ? at : undefined;
  if (typeof value !== "object" || value === null) return undefined;
  for (const [key, member] of Object.entries(value)) {
    const found = illFormedIn(member, [...at, Array.isArray(value) ? Number(key) : key]);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** A JSON pointer as keys and places; what it goes through says which of them it is. */
function pathOf(pointer: string, data: unknown): Path {
  let value = data;
  return pointer
    .split("/")
    .slice(1)
    .map((raw) => {
      const step = raw.replaceAll("~1", "/").replaceAll("~0", "~");
      const key = Array.isArray(value) ? Number(step) : step;
      value = (value as Record<string | number, unknown>)[key];
      return key;
    });
}

function unknownFields(source: PlanSource): Problem[] {
  const data = source.data as { readonly steps: readonly object[] };
  const odd = (value: object, known: readonly string[], at: Path): Problem[] =>
    Object.keys(value)
      .filter((key) => !known.includes(key))
      .map((key) =>
        problemAt(source, "warning", [...at, key], `${quote(key)} is no field of a plan here`),
      );
  return [
    ...odd(data, PLAN_FIELDS, []),
    ...data.steps.flatMap((step, index) => odd(step, STEP_FIELDS, ["steps", index])),
  ];
}
