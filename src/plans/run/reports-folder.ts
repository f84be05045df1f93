import { dirname } from "node:path";
import type { LocalWork } from "../coordinator/facts.ts";
import type { Plan, Step } from "../plan/plan.ts";
import { readReport } from "../report/parse-report.ts";
import type { StepReport } from "../report/report.ts";
import { parseObject, toPlain } from "../../wire/json/json.ts";
import { readWhole, type Disk } from "../../storage/disk/disk.ts";
import { begunFile, logFile, reportFile, type PlanPlaces } from "./plan-places.ts";

/** Far above a report with what we note beside it. */
const MAX_REPORT_FILE_BYTES = 256 * 1_024;
const ARTEFACT_FOLDER_MODE = 0o755;
const ARTEFACT_MODE = 0o644;

/** Keeps a report; the first one of an attempt stays. False: there was one. Spec 7.4. */
export function keepReport(disk: Disk, places: PlanPlaces, kept: StepReport): boolean {
  const path = reportFile(places, kept.report.step_id, kept.attempt);
  if (disk.stat(path) !== undefined) return false;
  write(disk, path, `${JSON.stringify({ by: kept.by ?? null, report: kept.report }, null, 2)}\n`);
  return true;
}

/** The report of one attempt; undefined when there is none, or the file holds no report. */
function keptReport(
  disk: Disk,
  places: PlanPlaces,
  { id, attempt }: Pick<Step, "id" | "attempt">,
): StepReport | undefined {
  const bytes = readWhole(disk, reportFile(places, id, attempt), MAX_REPORT_FILE_BYTES);
  if (bytes === undefined) return undefined;
  const parsed = parseObject(bytes);
  if (!parsed.ok) return undefined;
  const { by, report } = toPlain(parsed.value) as { by?: unknown; report?: unknown };
  const read = readReport(report);
  if (!read.ok || read.report.step_id !== id) return undefined;
  return { attempt, by: typeof by === "string" ? by : undefined, report: read.report };
}

/** The last report of each step, at the attempt that it is at or one before. */
export function lastReports(disk: Disk, places: PlanPlaces, { steps }: Plan): StepReport[] {
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
    isBegun: disk.stat(begunFile(places, step.id, step.attempt)) !== undefined,
    isRunning,
    report: isRunning ? undefined : keptReport(disk, places, step)?.report,
  };
}

/** From now on that attempt was begun here: it is not begun again, whatever becomes of this process. */
export function noteBegun(disk: Disk, places: PlanPlaces, { id, attempt }: Step): void {
  write(disk, begunFile(places, id, attempt), "");
}

export function keepLog(disk: Disk, places: PlanPlaces, { id, attempt }: Step, log: string): void {
  write(disk, logFile(places, id, attempt), log);
}

/** A file of a plan's folder, whole or not at all. */
export function write(disk: Disk, path: string, text: string): void {
  disk.makeFolder(dirname(path), ARTEFACT_FOLDER_MODE);
  disk.replace(path, Buffer.from(text, "utf8"), ARTEFACT_MODE);
}
