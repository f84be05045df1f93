import { existsSync, rmdirSync } from "node:fs";
import { dirname } from "node:path";
import type { Disk } from "../../storage/disk/disk.ts";
import { realFile, realPathOf, textOf } from "../../setup/project-files.ts";
import type { FileEdit } from "./file-edit.ts";
import { isDeepStrictEqual } from "node:util";
import type { IntegrationRecord, Joined, Written, WrittenFile } from "./record.ts";

/** What becomes of one file; undefined: there is none. */
export interface FileChange {
  readonly path: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** The files that are changed: those of a project, or the person's own. */
export interface Root {
  readonly disk: Disk;
  /** Nothing outside of it is written; undefined: the person's own files, wherever their links lead. */
  readonly root: string | undefined;
  /** But for this file: the repository of a linked work tree is elsewhere. */
  readonly exclude?: string | undefined;
}

/** The same, of a tool that is joined or taken out. */
export interface Place extends Root {
  readonly joined: Joined;
}

/** Tools that have files for the person in a project, beside those of the project. */
const WITH_LOCAL_FILES: readonly string[] = ["claude", "copilot"];

/** For whom a file is written. */
function userOf({ joined: { tool, scope } }: Place): string {
  return `${tool} ${scope === "local" && !WITH_LOCAL_FILES.includes(tool) ? "project" : scope}`;
}

const [NEW_FILE, NEW_FOLDER] = [0o644, 0o755];

/** What joining would change; nothing when all is there. Throws DeaddropError ("config"). */
export function joiningChanges(place: Root, edits: readonly FileEdit[]): FileChange[] {
  return changesOf(place, edits, (edit, before) => edit.put(before));
}

/**
 * What taking it out would change: a file that is as we left it gets back what was there before; from
 * one that was changed since, our part alone is taken.
 */
export function removalChanges(
  place: Place,
  edits: readonly FileEdit[],
  { files }: Written,
): FileChange[] {
  return changesOf(place, edits, (edit, before) => {
    if (before === undefined) return undefined;
    const known = files[edit.path];
    const isUsed = known?.users.some((user) => user !== userOf(place)) === true;
    if (isUsed || (known === undefined && edit.isShared)) return before;
    return known?.after === before ? (known.before ?? undefined) : edit.take(before);
  });
}

/** Writes what joins the tool, each file by a rename; what was there before is recorded first. */
export function join(
  place: Place,
  edits: readonly FileEdit[],
  changes: readonly FileChange[],
  record: IntegrationRecord,
): void {
  const { files, folders, joined } = record.read();
  const next: Record<string, WrittenFile> = { ...files };
  for (const { path, before, after } of changes) {
    const known = files[path];
    const isOurs = known !== undefined && known.after === before;
    const edit = edits.find((each) => each.path === path);
    // Where others have written since, what is there without our part is what it goes back to.
    const original = isOurs ? known.before : before === undefined ? null : edit?.take(before);
    next[path] = { before: original ?? null, after: after ?? "", users: known?.users ?? [] };
  }
  for (const { path } of edits) {
    const known = next[path];
    if (known === undefined) continue;
    next[path] = { ...known, users: [...new Set([...known.users, userOf(place)])] };
  }
  const made = changes.flatMap(({ path }) => missingFolders(path));
  record.write({
    files: next,
    folders: [...new Set([...folders, ...made])],
    joined: [...without(joined, place), place.joined],
  });
  for (const change of changes) writeChange(place, change);
}

/** Writes what takes the tool out, and removes the folders that were made for it and are empty. */
export function remove(
  place: Place,
  edits: readonly FileEdit[],
  changes: readonly FileChange[],
  record: IntegrationRecord,
): void {
  const { files, folders, joined } = record.read();
  for (const change of changes) writeChange(place, change);
  const next: Record<string, WrittenFile> = { ...files };
  for (const { path } of edits) {
    const known = next[path];
    const users = known?.users.filter((user) => user !== userOf(place)) ?? [];
    if (known === undefined || users.length === 0) Reflect.deleteProperty(next, path);
    else next[path] = { ...known, users };
  }
  for (const folder of folders.toReversed()) removeEmpty(folder);
  record.write({
    files: next,
    folders: folders.filter((folder) => existsSync(folder)),
    joined: without(joined, place),
  });
}

function without(joined: readonly Joined[], place: Place): Joined[] {
  return joined.filter((each) => !isDeepStrictEqual(each, place.joined));
}

function changesOf(
  place: Root,
  edits: readonly FileEdit[],
  next: (edit: FileEdit, before: string | undefined) => string | undefined,
): FileChange[] {
  return edits.flatMap((edit) => {
    const before = textOf(place.disk, realIn(place, edit.path));
    const after = next(edit, before);
    return before === after ? [] : [{ path: edit.path, before, after }];
  });
}

/** Writes one file by a rename, or removes it. */
export function writeChange(place: Root, { path, after }: FileChange): void {
  const { disk } = place;
  const real = realIn(place, path);
  if (after === undefined) {
    disk.remove(real);
    return;
  }
  disk.makeFolder(dirname(real), NEW_FOLDER);
  disk.replace(real, Buffer.from(after, "utf8"), disk.stat(real)?.mode ?? NEW_FILE);
}

function realIn({ disk, root, exclude }: Root, path: string): string {
  return root === undefined || path === exclude
    ? realPathOf(disk, path)
    : realFile(disk, root, path);
}

/** Outermost first. */
function missingFolders(path: string): string[] {
  const folder = dirname(path);
  return existsSync(folder) ? [] : [...missingFolders(folder), folder];
}

function removeEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // Something else is in it by now, or it has gone.
  }
}
