import { appendFileSync, lstatSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { nodeDisk } from "../../storage/disk/node-disk.ts";
import { realPathOf } from "../project-files.ts";

/**
 * The line that keeps the wire's folder out of a project's commits, and the file it belongs in.
 * `undefined` when the folder is in no repository, or is the root of one itself. Spec 1.1.
 * Looked up in files, without git: nothing of a repository's own configuration is run.
 */
export interface GitExclude {
  readonly file: string;
  readonly pattern: string;
}

export function gitExcludeFor(wireDir: string): GitExclude | undefined {
  const folder = realPathOf(nodeDisk(), resolve(wireDir));
  if (exists(join(folder, ".git"))) return undefined;
  for (let root = dirname(folder); ; root = dirname(root)) {
    const gitFolder = gitFolderOf(root);
    if (gitFolder !== undefined) {
      const inside = relative(root, folder).split(sep).map(escapePattern).join("/");
      return { file: join(gitFolder, "info", "exclude"), pattern: `/${inside}/` };
    }
    if (root === dirname(root)) return undefined;
  }
}

export function isExcluded(exclude: GitExclude): boolean {
  return readIfThere(exclude.file).split("\n").includes(exclude.pattern);
}

/** Appends the pattern unless it is there. The file belongs to the operator's own clone. */
export function addExclude(exclude: GitExclude): void {
  if (isExcluded(exclude)) return;
  const before = readIfThere(exclude.file);
  mkdirSync(dirname(exclude.file), { recursive: true });
  const newline = before === "" || before.endsWith("\n") ? "" : "\n";
  appendFileSync(exclude.file, `${newline}${exclude.pattern}\n`);
}

/** `.git` is a folder, or in worktrees and submodules a file that names one. */
export function gitFolderOf(root: string): string | undefined {
  const path = join(root, ".git");
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return undefined;
  if (stat.isDirectory()) return path;
  if (!stat.isFile()) return undefined;
  const named = /^gitdir: (.+)$/m.exec(readFileSync(path, "utf8"))?.[1];
  if (named === undefined) return undefined;
  const own = resolve(root, named.trim());
  // A worktree shares info/exclude with the main clone, whose folder `commondir` names.
  const common = readIfThere(join(own, "commondir")).trim();
  return common === "" ? own : resolve(own, common);
}

function escapePattern(part: string): string {
  return part.replace(/[\\*?[\]]/g, "\\$&").replace(/ $/, "\\ ");
}

function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw error;
  }
}
