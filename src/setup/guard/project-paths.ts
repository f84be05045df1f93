import { lstatSync, realpathSync } from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { gitFolderOf } from "../wire/git-exclude.ts";
import type { WorkTree } from "./repository.ts";

/** What the paths of domains and claims are relative to. Spec 3.6. */
export interface Project {
  /** The wire's folder; a real path. */
  readonly wireDir: string;
  /** The folder that holds it. */
  readonly holder: string;
  /** The git work tree that is asked from, if there is one. */
  readonly workTree: WorkTree | undefined;
}

/** The project of a wire, seen from a folder. Needs no git. */
export function projectFrom(wireDir: string, folder: string): Project {
  const real = realpathSync(wireDir);
  return { wireDir: real, holder: dirname(real), workTree: workTreeAbove(realpathSync(folder)) };
}

/**
 * An absolute path as domains and claims name it: relative to the folder that holds the wire when it
 * is below that, else to the top of the work tree. A file of a linked work tree has the path that it
 * has in the main one. Undefined for a path outside of both.
 */
export function projectPath(
  { holder, workTree }: Pick<Project, "holder" | "workTree">,
  path: string,
): string | undefined {
  const inTree = workTree === undefined ? undefined : below(workTree.top, path);
  const inMain = inTree === undefined ? undefined : join(workTree?.mainTop ?? "", inTree);
  const fromHolder = (inMain && below(holder, inMain)) ?? below(holder, path);
  return (fromHolder ?? inTree)?.split(sep).join("/");
}

/**
 * The absolute path that is meant, with links resolved in all but its last name: git keeps a link
 * itself as a file. It need not exist.
 */
export function absolutePath(folder: string, path: string): string {
  const full = resolve(folder, path);
  const parent = dirname(full);
  return parent === full ? full : join(realFolder(parent), basename(full));
}

/** The real path of what of a folder exists, with the rest of it. */
function realFolder(folder: string): string {
  if (lstatSync(folder, { throwIfNoEntry: false }) !== undefined) return realpathSync(folder);
  const parent = dirname(folder);
  return parent === folder ? folder : join(realFolder(parent), basename(folder));
}

function workTreeAbove(folder: string): WorkTree | undefined {
  const common = gitFolderOf(folder);
  if (common !== undefined) {
    const isMains = basename(common) === ".git";
    return { top: folder, mainTop: isMains ? dirname(common) : folder };
  }
  const parent = dirname(folder);
  return parent === folder ? undefined : workTreeAbove(parent);
}

/** The path from a folder to what is below it, or the folder itself; undefined for what is not. */
function below(folder: string, path: string): string | undefined {
  const inside = relative(folder, path);
  return inside === ".." || inside.startsWith(`..${sep}`) ? undefined : inside;
}
