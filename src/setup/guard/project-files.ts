import { lstatSync, readdirSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { DeaddropError } from "../../api/errors.ts";
import { isProjectPattern, patternCovers } from "../../protocol/claims/path-match.ts";
import { quote } from "../../wire/quote.ts";
import { StorageError } from "../../storage/disk/disk.ts";
import { calling } from "../../storage/disk/errno.ts";
import { gitIn, type Git } from "./git.ts";
import { projectPath, type Project } from "./project-paths.ts";

/** Entries of a folder that are looked at, those below it included. */
const MAX_ENTRIES = 50_000;
/** Patterns that match nothing and are named. */
const SHOWN = 8;
/** Nobody claims what is in these, and they can be very large. */
const SKIPPED_FOLDERS: ReadonlySet<string> = new Set([".git", "node_modules"]);

/**
 * What an absolute path stands for, as domains and claims name it: the files in a folder and below it,
 * the wire's own left out; else the path itself. Undefined for a path that is outside of the project.
 * Throws DeaddropError when there are too many.
 */
export function projectFiles(project: Project, path: string): string[] | undefined {
  const named = projectPath(project, path);
  if (named === undefined) return undefined;
  const files = (isFolder(path) ? entriesBelow(path, project.wireDir) : [])
    .filter((each) => !each.isFolder)
    .flatMap((each) => projectPath(project, each.path) ?? []);
  if (files.length > 0) return files;
  return named === "" ? undefined : [named];
}

/** The same of paths that are named as domains and claims name them. */
export function filesNamed(project: Project, paths: readonly string[]): string[] {
  return paths.flatMap((path) => {
    const full = topsOf(project)
      .map((top) => join(top, path))
      .find((each) => exists(each));
    return (full === undefined ? undefined : projectFiles(project, full)) ?? [path];
  });
}

/** Paths that a message names, and what its sender is told of them. */
export interface NamedPaths {
  readonly paths: readonly string[];
  readonly note: string | undefined;
}

/**
 * Patterns as they are sent: one that names a folder which exists here ends with `/`, so that every
 * reader knows that all of it is meant. Spec 3.6.
 */
export function namedPaths(project: Project, patterns: readonly string[]): NamedPaths {
  const paths = patterns.map((pattern) => {
    if (pattern.endsWith("/") || !isProjectPattern(pattern)) return pattern;
    return topsOf(project).some((top) => isFolder(join(top, pattern))) ? `${pattern}/` : pattern;
  });
  return { paths, note: absentNote(project, patterns) };
}

/** Says which of these patterns match nothing that exists; undefined when each matches something. */
export function absentNote(project: Project, patterns: readonly string[]): string | undefined {
  const tops = topsOf(project);
  const absent = patterns.filter((pattern) => !tops.some((top) => matchesAny(top, pattern)));
  if (absent.length === 0) return undefined;
  return `Nothing is at ${listed(absent)} yet: paths begin at ${tops.join(" or ")}.`;
}

/** A commit, and any other address: only commits are looked up. */
const ADDRESS = /^[a-z][a-z0-9+.-]*:/i;
const COMMIT = /^git:([0-9a-f]{4,64})$/i;
/** Behind a path, the place in the file: `:12`, `:12-20`, `#L12`. */
const PLACE_IN_FILE = /(?::\d+(?:[-:]\d+)?|#[^/]*)$/u;

/**
 * Says which of the paths and commits that a message refers to are not here, relative to `folder` or to
 * the project; undefined when all are, or nothing can be said of them.
 */
export function refsNote(
  project: Project,
  folder: string,
  refs: readonly string[],
  env: NodeJS.ProcessEnv,
): string | undefined {
  const paths = refs
    .filter((ref) => !ADDRESS.test(ref))
    .map((ref) => ref.replace(PLACE_IN_FILE, ""))
    .filter((path) => path !== "" && isAbsent(resolve(folder, path)));
  const notes = [absentNote(project, paths), commitsNote(project, refs, env)];
  return notes.filter((note) => note !== undefined).join("\n") || undefined;
}

/** False as well of what the system does not let us look at, or takes for no path. */
function isAbsent(path: string): boolean {
  try {
    return !exists(path);
  } catch (error) {
    if (error instanceof Error && "code" in error) return false;
    throw error;
  }
}

function commitsNote(
  { workTree }: Project,
  refs: readonly string[],
  env: NodeJS.ProcessEnv,
): string | undefined {
  const named = refs.filter((ref) => ref.startsWith("git:"));
  if (named.length === 0 || workTree === undefined) return undefined;
  const git = gitIn(workTree.top, env);
  const absent = named.filter((ref) => {
    const id = COMMIT.exec(ref)?.[1];
    return id === undefined || !hasCommit(git, id);
  });
  if (absent.length === 0) return undefined;
  return `No commit of this repository is named by ${listed(absent)}: a commit is git: and 4 or more digits of its id.`;
}

function hasCommit(git: Git, id: string): boolean {
  try {
    git(["cat-file", "-e", `${id}^{commit}`]);
    return true;
  } catch (error) {
    if (!(error instanceof DeaddropError)) throw error;
    // Without git nothing can be said of commits.
    return error.code === "config";
  }
}

function listed(texts: readonly string[]): string {
  const shown = texts.slice(0, SHOWN).map((text) => quote(text));
  if (texts.length > SHOWN) shown.push(`${texts.length - SHOWN} more`);
  return shown.join(", ");
}

function topsOf({ holder, workTree }: Project): string[] {
  return [...new Set([holder, workTree?.top ?? holder])];
}

/** True as well where there is too much to look at. */
function matchesAny(top: string, pattern: string): boolean {
  // A pattern that leads out of the project never matches, whatever is there.
  if (!isProjectPattern(pattern)) return false;
  const names = pattern.split("/");
  const firstWild = names.findIndex((name) => /[*?]/u.test(name));
  const fixed = names.slice(0, firstWild === -1 ? names.length : firstWild).join("/");
  const folder = join(top, fixed);
  if (!exists(folder)) return false;
  if (firstWild === -1 || names.slice(firstWild).every((name) => name === "**")) return true;
  try {
    return entriesBelow(folder).some(({ path }) => patternCovers(pattern, relative(top, path)));
  } catch (error) {
    if (error instanceof DeaddropError || error instanceof StorageError) return true;
    throw error;
  }
}

interface Entry {
  readonly path: string;
  readonly isFolder: boolean;
}

function entriesBelow(top: string, skipped?: string): Entry[] {
  const found: Entry[] = [];
  const folders = [top];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const path = folder;
    for (const entry of calling(path, "listing", () =>
      readdirSync(path, { withFileTypes: true }),
    )) {
      const each = { path: join(path, entry.name), isFolder: entry.isDirectory() };
      if (each.isFolder && (SKIPPED_FOLDERS.has(entry.name) || each.path === skipped)) continue;
      if (found.push(each) > MAX_ENTRIES) throw tooMany(top);
      if (each.isFolder) folders.push(each.path);
    }
  }
  return found;
}

function tooMany(folder: string): DeaddropError {
  return new DeaddropError("usage", `there are more than ${MAX_ENTRIES} files in ${folder}`, {
    hint: "name the folders or files in it that you mean to edit",
  });
}

function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}
