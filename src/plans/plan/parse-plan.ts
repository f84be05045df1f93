import { isRecord } from "../../wire/json/json-value.ts";
import { quote } from "../../wire/quote.ts";
import { check } from "../../wire/schemas.ts";
import { closest } from "../../wire/suggest.ts";
import type { Plan, Step } from "./plan.ts";
import { errorAt, isError, type Fault, type Path, type Problem } from "./problem.ts";
import { planFaults } from "./rules.ts";
import { readSource, type PlanSource } from "./source.ts";

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
  const { plan, faults } = readPlan(source.data);
  const problems = [...source.warnings, ...locate(source, faults)];
  if (plan === undefined || problems.some(isError)) return { ok: false, problems };
  return { ok: true, plan, source, warnings: problems };
}

/** The same with their places in the document. */
export function locate(source: PlanSource, faults: readonly Fault[]): Problem[] {
  return faults.map(({ level, path, text, isOfKey }) => {
    const { line, column } = source.placeOf(path, isOfKey === true ? "key" : "value") ?? {};
    return { level, line, column, text };
  });
}

function readPlan(data: unknown): { plan: Plan | undefined; faults: Fault[] } {
  const malformed = illFormedIn(data, []);
  if (malformed !== undefined) {
    const fault = errorAt(malformed, "the text has half a letter (a lone surrogate)");
    return { plan: undefined, faults: [fault] };
  }
  const unknown = unknownFields(data);
  const checked = check("agent-plan", data);
  if (!checked.ok) {
    const fault = errorAt(pathOf(checked.path, data), checked.detail);
    return { plan: undefined, faults: [...unknown, fault] };
  }
  const plan = planOf(data as RawPlan);
  return { plan, faults: [...unknown, ...planFaults(plan)] };
}

interface RawPlan {
  readonly plan_id?: string;
  readonly task?: string;
  readonly coordinators?: readonly string[];
  readonly steps: readonly RawStep[];
}

type RawStep = Pick<Step, "id" | "description" | "owner"> &
  Partial<Omit<Step, "index" | "criteria" | "riskNotes">> & {
    readonly criteria?: string | readonly string[];
    readonly risk_notes?: string;
  };

function planOf({ plan_id: id, task, coordinators = [], steps }: RawPlan): Plan {
  return { id, task, coordinators, steps: steps.map(stepOf) };
}

function stepOf(raw: RawStep, index: number): Step {
  const { id, description, owner, status = "pending", parallel = false, attempt = 1 } = raw;
  const { deps = [], criteria = [], commands = [], files = [], skill = USUAL_SKILL } = raw;
  return {
    ...{ index, id, description, owner, status, deps, parallel, commands, files, skill, attempt },
    criteria: typeof criteria === "string" ? [criteria] : criteria,
    riskNotes: raw.risk_notes,
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
function unknownFields(data: unknown): Fault[] {
  if (!isRecord(data)) return [];
  const steps: readonly unknown[] = Array.isArray(data["steps"]) ? data["steps"] : [];
  return [
    ...unknownKeys(data, [], "a plan", PLAN_FIELDS),
    ...steps.flatMap((step, index) =>
      isRecord(step) ? unknownKeys(step, ["steps", index], "a step", STEP_FIELDS) : [],
    ),
  ];
}

function unknownKeys(value: object, path: Path, owner: string, fields: Fields): Fault[] {
  const known = Object.keys(fields);
  return Object.keys(value)
    .filter((key) => !known.includes(key))
    .map((key) => {
      const meant = meantField(key, fields);
      const advice =
        meant === undefined ? `its fields are ${known.join(", ")}` : `did you mean ${meant}?`;
      const text = `${quote(key)} is not a field of ${owner}; ${advice}`;
      return { ...errorAt([...path, key], text), isOfKey: true };
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
