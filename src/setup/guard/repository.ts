import { realpathSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
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
