import { existsSync, realpathSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { DeaddropError } from "../../api/errors.ts";
import type { Git } from "../../setup/guard/git.ts";
import { openRepository } from "../../setup/guard/repository.ts";
import type { Disk } from "../../storage/disk/disk.ts";
import { sanitise } from "../../wire/quote.ts";
import { titleOf, type Plan, type Step } from "../plan/plan.ts";
import { isPlanned } from "../plan/schedule.ts";
import type { DiffFacts } from "../report/checks.ts";
import { readJson, writeJson, type PlanPlaces } from "./plan-folder.ts";
import type { Checkpoints } from "./run-plan.ts";

const COMMIT = /^[0-9a-f]{40,64}$/u;
const MAX_CHECKPOINTS_BYTES = 1_048_576;
/** Branches that are for what is finished. */
const MAIN_BRANCHES: ReadonlySet<string> = new Set(["main", "master", "trunk"]);

/**
 * Notes the commit before each step, and commits the step's own files after it, on the branch that is
 * checked out. Spec 7.5. Throws DeaddropError where that is no branch for work.
 */
export function gitCheckpoints(
  disk: Disk,
  places: PlanPlaces,
  env: NodeJS.ProcessEnv,
): Checkpoints {
  const { git, ofProject } = repositoryOf(places, env);
  const branch = answer(git, ["rev-parse", "--abbrev-ref", "HEAD"]);
  if (branch === "HEAD" || MAIN_BRANCHES.has(branch)) {
    const where = branch === "HEAD" ? "no branch is checked out" : `the branch is ${branch}`;
    throw new DeaddropError("refused", `--git-checkpoints commits after each step, and ${where}`, {
      hint: "make a branch for the plan first: git switch -c plan/…",
    });
  }
  return {
    before(step) {
      const key = keyOf(step);
      const known = checkpoints(disk, places);
      if (known.has(key)) return;
      known.set(key, answer(git, ["rev-parse", "--verify", "HEAD"]));
      writeJson(disk, checkpointsFile(places), Object.fromEntries(known));
    },
    after(step) {
      const changed = changedFiles(git, "all").filter((path) =>
        isPlanned(step.files, ofProject(path)),
      );
      if (changed.length === 0) return;
      git(["add", "--all", "--", ...changed]);
      const title = sanitise(titleOf(step)).slice(0, 60);
      git([
        "commit",
        "--quiet",
        "--only",
        "-m",
        `step ${sanitise(step.id)}: ${title}`,
        "--",
        ...changed,
      ]);
    },
  };
}

/** Files with changes that are not committed, from the top of the work tree. */
function changedFiles(git: Git, untracked: "all" | "no"): string[] {
  const how = ["--porcelain=v1", "-z", `--untracked-files=${untracked}`, "--no-renames"];
  const rows = answer(git, ["status", ...how]);
  return rows.split("\0").flatMap((row) => (row.length > 3 ? [row.slice(3)] : []));
}

export interface RolledBack {
  readonly commit: string;
  /** The branch that keeps where we were. */
  readonly kept: string;
  /** Steps that are to be done again. */
  readonly steps: readonly string[];
}

/**
 * Brings the work tree and the branch back to the commit before a step. What was not committed stops it,
 * and what was committed stays reachable by a branch. Spec 7.5. Throws DeaddropError.
 */
export function rollBack(
  disk: Disk,
  places: PlanPlaces,
  env: NodeJS.ProcessEnv,
  { plan, step, nowMs }: { readonly plan: Plan; readonly step: Step; readonly nowMs: number },
): RolledBack {
  const known = checkpoints(disk, places);
  const commit = known.get(keyOf(step));
  if (commit === undefined) {
    throw new DeaddropError("refused", `no commit is noted before step ${step.id}`, {
      hint: "only a run with --git-checkpoints notes them",
    });
  }
  const { git, top } = repositoryOf(places, env);
  const head = answer(git, ["rev-parse", "--verify", "HEAD"]);
  git(["merge-base", "--is-ancestor", commit, head]);
  refuseLosses(git, top, places, commit);
  const kept = `plan-rollback/${new Date(nowMs).toISOString().replace(/[^0-9TZ]/gu, "")}`;
  git(["branch", kept, head]);
  // A file that was touched, and has what it had, is no changed one.
  git(["update-index", "-q", "--refresh"]);
  // Stops by itself where a file with changes of its own would be touched.
  git(["reset", "--quiet", "--keep", commit]);
  const again = plan.steps.filter((each) => {
    const before = known.get(keyOf(each));
    return (
      before !== undefined &&
      (before === commit ? each.index >= step.index : isAfter(git, commit, before))
    );
  });
  return { commit, kept, steps: again.map(({ id }) => id) };
}

/** Nothing that is in no commit may be overwritten or removed; the plan itself may change. */
function refuseLosses(git: Git, top: string, places: PlanPlaces, commit: string): void {
  const isOurs = (path: string): boolean => {
    const whole = join(top, path);
    return whole === places.file || whole.startsWith(`${places.folder}/`);
  };
  const changed = changedFiles(git, "no").filter((path) => !isOurs(path));
  if (changed.length > 0) {
    const first = changed.slice(0, 5).join(", ");
    throw new DeaddropError("refused", `there are changes that are not committed: ${first}`, {
      hint: "commit them first (git commit), and roll back then; nothing was changed",
    });
  }
  // Files that the commit has and HEAD has not: one of that name is here in no commit, ignored perhaps.
  const names = ["--name-only", "--no-renames", "-z", "--diff-filter=D"];
  const back = answer(git, ["diff", ...names, commit, "HEAD"]).split("\0");
  const inTheWay = back.filter((path) => path !== "" && existsSync(join(top, path)));
  if (inTheWay.length === 0) return;
  throw new DeaddropError(
    "refused",
    `files that are in no commit would be overwritten: ${inTheWay.slice(0, 5).join(", ")}`,
    { hint: "move them away, and roll back then; nothing was changed" },
  );
}

function isAfter(git: Git, commit: string, other: string): boolean {
  if (commit === other) return false;
  return answer(git, ["merge-base", commit, other]) === commit;
}

/** What a range of commits changes, without renames and as git counts lines. Spec 7.4. */
export function diffFacts(places: PlanPlaces, env: NodeJS.ProcessEnv, range: string): DiffFacts {
  const { git, ofProject } = repositoryOf(places, env);
  const rows = answer(git, [
    ...["diff", "--numstat", "--no-renames", "-z", "--end-of-options", range, "--"],
  ]);
  const files = rows.split("\0").flatMap((row) => {
    const [added, removed, ...path] = row.split("\t");
    if (path.length === 0) return [];
    // A binary file has "-" for both.
    return [
      { path: ofProject(path.join("\t")), lines: (Number(added) || 0) + (Number(removed) || 0) },
    ];
  });
  return { range, files };
}

interface Tree {
  readonly git: Git;
  readonly top: string;
  /** A path from the top of the work tree, as the plan names it. */
  ofProject(path: string): string;
}

function repositoryOf({ project }: PlanPlaces, env: NodeJS.ProcessEnv): Tree {
  const { git, workTree } = openRepository(project, env);
  const { top } = workTree;
  const folder = realpathSync(project);
  return { git, top, ofProject: (path) => relative(folder, resolve(top, path)) };
}

function answer(git: Git, args: readonly string[]): string {
  return git(args).toString("utf8").replace(/\n$/u, "");
}

function keyOf({ id, attempt }: Step): string {
  return `${attempt} ${id}`;
}

function checkpointsFile({ folder }: PlanPlaces): string {
  return join(folder, "checkpoints.json");
}

function checkpoints(disk: Disk, places: PlanPlaces): Map<string, string> {
  const kept = readJson(disk, checkpointsFile(places), MAX_CHECKPOINTS_BYTES) ?? {};
  return new Map(
    Object.entries(kept).flatMap(([key, commit]) =>
      typeof commit === "string" && COMMIT.test(commit) ? [[key, commit] as const] : [],
    ),
  );
}
