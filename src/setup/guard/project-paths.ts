import { realpathSync } from "node:fs";
import { basename, dirname, join, resolve, sep } from "node:path";
import { gitFolderOf } from "../wire/git-exclude.ts";
import { nodeDisk } from "../../storage/disk/node-disk.ts";
import { realPathOf } from "../project-files.ts";
import { pathInside, type WorkTree } from "./repository.ts";

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
  const inTree = workTree === undefined ? undefined : pathInside(workTree.top, path);
  const inMain = inTree === undefined ? undefined : join(workTree?.mainTop ?? "", inTree);
  const fromHolder = (inMain && pathInside(holder, inMain)) ?? pathInside(holder, path);
  return (fromHolder ?? inTree)?.split(sep).join("/");
}

/**
 * The absolute path that is meant, with links resolved in all but its last name: git keeps a link
 * itself as a file. It need not exist.
 */
export function absolutePath(folder: string, path: string): string {
  const full = resolve(folder, path);
  const parent = dirname(full);
  return parent === full ? full : join(realPathOf(nodeDisk(), parent), basename(full));
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
