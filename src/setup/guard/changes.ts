import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DeaddropError } from "../../api/errors.ts";
import type { Git } from "./git.ts";
import type { Repository } from "./repository.ts";

/** A file as git has it. */
export interface Blob {
  readonly mode: string;
  readonly id: string;
}

/** All files below a folder. Paths begin at the top of the work tree. */
type ListFiles = (folder: string) => ReadonlyMap<string, Blob>;

/** A state before a commit or a push. */
export interface Base {
  /** Paths of the files that differ from it afterwards. */
  readonly changed: readonly string[];
  readonly files: ListFiles;
}

/** What a commit or a push changes. */
export interface Changes {
  /**
   * Each state that it is built on: of a merge there are several, and a file that is as in one of them was changed by
   * nobody here.
   */
  readonly from: readonly Base[];
  /** States whose logs have to be kept besides: what a forced push takes the place of. */
  readonly replaced: readonly Base[];
  /** The files as they are afterwards. */
  readonly files: ListFiles;
}

const MAX_BASES = 64;
const NAMES = ["--name-only", "-z", "--no-renames"];
const INDEX_NAMES = [...NAMES, "--no-ext-diff", "--no-relative", "--ignore-submodules=none"];

/** Paths that differ from all states that a change is built on. */
export function changedPaths({ from }: Changes): string[] {
  const [first = [], ...others] = from.map(({ changed }) => new Set(changed));
  return [...first].filter((path) => others.every((each) => each.has(path)));
}

/** What is staged, against HEAD; in a merge also against what is merged. */
export function stagedChanges({ git, gitFolder }: Repository): Changes {
  const changedFrom = (base: readonly string[]) =>
    fieldsOf(git(["diff", "--cached", ...INDEX_NAMES, ...base, "--"]));
  // Without HEAD, before the first commit, git compares with nothing by itself.
  const head = () => (hasCommit(git, "HEAD") ? "HEAD" : emptyTree(git));
  return {
    from: [
      { changed: changedFrom([]), files: (folder) => filesOf(git, head(), folder) },
      ...mergeHeads(gitFolder).map((id): Base => {
        return { changed: changedFrom([id]), files: (folder) => filesOf(git, id, folder) };
      }),
    ],
    replaced: [],
    // `<mode> <id> <stage>`, a tab, the path.
    files: (folder) =>
      entries(git(["ls-files", "-s", "-z", "--", ...wanted(folder)]), ([mode = "", id = ""]) => {
        return { mode, id };
      }),
  };
}

function mergeHeads(gitFolder: string): string[] {
  const path = join(gitFolder, "MERGE_HEAD");
  if (!existsSync(path)) return [];
  const ids = readFileSync(path, "utf8").split("\n");
  return bounded(ids.filter((line) => /^[0-9a-f]{40,64}$/.test(line)));
}

/**
 * What the commits of a push change, for each ref, by the lines that git gives the hook. Commits that
 * a remote has already are not asked about: of each remote on its own, as last seen. Deleting a ref
 * changes no file.
 */
export function pushedChanges({ git }: Repository, lines: string): Changes[] {
  const refs = lines.split("\n").filter((line) => line.trim() !== "");
  return refs.flatMap((line) => {
    const [, local = "", , there = ""] = line.trim().split(" ");
    if (!isObjectId(local) || !isObjectId(there)) {
      throw new DeaddropError("usage", `"${line}" is no line of a pre-push hook`, {
        hint: "git gives the hook: <local ref> <local id> <remote ref> <remote id>",
      });
    }
    return isNothing(local) ? [] : [pushedRef(git, local, there)];
  });
}

function pushedRef(git: Git, local: string, there: string): Changes {
  const known = isNothing(there) || !hasCommit(git, there) ? [] : [there];
  const listed = git(["rev-list", "--boundary", local, "--not", "--remotes", ...known]);
  const commits = listed
    .toString("utf8")
    .split("\n")
    .filter((each) => each !== "");
  const isNew = commits.some((each) => !each.startsWith("-"));
  const edges = bounded(commits.flatMap((each) => (each.startsWith("-") ? [each.slice(1)] : [])));
  const from = edges.length > 0 ? edges : [emptyTree(git)];
  const bases = (ids: readonly string[]): Base[] =>
    ids.map((base) => ({
      changed: fieldsOf(git(["diff-tree", "-r", ...NAMES, base, local, "--"])),
      files: (folder) => filesOf(git, base, folder),
    }));
  return {
    from: isNew ? bases(from) : [],
    replaced: bases(known.filter((id) => !isNew || !edges.includes(id))),
    files: (folder) => filesOf(git, local, folder),
  };
}

/** The files of a commit or a tree: `<mode> <type> <id>`, a tab, the path. */
function filesOf(git: Git, tree: string, folder: string): ReadonlyMap<string, Blob> {
  const output = git(["ls-tree", "-r", "-z", "--full-tree", tree, "--", ...wanted(folder)]);
  return entries(output, ([mode = "", , id = ""]) => ({ mode, id }));
}

/** Of the whole repository, where the wire is one itself. */
function wanted(folder: string): string[] {
  return folder === "" ? [] : [folder];
}

/** False for a commit of the other side that was never fetched, and for HEAD before the first commit. */
function hasCommit(git: Git, name: string): boolean {
  return git(["cat-file", "--batch-check"], `${name}\n`).toString("utf8").includes(" commit ");
}

function emptyTree(git: Git): string {
  return git(["hash-object", "-t", "tree", "--stdin"]).toString("utf8").trim();
}

const isObjectId = (text: string): boolean => /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/.test(text);
const isNothing = (id: string): boolean => /^0+$/.test(id);

function bounded(ids: readonly string[]): string[] {
  if (ids.length <= MAX_BASES) return [...ids];
  throw new DeaddropError(
    "refused",
    `it is built on ${ids.length} commits, at most ${MAX_BASES} are compared`,
    {
      hint: "push it in smaller steps",
    },
  );
}

function fieldsOf(output: Buffer): string[] {
  return output
    .toString("utf8")
    .split("\0")
    .filter((field) => field !== "");
}

function entries(output: Buffer, read: (words: string[]) => Blob): Map<string, Blob> {
  return new Map(
    fieldsOf(output).map((field) => {
      const tab = field.indexOf("\t");
      return [field.slice(tab + 1), read(field.slice(0, tab).split(" "))];
    }),
  );
}
