import { lstatSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { DeaddropError } from "../../api/errors.ts";
import { isProjectPattern, patternCovers } from "../../protocol/decisions/path-match.ts";
import { quote } from "../../wire/quote.ts";
import { StorageError } from "../../storage/disk/disk.ts";
import { calling } from "../../storage/disk/errno.ts";
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
  const listed = absent.slice(0, SHOWN).map((pattern) => quote(pattern));
  if (absent.length > SHOWN) listed.push(`${absent.length - SHOWN} more`);
  return `Nothing is at ${listed.join(", ")} yet: paths begin at ${tops.join(" or ")}.`;
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
