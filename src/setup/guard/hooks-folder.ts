import { relative, resolve, sep } from "node:path";
import { nodeDisk } from "../../storage/disk/node-disk.ts";
import { realPathOf } from "../project-files.ts";
import type { Repository } from "./repository.ts";

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
  const isInside = [workTree.top, workTree.mainTop, commonFolder].some((each) => holds(each, real));
  return { path, isShared: !isInside };
}

function holds(folder: string, path: string): boolean {
  const inside = relative(folder, path);
  return inside !== ".." && !inside.startsWith(`..${sep}`);
}
