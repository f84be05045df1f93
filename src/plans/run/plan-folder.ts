import { basename, dirname, join, relative, resolve } from "node:path";
import { DeaddropError } from "../../api/errors.ts";
import { readWhole, type Disk } from "../../storage/disk/disk.ts";
import { sha256Hex } from "../../wire/canonical.ts";
import type { JsonObject } from "../../wire/json/json-value.ts";
import { parseObject, toPlain } from "../../wire/json/json.ts";
import type { LocalWork } from "../coordinator/decide.ts";
import { parseRoles } from "../plan/owners.ts";
import type { Plan, Step } from "../plan/plan.ts";
import { readSource } from "../plan/source.ts";
import { checksOf, type Expectations } from "../report/checks.ts";
import { finalReport, markdownReport, type FinalReport } from "../report/final-report.ts";
import { readReport, type StepReport } from "../report/report.ts";

/** Where a plan and what belongs to it are. All paths are absolute. Spec 7.2. */
export interface PlanPlaces {
  readonly file: string;
  /** What runs produce: reports, logs, the final report. */
  readonly folder: string;
  /** Holds `agent/`; the plan's files are named from here. */
  readonly project: string;
}

const AGENT = "agent";
const MAX_POINTER_BYTES = 4_096;
const MAX_ROLES_BYTES = 64 * 1_024;
/** Far above a report with what we note beside it. */
const MAX_REPORT_FILE_BYTES = 256 * 1_024;
const MAX_VERIFY_BYTES = 4 * 1_048_576;
const ARTEFACT_FOLDER_MODE = 0o755;
const ARTEFACT_MODE = 0o644;
/** Letters of an id in the name of a file; a longer one is cut and told apart by its hash. */
const MAX_FILE_NAME = 100;

/**
 * A file in a folder with the name of its plan has that folder for itself; what belongs to another one
 * is below the nearest `agent` folder above it, else below one beside it. `id`: of the plan.
 */
export function planPlaces(file: string, id: string): PlanPlaces {
  const folder = dirname(file);
  const above = agentAbove(folder);
  const project = above === undefined ? folder : dirname(above);
  if (basename(folder) === fileName(id)) return { file, folder, project };
  return { file, folder: newPlanFolder(project, id), project };
}

function agentAbove(folder: string): string | undefined {
  for (let at = folder; at !== dirname(at); at = dirname(at)) {
    if (basename(at) === AGENT) return at;
  }
  return undefined;
}

/** The folder of a plan that is made in a project. */
export function newPlanFolder(project: string, id: string): string {
  return join(project, AGENT, "artifacts", "plans", fileName(id));
}

/** Any text as one name of a file, each text another one. */
function fileName(text: string): string {
  // What has a meaning in a path is spelled out; a name that begins with a dot is hidden, or a folder.
  const plain = encodeURIComponent(text).replaceAll("*", "%2A").replace(/^\./u, "%2E");
  if (plain.length <= MAX_FILE_NAME) return plain;
  return `${plain.slice(0, MAX_FILE_NAME - 17)}-${sha256Hex(Buffer.from(text, "utf8")).slice(0, 16)}`;
}

/** A file of a plan's folder, whole or not at all. */
export function write(disk: Disk, path: string, text: string): void {
  disk.makeFolder(dirname(path), ARTEFACT_FOLDER_MODE);
  disk.replace(path, Buffer.from(text, "utf8"), ARTEFACT_MODE);
}

export function writeJson(disk: Disk, path: string, value: object): void {
  write(disk, path, `${JSON.stringify(value, null, 2)}\n`);
}

/** The object that a file holds; undefined when there is none, or it is damaged. */
export function readJson(disk: Disk, path: string, maxBytes: number): JsonObject | undefined {
  const bytes = readWhole(disk, path, maxBytes);
  const parsed = bytes === undefined ? undefined : parseObject(bytes);
  return parsed?.ok === true ? parsed.value : undefined;
}

function currentPlanFile(project: string): string {
  return join(project, AGENT, "artifacts", "current_plan.yaml");
}

/** From now on that plan is the one in use in its project. Spec 7.2. */
export function setCurrentPlan(disk: Disk, project: string, file: string): void {
  const pointer = currentPlanFile(project);
  const path = JSON.stringify(relative(dirname(pointer), file));
  write(
    disk,
    pointer,
    `# The plan in use; commands without a file mean this one.\nplan: ${path}\n`,
  );
}

/** The file of the plan in use, from a folder upward. Throws DeaddropError when there is none. */
export function currentPlan(disk: Disk, from: string): string {
  for (let at = from; ; at = dirname(at)) {
    const pointer = currentPlanFile(at);
    const bytes = readWhole(disk, pointer, MAX_POINTER_BYTES);
    if (bytes !== undefined) return readPointer(pointer, bytes);
    if (at === dirname(at)) break;
  }
  throw new DeaddropError("config", `no plan is in use in ${from} or above it`, {
    hint: "name its file, or make one: deaddrop plan init <task>",
  });
}

function readPointer(pointer: string, bytes: Uint8Array): string {
  const read = readSource(bytes, pointer);
  const plan = read.ok ? (read.source.data as { plan?: unknown } | null)?.plan : undefined;
  if (typeof plan === "string" && plan !== "") return resolve(dirname(pointer), plan);
  throw new DeaddropError("config", `${pointer} names no plan`, {
    hint: `write one line into it: plan: ${join("plans", "…", "plan.yaml")}`,
  });
}

