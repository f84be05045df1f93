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

/** One file before and after; undefined: it is not there. Paths begin at the top of the work tree. */
export interface Change {
  readonly path: string;
  readonly before: Blob | undefined;
  readonly after: Blob | undefined;
}

/** What a commit or a push changes. */
export interface Changes {
  /**
   * What differs from each state that it is built on: of a merge there are several, and a file that is as
   * in one of them was changed by nobody here.
   */
  readonly from: readonly (readonly Change[])[];
  /** States whose logs have to be kept besides: what a forced push takes the place of. */
  readonly replaced: readonly (readonly Change[])[];
  /** All files below a folder, as they are afterwards. */
  listed(folder: string): ReadonlyMap<string, Blob>;
}

const MAX_BASES = 64;
const RAW = ["--raw", "-z", "--no-renames", "--no-abbrev"];
const INDEX_RAW = [...RAW, "--no-ext-diff", "--no-relative", "--ignore-submodules=none"];

/** Paths that differ from all of those states. */
export function changedPaths({ from }: Changes): string[] {
  const [first = [], ...others] = from.map((changes) => new Set(changes.map(({ path }) => path)));
  return [...first].filter((path) => others.every((each) => each.has(path)));
}

/** What is staged, against HEAD; in a merge also against what is merged. */
export function stagedChanges({ git, gitFolder }: Repository): Changes {
  const bases = [[], ...mergeHeads(gitFolder).map((id) => [id])];
  return {
    from: bases.map((base) => parseRaw(git(["diff", "--cached", ...INDEX_RAW, ...base, "--"]))),
    replaced: [],
    listed: (folder) => parseIndex(git(["ls-files", "-s", "-z", "--", ...wanted(folder)])),
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
  const between = (base: string): Change[] =>
    parseRaw(git(["diff-tree", "-r", ...RAW, base, local, "--"]));
  const bases = edges.length > 0 ? edges : [emptyTree(git)];
  return {
    from: isNew ? bases.map((base) => between(base)) : [],
    replaced: known.filter((id) => !isNew || !edges.includes(id)).map((id) => between(id)),
    listed: (folder) =>
      parseTree(git(["ls-tree", "-r", "-z", "--full-tree", local, "--", ...wanted(folder)])),
  };
}

/** Of the whole repository, where the wire is one itself. */
function wanted(folder: string): string[] {
  return folder === "" ? [] : [folder];
}

/** A commit that the other side has and that was never fetched is not here. */
function hasCommit(git: Git, id: string): boolean {
  return git(["cat-file", "--batch-check"], `${id}\n`).toString("utf8").includes(" commit ");
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

function* fieldsOf(output: Buffer): Generator<string> {
  for (const field of output.toString("utf8").split("\0")) if (field !== "") yield field;
}

/** `:<mode> <mode> <id> <id> <letter>`, then the path. */
function parseRaw(output: Buffer): Change[] {
  const changes: Change[] = [];
  const fields = fieldsOf(output);
  for (const about of fields) {
    const [before = "", after = "", idBefore = "", idAfter = ""] = about.slice(1).split(" ");
    const path = fields.next().value as string;
    changes.push({ path, before: blob(before, idBefore), after: blob(after, idAfter) });
  }
  return changes;
}

function blob(mode: string, id: string): Blob | undefined {
  return mode === "000000" ? undefined : { mode, id };
}

/** `<mode> <id> <stage>`, a tab, the path. */
function parseIndex(output: Buffer): Map<string, Blob> {
  return entries(output, ([mode = "", id = ""]) => ({ mode, id }));
}

/** `<mode> <type> <id>`, a tab, the path. */
function parseTree(output: Buffer): Map<string, Blob> {
  return entries(output, ([mode = "", , id = ""]) => ({ mode, id }));
}

function entries(output: Buffer, read: (words: string[]) => Blob): Map<string, Blob> {
  const found = new Map<string, Blob>();
  for (const field of fieldsOf(output)) {
    const tab = field.indexOf("\t");
    found.set(field.slice(tab + 1), read(field.slice(0, tab).split(" ")));
  }
  return found;
}
