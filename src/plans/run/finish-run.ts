import { join } from "node:path";
import type { Disk } from "../../storage/disk/disk.ts";
import type { Plan } from "../plan/plan.ts";
import { checksOf, type Expectations } from "../report/checks.ts";
import { finalReport, markdownReport, type FinalReport } from "../report/final-report.ts";
import type { PlanPlaces } from "./plan-places.ts";
import { lastReports, write } from "./reports-folder.ts";

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
  const { ok, made_at: at } = final;
  const verified = { plan_id: final.plan_id, made_at: at, ok, checks };
  write(disk, join(places.folder, "verify.json"), `${JSON.stringify(verified, null, 2)}\n`);
  write(disk, join(places.folder, "report.json"), `${JSON.stringify(final, null, 2)}\n`);
  write(disk, join(places.folder, "report.md"), markdownReport(final));
  return final;
}
