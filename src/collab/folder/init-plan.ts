import { basename, dirname, isAbsolute, join, relative, resolve } from "node:path";
import { isDeliverableType, DELIVERABLE_TYPES } from "../documents/deliverable.ts";
import { generatedGates } from "../documents/gates.ts";
import { OBSOLETE_FILES } from "../documents/obsolete.ts";
import {
  fileProblem,
  isLine,
  pathProblem,
  referenceOf,
  type DeclaredFile,
} from "../documents/protocol-file.ts";
import type { Schema } from "../machine/event.ts";
import { RoundRefused } from "../refused.ts";
import type { NewRound } from "../rules/templates.ts";
import type { Disk } from "../../storage/disk/disk.ts";
import { isBelow } from "./round-places.ts";

/** What a person, or an agent, asks `init` for. */
export interface InitWish {
  readonly folder: string | undefined;
  readonly participants: readonly string[];
  readonly objective: string | undefined;
  /** The gates of the objective. */
  readonly completion: readonly string[];
  readonly schema: Schema | undefined;
  readonly type: string | undefined;
  readonly file: string | undefined;
  readonly checks: readonly string[];
  readonly mode: string | undefined;
  readonly dir: string | undefined;
  readonly repoRoot: string | undefined;
}

/** What `init` makes, with nothing left to decide. */
export interface Plan {
  readonly folder: string;
  readonly round: NewRound;
  readonly objectiveGates: readonly string[];
  readonly deliverables: PlannedDeliverables | undefined;
  /** Documents of a round that this one goes on from, by their names. */
  readonly copied: Readonly<Record<string, string>>;
}

export interface PlannedDeliverables {
  readonly mode: "internal" | "external";
  readonly dir: string;
  readonly repoRoot: string | undefined;
  readonly primary: DeclaredFile;
  /** Where the primary one is. */
  readonly path: string;
}

/** Decides what `init` makes. Throws RoundRefused with all that is missing or wrong. Spec 6.3. */
export function planInit(
  disk: Disk,
  wish: InitWish,
  cwd: string,
  copied: Readonly<Record<string, string>> = {},
): Plan {
  const problems: string[] = [];
  const schema = wish.schema ?? (wish.type === undefined ? 1 : 2);
  const participants = names(wish.participants);
  const objective = wish.objective?.trim() ?? "";
  const objectiveGates = names(wish.completion);
  if (wish.folder === undefined) problems.push("--folder is missing");
  if (participants.length < schema) {
    problems.push(
      schema === 1 ? "--participant is missing" : "schema 2 needs two --participant or more",
    );
  }
  if (objective === "") problems.push("--objective is missing");
  if (objectiveGates.length === 0) problems.push("--completion is missing");
  const broken = [...participants, ...objectiveGates, ...names(wish.checks)].filter(
    (each) => !isLine(each),
  );
  problems.push(...broken.map((each) => `${JSON.stringify(each)} must be one line`));
  const obsolete = OBSOLETE_FILES.filter((file) =>
    objectiveGates.some((gate) => gate.includes(file)),
  );
  problems.push(
    ...obsolete.map((file) => `completion gate must not reference obsolete file ${file}`),
  );
  const folder = resolve(cwd, wish.folder ?? ".");
  const deliverables =
    schema === 2 ? planDeliverables(disk, wish, { folder, cwd }, problems) : undefined;
  if (schema === 1) problems.push(...flagsOfSchemaTwo(wish));
  if (problems.length > 0) throw new RoundRefused(problems);
  const primary = deliverables?.primary;
  const generated = primary === undefined ? [] : generatedGates(primary.reference, primary.type);
  const gates = [...objectiveGates, ...generated];
  const round: NewRound = { schema, participants, objective, gates, primary };
  return { folder, round, objectiveGates, deliverables, copied };
}

/** Trimmed, each once. */
function names(values: readonly string[]): string[] {
  return [...new Set(values.map((value) => value.trim()))].filter((value) => value !== "");
}

function flagsOfSchemaTwo({ type, file, checks, mode, dir, repoRoot }: InitWish): string[] {
  const given = {
    "--primary-deliverable-type": type,
    "--primary-deliverable-file": file,
    "--primary-deliverable-check": checks[0],
    "--deliverables-mode": mode,
    "--deliverables-dir": dir,
    "--repo-root": repoRoot,
  };
  return Object.entries(given)
    .filter(([, value]) => value !== undefined)
    .map(([flag]) => `${flag} is for schema 2`);
}

function planDeliverables(
  disk: Disk,
  wish: InitWish,
  at: { readonly folder: string; readonly cwd: string },
  problems: string[],
): PlannedDeliverables | undefined {
  const { type, mode = "internal", dir = "deliverables", checks } = wish;
  const before = problems.length;
  if (!isDeliverableType(type)) {
    problems.push(`--primary-deliverable-type must be one of ${DELIVERABLE_TYPES.join(", ")}`);
  }
  if (type === "custom" && wish.file === undefined) {
    problems.push("custom deliverables require --primary-deliverable-file");
  }
  const checklist = names(checks);
  if (type === "custom" && checklist.length === 0) {
    problems.push("custom deliverables require at least one --primary-deliverable-check");
  }
  const file = wish.file ?? `${type ?? "deliverable"}.md`;
  const wrongFile = fileProblem(file);
  if (wrongFile !== undefined) problems.push(`--primary-deliverable-file ${wrongFile}`);
  const wrongDir = pathProblem(dir);
  if (wrongDir !== undefined) problems.push(`--deliverables-dir ${wrongDir}`);
  if (mode !== "internal" && mode !== "external") {
    problems.push("--deliverables-mode must be internal or external");
  }
  const isExternal = mode === "external";
  const repoRoot = isExternal ? repositoryOf(disk, wish, at, problems) : undefined;
  if (!isExternal && wish.repoRoot !== undefined) {
    problems.push("--repo-root is for --deliverables-mode external");
  }
  if (problems.length > before || !isDeliverableType(type)) return undefined;
  const kind = isExternal ? "external" : "internal";
  const reference = referenceOf(kind, dir, file);
  const base = repoRoot === undefined ? at.folder : resolve(at.folder, repoRoot);
  const primary = { type, file, reference, checklist, frozen: false };
  return { mode: kind, dir, repoRoot, primary, path: join(base, dir, file) };
}

/**
 * The way from the folder to the repository: as it is given, from the folder or from where we are; else
 * to the nearest git repository above.
 */
function repositoryOf(
  disk: Disk,
  { repoRoot }: InitWish,
  { folder, cwd }: { readonly folder: string; readonly cwd: string },
  problems: string[],
): string | undefined {
  if (repoRoot === undefined) {
    const found = repositoryAbove(disk, folder);
    if (found === undefined) problems.push("external deliverables require --repo-root");
    return found;
  }
  if (isAbsolute(repoRoot)) {
    problems.push("--repo-root must be relative");
    return undefined;
  }
  const root = [resolve(folder, repoRoot), resolve(cwd, repoRoot)].find(
    (path) => isBelow(path, folder) && disk.stat(path)?.kind === "folder",
  );
  if (root === undefined) problems.push("--repo-root must be an ancestor of the folder, and exist");
  return root === undefined ? undefined : relative(folder, root);
}

function repositoryAbove(disk: Disk, folder: string): string | undefined {
  for (let at = dirname(folder); ; at = dirname(at)) {
    if (disk.stat(join(at, ".git")) !== undefined) return relative(folder, at);
    if (basename(at) === "") return undefined;
  }
}