/** Which agent has which role in a project; none without the file. Throws DeaddropError. Spec 7.5. */
export function readRoles(disk: Disk, { project }: PlanPlaces): ReadonlyMap<string, string> {
  const path = join(project, AGENT, "roles.json");
  const bytes = readWhole(disk, path, MAX_ROLES_BYTES);
  if (bytes === undefined) return new Map();
  const read = parseRoles(bytes);
  if (read.ok) return read.roles;
  throw new DeaddropError("config", `${path}: ${read.detail}`, {
    hint: 'it names an agent for each role: {"Backend": "bob"}',
  });
}

type Attempt = Pick<Step, "id" | "attempt">;

function reportFile({ folder }: PlanPlaces, { id, attempt }: Attempt): string {
  return join(folder, "reports", `${fileName(id)}-${attempt}.json`);
}

/** `begun` is there once that attempt was begun here; `log` is what the adapter has printed. */
function logFile({ folder }: PlanPlaces, { id, attempt }: Attempt, kind: "begun" | "log"): string {
  return join(folder, "logs", `${fileName(id)}-${attempt}.${kind}`);
}

/** Keeps a report; the first one of an attempt stays. False: there was one. Spec 7.4. */
export function keepReport(disk: Disk, places: PlanPlaces, kept: StepReport): boolean {
  const { by = null, report, attempt } = kept;
  const path = reportFile(places, { id: report.step_id, attempt });
  if (disk.stat(path) !== undefined) return false;
  writeJson(disk, path, { by, report });
  return true;
}

/** The report of one attempt; undefined when there is none, or the file holds no report. */
function keptReport(disk: Disk, places: PlanPlaces, step: Attempt): StepReport | undefined {
  const kept = readJson(disk, reportFile(places, step), MAX_REPORT_FILE_BYTES);
  if (kept === undefined) return undefined;
  const { by, report } = toPlain(kept) as { by?: unknown; report?: unknown };
  const read = readReport(report);
  if (!read.ok || read.report.step_id !== step.id) return undefined;
  const author = typeof by === "string" ? by : undefined;
  return { attempt: step.attempt, by: author, report: read.report };
}

/** The last report of each step, at the attempt that it is at or one before. */
function lastReports(disk: Disk, places: PlanPlaces, { steps }: Plan): StepReport[] {
  return steps.flatMap(({ id, attempt }) => {
    for (let at = attempt; at >= 1; at -= 1) {
      const report = keptReport(disk, places, { id, attempt: at });
      if (report !== undefined) return [report];
    }
    return [];
  });
}

/** What this machine has of a step that is worked at here. */
export function localWork(
  disk: Disk,
  places: PlanPlaces,
  step: Step,
  isRunning: boolean,
): LocalWork {
  return {
    isBegun: disk.stat(logFile(places, step, "begun")) !== undefined,
    isRunning,
    report: isRunning ? undefined : keptReport(disk, places, step)?.report,
  };
}

/** From now on that attempt was begun here: it is not begun again, whatever becomes of this process. */
export function noteBegun(disk: Disk, places: PlanPlaces, step: Step): void {
  write(disk, logFile(places, step, "begun"), "");
}

export function keepLog(disk: Disk, places: PlanPlaces, step: Step, log: string): void {
  write(disk, logFile(places, step, "log"), log);
}

/** Writes what a plan has come to: `verify.json`, `report.json` and `report.md`. Spec 7.2, 7.4. */
export function writeFinalReport(
  disk: Disk,
  places: PlanPlaces,
  plan: Plan,
  nowMs: number,
  expected: Expectations = {},
): FinalReport {
  const reports = lastReports(disk, places, plan);
  const checks = checksOf(plan, reports, expected);
  const final = finalReport(plan, reports, checks, nowMs);
  const { plan_id, made_at, ok } = final;
  writeJson(disk, join(places.folder, "verify.json"), { plan_id, made_at, ok, checks });
  writeJson(disk, join(places.folder, "report.json"), final);
  write(disk, join(places.folder, "report.md"), markdownReport(final));
  return final;
}

/** One phase of the work, and what it still lacks. Spec 7.2. */
export interface Phase {
  readonly phase: "intake" | "plan" | "execute" | "verify" | "report";
  readonly done: boolean;
  /** What it lacks, a text for each. */
  readonly missing: readonly string[];
}

/** How far a plan is, by what is in its folder. */
export function phasesOf(disk: Disk, places: PlanPlaces, plan: Plan): Phase[] {
  const reported = new Set(lastReports(disk, places, plan).map(({ report }) => report.step_id));
  const lacks = (name: string): string[] =>
    (disk.stat(join(places.folder, name))?.size ?? 0) > 0 ? [] : [name];
  const missing: Record<Phase["phase"], string[]> = {
    intake: lacks("intake.md"),
    plan: plan.id === undefined ? ["plan_id in the plan"] : [],
    execute: plan.steps.flatMap(({ id, status }) => {
      if (status !== "complete") return [`step ${id} is ${status}`];
      return reported.has(id) ? [] : [`step ${id} has no report`];
    }),
    verify: missingOfVerify(disk, join(places.folder, "verify.json")),
    report: lacks("report.md"),
  };
  return Object.entries(missing).map(([name, lacking]) => ({
    phase: name as Phase["phase"],
    done: lacking.length === 0,
    missing: lacking,
  }));
}

function missingOfVerify(disk: Disk, path: string): string[] {
  const bytes = readWhole(disk, path, MAX_VERIFY_BYTES);
  if (bytes === undefined) return ["verify.json"];
  const parsed = parseObject(bytes);
  if (!parsed.ok) return [`verify.json is no JSON: ${parsed.detail}`];
  return parsed.value["ok"] === true ? [] : ["verify.json says that a check does not hold"];
}
