import { basename, dirname, isAbsolute, join, relative, resolve } from "node:path";
import type { Disk } from "../../storage/disk/disk.ts";
import {
  DELIVERABLE_TYPES,
  generatedGates,
  isDeliverableType,
  type DeliverableType,
} from "../documents/deliverable.ts";
import {
  fileProblem,
  isLine,
  OBSOLETE_FILES,
  pathProblem,
  referenceOf,
  type Deliverables,
} from "../documents/protocol-file.ts";
import { linesOf } from "../documents/text.ts";
import type { Schema } from "../machine/event.ts";
import { RoundRefused } from "../refused.ts";
import { documentText, stateOf } from "../rules/round.ts";
import { isBelow, readRound } from "./read-round.ts";

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

/** Documents that replace the templates of a new round, by their names. */
export type Copied = Readonly<Record<string, string>>;

/** What `init` makes, with nothing left to decide. */
export interface Plan {
  readonly folder: string;
  readonly schema: Schema;
  readonly participants: readonly string[];
  /** What `protocol.json` says beside the state of the round. */
  readonly fields: Readonly<Record<string, unknown>>;
  readonly copied: Copied;
}

/** Decides what `init` makes. Throws RoundRefused with all that is missing or wrong. Spec 6.3. */
export function planInit(disk: Disk, wish: InitWish, cwd: string, copied: Copied = {}): Plan {
  const problems: string[] = [];
  const schema = wish.schema ?? (wish.type === undefined ? 1 : 2);
  const participants = trimmed(wish.participants);
  const objective = wish.objective?.trim() ?? "";
  const objectiveGates = trimmed(wish.completion);
  if (wish.folder === undefined) problems.push("--folder is missing");
  if (participants.length < schema) {
    problems.push(
      schema === 1 ? "--participant is missing" : "schema 2 needs two --participant or more",
    );
  }
  if (objective === "") problems.push("--objective is missing");
  if (objectiveGates.length === 0) problems.push("--completion is missing");
  for (const text of [...participants, ...objectiveGates, ...trimmed(wish.checks)]) {
    if (!isLine(text)) problems.push(`${JSON.stringify(text)} must be one line`);
  }
  for (const file of OBSOLETE_FILES) {
    if (objectiveGates.some((gate) => gate.includes(file))) {
      problems.push(`completion gate must not reference obsolete file ${file}`);
    }
  }
  const folder = resolve(cwd, wish.folder ?? ".");
  const deliverables =
    schema === 2 ? planDeliverables(disk, wish, { folder, cwd }, problems) : undefined;
  if (schema === 1) problems.push(...flagsOfSchemaTwo(wish));
  if (problems.length > 0) throw new RoundRefused(problems);
  const common = { objective, participants: participants.map((id) => ({ id })) };
  const fields =
    deliverables === undefined
      ? { ...common, completionGates: objectiveGates }
      : {
          ...common,
          objectiveGates,
          ...schemaTwoFields(deliverables, objectiveGates, participants),
        };
  return { folder, schema, participants, fields, copied };
}

function schemaTwoFields(
  { mode, dir, repoRoot, type, file, checklist }: PlannedDeliverables,
  objectiveGates: readonly string[],
  [owner]: readonly string[],
) {
  const gates = [...objectiveGates, ...generatedGates(referenceOf(mode, dir, file), type)];
  return {
    protocol: "acp",
    schemaVersion: 2,
    completionGates: gates.map((text) => ({
      source: objectiveGates.includes(text) ? "objective" : "generated",
      text,
    })),
    repoRoot,
    deliverables: {
      ...{ mode, dir, owner, coAuthors: [] },
      ...{ primary: { type, file, checklist }, supporting: [], attachments: [] },
    },
  };
}

/** Trimmed, each once. */
function trimmed(values: readonly string[]): string[] {
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

interface PlannedDeliverables extends Pick<Deliverables, "mode" | "dir"> {
  readonly repoRoot: string | undefined;
  readonly type: DeliverableType;
  readonly file: string;
  readonly checklist: readonly string[];
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
  const checklist = trimmed(checks);
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
  const repoRoot = isExternal ? findRepository(disk, wish, at, problems) : undefined;
  if (!isExternal && wish.repoRoot !== undefined) {
    problems.push("--repo-root is for --deliverables-mode external");
  }
  if (problems.length > before || !isDeliverableType(type)) return undefined;
  return { mode: isExternal ? "external" : "internal", dir, repoRoot, type, file, checklist };
}

/**
 * The path from the folder to the repository: as it is given, from the folder or from where we are; else
 * to the nearest git repository above.
 */
function findRepository(
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

/**
 * Inputs and documents of a completed or blocked round, for a new one: its proposal, its decisions and
 * its internal deliverable as a draft. Reviews, readiness and conclusion begin new. What is asked for
 * outright has precedence. Spec 6.3.
 */
export function continueFrom(
  disk: Disk,
  old: string,
  wish: InitWish,
): { readonly wish: InitWish; readonly copied: Copied } {
  const { round } = readRound(disk, old);
  const phase = stateOf(round)?.currentPhase;
  if (phase !== "completed" && phase !== "blocked") {
    throw new RoundRefused([`${old} has not ended: its phase is ${phase ?? "unknown"}`]);
  }
  const { protocol } = round;
  const { primary, mode, dir } = protocol.deliverables ?? {};
  const generated = primary === undefined ? [] : generatedGates(primary.reference, primary.type);
  const copied: Record<string, string> = {};
  for (const name of ["proposal.md", "decisions.md"]) copied[name] = documentText(round, name);
  const deliverable = round.deliverables.get(primary?.reference ?? "");
  if (primary !== undefined && mode === "internal" && deliverable?.ok === true) {
    copied[primary.reference] = draftOf(deliverable.text);
  }
  return {
    copied: Object.fromEntries(Object.entries(copied).filter(([, text]) => text !== "")),
    wish: {
      folder: wish.folder,
      participants: wish.participants.length > 0 ? wish.participants : protocol.participants,
      objective: wish.objective ?? protocol.objective,
      completion:
        wish.completion.length > 0
          ? wish.completion
          : protocol.gates.filter((gate) => !generated.includes(gate)),
      schema: wish.schema ?? protocol.schema,
      type: wish.type ?? primary?.type,
      file: wish.file ?? primary?.file,
      checks: wish.checks.length > 0 ? wish.checks : (primary?.checklist ?? []),
      mode: wish.mode ?? mode,
      dir: wish.dir ?? dir,
      repoRoot: wish.repoRoot,
    },
  };
}

function draftOf(text: string): string {
  const frozen = linesOf(text).find((line) => /^Status:\s*(Frozen|In Review)\s*$/u.test(line));
  return frozen === undefined ? text : text.replace(frozen, "Status: Draft");
}
