import { randomBytes } from "node:crypto";
import { basename, join } from "node:path";
import { DeaddropError } from "../../api/errors.ts";
import type { Disk } from "../../storage/disk/disk.ts";
import { takeLock, type HeldLock } from "../../storage/disk/lock.ts";
import type { Edit } from "../plan/source.ts";
import { changePlanFile, validPlan } from "./plan-file.ts";
import { planPlaces, type PlanPlaces } from "./plan-folder.ts";

const RANDOM_BYTES = 4;
/** Letters of an id that come from the name of a file or a task. */
const MAX_ID_SLUG = 40;
const PLAN_FOLDER_MODE = 0o755;

/** A plan that this process runs, until `release`. */
export interface StartedRun {
  readonly places: PlanPlaces;
  readonly planId: string;
  release(): void;
}

/**
 * Makes a plan ready to be run: it gets a name, and says who runs it, before anything is sent. One
 * process at a time runs a plan on one machine; on others the wire keeps them apart. `runner`: a handle;
 * undefined without a wire. Throws DeaddropError.
 */
export function startRun(
  disk: Disk,
  file: string,
  runner: string | undefined,
  nowMs: number,
): StartedRun {
  const known = validPlan(disk, file);
  const planId = known.plan.id ?? newPlanId(basename(file).replace(/\.[a-z]+$/iu, ""), nowMs);
  const places = planPlaces(file, planId);
  disk.makeFolder(places.folder, PLAN_FOLDER_MODE);
  const lock = takeRunLock(disk, join(places.folder, "run.lock"), nowMs, {
    text: `${file} is run by`,
    hint: "one coordinator at a time runs a plan: wait for it, or end it first; nothing is lost",
  });
  try {
    const document = changePlanFile(disk, file, ({ plan }) => {
      const { id, coordinators } = plan;
      const isNamed = runner === undefined || coordinators.includes(runner);
      const edits: Edit[] = [
        ...(id === undefined ? [{ path: ["plan_id"], value: planId }] : []),
        ...(isNamed ? [] : [{ path: ["coordinators"], value: [...coordinators, runner] }]),
      ];
      return { ok: true, edits };
    });
    return { places, planId: document.plan.id ?? planId, release: () => lock.release() };
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** A lock that one process at a time has. Throws DeaddropError with the holder while another one has it. */
export function takeRunLock(
  disk: Disk,
  path: string,
  nowMs: number,
  taken: { readonly text: string; readonly hint: string },
): HeldLock {
  const note = { pid: process.pid, role: "command" as const, since: new Date(nowMs).toISOString() };
  const attempt = takeLock(disk, path, note, 0);
  if (attempt.ok) return attempt.lock;
  const { holder } = attempt;
  const who =
    holder === undefined ? "another process" : `process ${holder.pid}, since ${holder.since}`;
  throw new DeaddropError("already_running", `${taken.text} ${who}`, { hint: taken.hint });
}

/** A name that no other plan on a wire has. */
export function newPlanId(about: string, nowMs: number): string {
  const slug = about
    .toLowerCase()
    .replace(/[^a-z0-9]+/gu, "-")
    .slice(0, MAX_ID_SLUG)
    .replace(/^-+|-+$/gu, "");
  const day = new Date(nowMs).toISOString().slice(0, 10);
  return `${slug === "" ? "plan" : slug}-${day}-${randomBytes(RANDOM_BYTES).toString("hex")}`;
}
