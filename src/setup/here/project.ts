import { existsSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { gitFolderOf } from "../wire/git-exclude.ts";

/** The top of the git work tree that a folder is in, or the folder itself. */
export function projectOf(cwd: string): string {
  for (let folder = cwd; ; folder = dirname(folder)) {
    if (existsSync(join(folder, ".git"))) return folder;
    if (folder === dirname(folder)) return cwd;
  }
}

/** Of a linked work tree, the folder of the main one; undefined for any other folder. */
export function mainCheckoutOf(project: string): string | undefined {
  const gitFolder = gitFolderOf(project);
  // The git folder of a submodule is within that of its repository.
  if (gitFolder === undefined || !gitFolder.endsWith("/.git")) return undefined;
  const main = dirname(gitFolder);
  return main === project || !existsSync(main) || realpathSync(main) === realpathSync(project)
    ? undefined
    : main;
}
