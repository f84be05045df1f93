import { quote } from "../../wire/quote.ts";
import { check } from "../../wire/schemas.ts";
import { closest } from "../../wire/suggest.ts";
import type { Plan, Status, Step } from "./plan.ts";
import { isError, type Path, type Problem } from "./problem.ts";
import { planProblems } from "./rules.ts";
import type { PlanSource } from "./plan-source.ts";
import { readSource } from "./source.ts";
import { isRecord } from "../../wire/json/json-value.ts";

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
/** The fields of a mapping, each with its names in other tools. */
type Fields = Readonly<Record<string, readonly string[]>>;
const PLAN_FIELDS: Fields = {
  plan_id: ["id", "plan", "name"],
  task: ["title", "description", "goal", "objective", "summary"],
  coordinators: ["coordinator"],
  steps: ["tasks", "stages", "jobs"],
};
const STEP_FIELDS: Fields = {
  id: ["step_id", "key"],
  description: ["title", "name", "task", "summary", "text", "what"],
  owner: ["assignee", "assigned_to", "agent", "role", "who"],
  status: ["state"],
  deps: [
    ...["depends_on", "depends", "needs", "dependencies", "dependency", "requires", "after"],
    ...["blocked_by", "waits_for", "prerequisites"],
  ],
  parallel: ["concurrent"],
  criteria: ["acceptance", "acceptance_criteria", "done_when", "definition_of_done"],
  commands: ["command", "run", "cmd"],
  files: ["paths", "outputs"],
  risk_notes: ["risk", "notes"],
  skill: [],
  attempt: ["attempts", "try"],
};

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
  const unknown = unknownFields(source);
  const checked = check("agent-plan", source.data);
  if (!checked.ok) {
    const fault = problemAt(source, "error", pathOf(checked.path, source.data), checked.detail);
    return { ok: false, problems: [...source.warnings, ...unknown, fault] };
  }
  const plan = planOf(source.data as RawPlan);
  const problems = [
    ...source.warnings,
    ...unknown,
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

/** Errors for unknown fields: an ignored `depends_on` would start every step at once. Spec 7.3. */
function unknownFields(source: PlanSource): Problem[] {
  if (!isRecord(source.data)) return [];
  const { steps } = source.data;
  return [
    ...unknownKeys(source, source.data, [], "a plan", PLAN_FIELDS),
    ...(Array.isArray(steps) ? steps : []).flatMap((step: unknown, index) =>
      isRecord(step) ? unknownKeys(source, step, ["steps", index], "a step", STEP_FIELDS) : [],
    ),
  ];
}

function unknownKeys(
  source: PlanSource,
  value: object,
  path: Path,
  owner: string,
  fields: Fields,
): Problem[] {
  const known = Object.keys(fields);
  return Object.keys(value)
    .filter((key) => !known.includes(key))
    .map((key) => {
      const meant = meantField(key, fields);
      const advice =
        meant === undefined ? `its fields are ${known.join(", ")}` : `did you mean ${meant}?`;
      const place = source.placeOf([...path, key], "key");
      const text = `${quote(key)} is not a field of ${owner}; ${advice}`;
      return { level: "error", line: place?.line, column: place?.column, text };
    });
}

/** The field with that name in other tools, else the one with the nearest spelling. */
function meantField(key: string, fields: Fields): string | undefined {
  const normalize = (name: string): string => name.toLowerCase().replace(/[\s_-]/gu, "");
  const word = normalize(key);
  const [synonym] =
    Object.entries(fields).find(([field, others]) =>
      [field, ...others].some((name) => normalize(name) === word),
    ) ?? [];
  return synonym ?? closest(key, Object.keys(fields));
}
