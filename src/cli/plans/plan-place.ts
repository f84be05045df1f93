import { resolve } from "node:path";
import { DeaddropError } from "../../api/errors.ts";
import type { PlanDocument } from "../../plans/plan/parse-plan.ts";
import { currentPlan } from "../../plans/run/current-plan.ts";
import { validPlan } from "../../plans/run/plan-file.ts";
import { planPlaces, type PlanPlaces } from "../../plans/run/plan-places.ts";
import { sanitiseLines } from "../../framing/sanitise.ts";
import type { Disk } from "../../storage/disk/disk.ts";
import { nodeDisk } from "../../storage/disk/node-disk.ts";
import type { Cli, GlobalFlags } from "../context.ts";

export interface PlanFlags extends GlobalFlags {
  plan?: string;
}

/** The plan that a command is about. */
export interface PlanAt {
  readonly disk: Disk;
  readonly file: string;
}

/** The file that is named, else the plan in use. */
export function planAt(cli: Cli, named: string | undefined): PlanAt {
  const disk = nodeDisk();
  return { disk, file: named === undefined ? currentPlan(disk, cli.cwd) : resolve(cli.cwd, named) };
}

/** The same, read and valid, with where its things are. Throws DeaddropError. */
export function readAt(
  cli: Cli,
  named: string | undefined,
): PlanAt & { readonly document: PlanDocument; readonly places: PlanPlaces } {
  const at = planAt(cli, named);
  const document = validPlan(at.disk, at.file);
  return { ...at, document, places: planPlaces(at.file, document.plan.id ?? "") };
}

/** Several rows with words of others in them. */
export function rows(texts: readonly string[]): string {
  return texts.flatMap((text) => sanitiseLines(text)).join("\n");
}

export function wrongUsage(problem: string, hint: string): DeaddropError {
  return new DeaddropError("usage", problem, { hint });
}
