import { GitFailed, type Git } from "./run-git.ts";

/** A file of a commit. */
export interface TreeEntry {
  readonly id: string;
  readonly bytes: number;
}

/** What a commit holds. */
export interface Tree {
  /** The plain files, by their paths. */
  readonly files: ReadonlyMap<string, TreeEntry>;
  /** What is no plain file: a link, a submodule, a program. By path: what it is. */
  readonly strange: ReadonlyMap<string, string>;
  /** Whether all of it was listed; where there is too much, only the known paths are. */
  readonly isWhole: boolean;
}

/** Of a remote without the branch. */
export const EMPTY_TREE: Tree = { files: new Map(), strange: new Map(), isWhole: true };

/** Some 100,000 files: far more than a wire has. */
const MAX_LISTED_BYTES = 8 * 1_048_576;

const STRANGE: Readonly<Record<string, string>> = {
  "100755": "a program (it may be executed)",
  "120000": "a symbolic link",
  "160000": "a submodule",
};

/** The files of a commit; `known`: the paths to list where the whole tree is too large. Spec 5.2. */
export async function readTree(git: Git, commit: string, known: readonly string[]): Promise<Tree> {
  const list = (...args: readonly string[]): Promise<Buffer> =>
    git(["ls-tree", "-z", "-l", "--full-tree", ...args], { maxBytes: MAX_LISTED_BYTES });
  try {
    return treeOf(await list("-r", commit), true);
  } catch (error) {
    if (!(error instanceof GitFailed) || error.why !== "too much") throw error;
    return treeOf(await list(commit, "--", ...known), false);
  }
}

function treeOf(listed: Buffer, isWhole: boolean): Tree {
  const rows = listed.toString("utf8").split("\0");
  return treeWith(
    rows.flatMap((row) => {
      const [, mode = "", id = "", size = "", path] =
        /^(\d+) \w+ ([0-9a-f]+) +(\d+|-)\t([^]*)$/.exec(row) ?? [];
      return path === undefined ? [] : { mode, id, path, bytes: Number(size) };
    }),
    isWhole,
  );
}

/** An entry of a tree; `path` from the top. */
export interface ListedEntry {
  readonly mode: string;
  readonly id: string;
  readonly path: string;
  readonly bytes: number;
}

/** Whether it is a plain file, which is read. */
export function isPlainFile(mode: string): boolean {
  return mode === "100644" || mode === "100664";
}

/** The same from entries. */
export function treeWith(entries: readonly ListedEntry[], isWhole: boolean): Tree {
  const files = new Map<string, TreeEntry>();
  const strange = new Map<string, string>();
  for (const { mode, id, path, bytes } of entries) {
    if (isPlainFile(mode)) files.set(path, { id, bytes });
    else strange.set(path, STRANGE[mode] ?? "no plain file");
  }
  return { files, strange, isWhole };
}
