import { realpathSync } from "node:fs";
import { basename, dirname, relative, resolve, sep } from "node:path";
import { DeaddropError } from "../../api/errors.ts";
import { nodeDisk } from "../../storage/disk/node-disk.ts";
import { realPathOf } from "../project-files.ts";
import { gitIn, type Git } from "./git.ts";

/** A git repository, seen from one of its work trees. */
export interface Repository {
  /** Runs at the top of the work tree. */
  readonly git: Git;
  readonly workTree: WorkTree;
  /** Of this work tree alone. */
  readonly gitFolder: string;
  /** Of all work trees together; the same where there is one. */
  readonly commonFolder: string;
}

/** Where a work tree is, as real paths. */
export interface WorkTree {
  readonly top: string;
  /** Where the main work tree is: the same, but for a linked one. */
  readonly mainTop: string;
}

/** The repository that a folder is in. Throws DeaddropError when it is in none. */
export function openRepository(folder: string, env: NodeJS.ProcessEnv): Repository {
  const args = ["rev-parse", "--show-toplevel", "--absolute-git-dir", "--git-common-dir"];
  const said = gitIn(folder, env)(args).toString("utf8").trimEnd().split("\n");
  const [top, gitFolder, commonFolder] = said.map((path) => realpathSync(resolve(folder, path)));
  if (top === undefined || gitFolder === undefined || commonFolder === undefined) {
    throw new Error(`git rev-parse named ${said.length} folders`);
  }
  const isLinked = gitFolder !== commonFolder && basename(commonFolder) === ".git";
  const mainTop = isLinked ? dirname(commonFolder) : top;
  return { git: gitIn(top, env), workTree: { top, mainTop }, gitFolder, commonFolder };
}

/** Where git looks for the hooks of a repository. */
export interface HooksFolder {
  readonly path: string;
  /** Other repositories look there too, as far as one can tell: it is outside of this one. */
  readonly isShared: boolean;
}

/** By git's own answer, which knows core.hooksPath: absolute, relative to the work tree, or with `~`. */
export function hooksFolder({ git, workTree, commonFolder }: Repository): HooksFolder {
  const said = git(["rev-parse", "--git-path", "hooks"]).toString("utf8").replace(/\n$/, "");
  const path = resolve(workTree.top, said);
  // A link in it may lead to hooks that other repositories use, too.
  const real = realPathOf(nodeDisk(), path);
  const isInside = [workTree.top, workTree.mainTop, commonFolder].some(
    (each) => pathInside(each, real) !== undefined,
  );
  return { path, isShared: !isInside };
}

/** Hooks in a folder of others are written when the operator says so. @throws DeaddropError "refused" */
export function requireOwnHooks({ path, isShared }: HooksFolder, isAllowed = false): void {
  if (!isShared || isAllowed) return;
  throw new DeaddropError("refused", `the hooks of this repository are in ${path}, outside of it`, {
    hint: "core.hooksPath names it, and every repository that uses it would get the hook too. If you mean that: --shared. Else give this repository its own folder: git config core.hooksPath .git/hooks",
  });
}

/** The path from a folder to what is below it, or the folder itself; undefined for what is not. */
export function pathInside(folder: string, path: string): string | undefined {
  const inside = relative(folder, path);
  return inside === ".." || inside.startsWith(`..${sep}`) ? undefined : inside;
}
