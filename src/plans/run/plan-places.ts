import { basename, dirname, join } from "node:path";
import { sha256Hex } from "../../wire/canonical.ts";

/** Where a plan and what belongs to it are. All paths are absolute. Spec 7.2. */
export interface PlanPlaces {
  readonly file: string;
  /** What runs produce: reports, logs, the final report. */
  readonly folder: string;
  /** Holds `agent/`; the plan's files are named from here. */
  readonly project: string;
}

const AGENT = "agent";
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

/** The plan that is in use in a project. Spec 7.2. */
export function currentPlanFile(project: string): string {
  return join(project, AGENT, "artifacts", "current_plan.yaml");
}

/** The folder of a plan that is made in a project. */
export function newPlanFolder(project: string, id: string): string {
  return join(project, AGENT, "artifacts", "plans", fileName(id));
}

export function rolesFile(project: string): string {
  return join(project, AGENT, "roles.json");
}

export function reportFile({ folder }: PlanPlaces, stepId: string, attempt: number): string {
  return join(folder, "reports", `${fileName(stepId)}-${attempt}.json`);
}

/** Is there once that attempt was begun here. */
export function begunFile({ folder }: PlanPlaces, stepId: string, attempt: number): string {
  return join(folder, "logs", `${fileName(stepId)}-${attempt}.begun`);
}

/** What the adapter has printed. */
export function logFile({ folder }: PlanPlaces, stepId: string, attempt: number): string {
  return join(folder, "logs", `${fileName(stepId)}-${attempt}.log`);
}

/** Any text as one name of a file, each text another one. */
function fileName(text: string): string {
  // What has a meaning in a path is spelled out; a name that begins with a dot is hidden, or a folder.
  const plain = encodeURIComponent(text).replaceAll("*", "%2A").replace(/^\./u, "%2E");
  if (plain.length <= MAX_FILE_NAME) return plain;
  return `${plain.slice(0, MAX_FILE_NAME - 17)}-${sha256Hex(Buffer.from(text, "utf8")).slice(0, 16)}`;
}
