import { check } from "../../wire/schemas.ts";
import { parseObject, toPlain } from "../../wire/json/json.ts";
import type { Outcome } from "../../plans/report/report.ts";

/** A task of the benchmark, with the shape that an answer has to have. Spec 7.6. */
export interface BenchTask {
  readonly name: string;
  readonly skill: string;
  readonly task: string;
  readonly facts: string;
  readonly expect: Expected;
}

export type Expected =
  | { readonly kind: "plan"; readonly plan: ExpectedPlan }
  | { readonly kind: "report"; readonly report: ExpectedReport };

/** Field names as in schemas/agent-benchmark.json. */
export interface ExpectedPlan {
  readonly min_steps: number;
  readonly max_steps: number;
  readonly owners?: readonly string[];
  readonly every_step?: readonly ("criteria" | "commands" | "files" | "risk_notes")[];
  readonly files?: readonly string[];
  readonly before?: readonly (readonly [string, string])[];
  readonly together?: readonly (readonly [string, string])[];
}

export interface ExpectedReport {
  readonly step_id: string;
  readonly outcome: readonly Outcome[];
  readonly artifacts?: readonly ("file" | "test" | "log" | "screenshot")[];
  readonly tests_passed?: boolean;
}

export type TaskRead =
  { readonly ok: true; readonly task: BenchTask } | { readonly ok: false; readonly detail: string };

interface RawTask extends Omit<BenchTask, "expect" | "facts"> {
  readonly facts?: string;
  readonly expect: { readonly plan?: ExpectedPlan; readonly report?: ExpectedReport };
}

/** Reads a task from JSON. Hostile bytes are a value. Spec 7.6. */
export function parseTask(bytes: Uint8Array): TaskRead {
  const parsed = parseObject(bytes);
  if (!parsed.ok) return parsed;
  const data = toPlain(parsed.value);
  const checked = check("agent-benchmark", data);
  if (!checked.ok) return checked;
  const { name, skill, task, facts = "", expect } = data as RawTask;
  const { plan, report } = expect;
  const expected: Expected | undefined =
    plan !== undefined
      ? { kind: "plan", plan }
      : report !== undefined
        ? { kind: "report", report }
        : undefined;
  if (expected === undefined) return { ok: false, detail: "expect has neither plan nor report" };
  return { ok: true, task: { name, skill, task, facts, expect: expected } };
}
