import { join } from "node:path";
import { parseObject } from "../../wire/json/json.ts";
import { readWhole, type Disk } from "../../storage/disk/disk.ts";
import type { Plan } from "../plan/plan.ts";
import { openDeps } from "../plan/ready.ts";
import type { PlanPlaces } from "./plan-places.ts";
import { lastReports } from "./reports-folder.ts";

/** One phase of the work, and what it still lacks. Spec 7.2. */
export interface Phase {
  readonly phase: "intake" | "plan" | "execute" | "verify" | "report";
  readonly done: boolean;
  readonly missing: readonly string[];
}

const MAX_ARTEFACT_BYTES = 4 * 1_048_576;

/** How far a plan is, by what is in its folder. */
export function phasesOf(disk: Disk, places: PlanPlaces, plan: Plan): Phase[] {
  const { folder } = places;
  const reported = new Set(lastReports(disk, places, plan).map(({ report }) => report.step_id));
  const open = plan.steps.flatMap(({ id, status }) => {
    if (status !== "complete") return [`step ${id} is ${status}`];
    return reported.has(id) ? [] : [`step ${id} has no report`];
  });
  return [
    phase("intake", isThere(disk, join(folder, "intake.md")) ? [] : ["intake.md"]),
    phase("plan", plan.id === undefined ? ["plan_id in the plan"] : []),
    phase("execute", open),
    phase("verify", verifyMissing(disk, join(folder, "verify.json"))),
    phase("report", isThere(disk, join(folder, "report.md")) ? [] : ["report.md"]),
  ];
}

/** What a step waits for, in words; undefined: nothing. */
export function waitsFor(plan: Plan, id: string): string | undefined {
  const step = plan.steps.find((each) => each.id === id);
  if (step === undefined || step.status !== "pending") return undefined;
  const open = openDeps(plan, step).map((dep) => dep.id);
  return open.length === 0 ? undefined : open.join(", ");
}

function phase(name: Phase["phase"], missing: readonly string[]): Phase {
  return { phase: name, done: missing.length === 0, missing };
}

function isThere(disk: Disk, path: string): boolean {
  return (disk.stat(path)?.size ?? 0) > 0;
}

function verifyMissing(disk: Disk, path: string): string[] {
  const bytes = readWhole(disk, path, MAX_ARTEFACT_BYTES);
  if (bytes === undefined) return ["verify.json"];
  const parsed = parseObject(bytes);
  if (!parsed.ok) return [`verify.json is no JSON: ${parsed.detail}`];
  return parsed.value["ok"] === true ? [] : ["verify.json says that a check does not hold"];
}
