import { dirname, join, relative, resolve } from "node:path";
import { DeaddropError } from "../../api/errors.ts";
import { readWhole, type Disk } from "../../storage/disk/disk.ts";
import { readSource } from "../plan/source.ts";
import { currentPlanFile } from "./plan-places.ts";
import { write } from "./reports-folder.ts";

const MAX_POINTER_BYTES = 4_096;

/** From now on that plan is the one in use in its project. Spec 7.2. */
export function setCurrentPlan(disk: Disk, project: string, file: string): void {
  const pointer = currentPlanFile(project);
  const way = JSON.stringify(relative(dirname(pointer), file));
  write(disk, pointer, `# The plan in use; commands without a file mean this one.\nplan: ${way}\n`);
}

/** The file of the plan in use, from a folder upward. Throws DeaddropError when there is none. */
export function currentPlan(disk: Disk, from: string): string {
  for (let at = from; ; at = dirname(at)) {
    const pointer = currentPlanFile(at);
    const bytes = readWhole(disk, pointer, MAX_POINTER_BYTES);
    if (bytes !== undefined) return planIn(pointer, bytes);
    if (at === dirname(at)) break;
  }
  throw new DeaddropError("config", `no plan is in use in ${from} or above it`, {
    hint: "name its file, or make one: deaddrop plan init <task>",
  });
}

function planIn(pointer: string, bytes: Uint8Array): string {
  const read = readSource(bytes, pointer);
  const plan = read.ok ? (read.source.data as { plan?: unknown } | null)?.plan : undefined;
  if (typeof plan === "string" && plan !== "") return resolve(dirname(pointer), plan);
  throw new DeaddropError("config", `${pointer} names no plan`, {
    hint: `write one line into it: plan: ${join("plans", "…", "plan.yaml")}`,
  });
}
