import { createHash } from "node:crypto";
import { dirname, join } from "node:path";
import { parsePlainObject } from "../../wire/json/plain-object.ts";
import { readWhole, StorageError, type Disk } from "../disk/disk.ts";
import { programFolder, type Places } from "../paths.ts";
import { checkPrivate } from "./private-store.ts";
import { PRIVATE_FILE, PRIVATE_FOLDER } from "../disk/file-modes.ts";

const MAX_BINDING_BYTES = 64 * 1024;

/** A folder whose commands are of one identity. Spec 8.6. */
export interface BoundFolder {
  readonly folder: string;
  readonly handle: string;
  /** A person who sent from a terminal there was told whose signature that is. */
  readonly told?: boolean;
}

/** What the nearest folder upward is bound to, itself included. `folder` is a real path. */
export function boundAbove(disk: Disk, places: Places, folder: string): BoundFolder | undefined {
  const notes = notesFolder(places);
  if (disk.stat(notes) === undefined) return undefined;
  for (let at = folder; ; at = dirname(at)) {
    const bound = boundAt(disk, places, at);
    if (bound !== undefined || dirname(at) === at) return bound;
  }
}

/** What that folder itself is bound to. */
export function boundAt(disk: Disk, places: Places, folder: string): BoundFolder | undefined {
  const path = notePath(places, folder);
  checkPrivate(disk, path, "not_writable_by_others");
  const bytes = readWhole(disk, path, MAX_BINDING_BYTES);
  // An empty file is what a crash left of the binding.
  if (bytes === undefined || bytes.length === 0) return undefined;
  const note = parseNote(path, bytes);
  // Two paths with one hash: not ours.
  return note.folder === folder ? note : undefined;
}

/**
 * Binds a folder. Throws StorageError "exists" when it is bound already, also when another process
 * has just done so: of two agents that want the same folder one gets it.
 */
export function bindFolder(disk: Disk, places: Places, bound: BoundFolder): void {
  const path = notePath(places, bound.folder);
  disk.makeFolder(notesFolder(places), PRIVATE_FOLDER);
  const made = `${path}.${process.pid}.tmp`;
  disk.replace(made, Buffer.from(`${JSON.stringify(bound)}\n`, "utf8"), PRIVATE_FILE);
  try {
    disk.renameExclusive(made, path);
  } catch (error) {
    disk.remove(made);
    throw error;
  }
}

/** Notes that a person was told of the binding; a folder that is bound again is told of again. */
export function markTold(disk: Disk, places: Places, { folder, handle }: BoundFolder): void {
  const note = JSON.stringify({ folder, handle, told: true });
  disk.replace(notePath(places, folder), Buffer.from(`${note}\n`, "utf8"), PRIVATE_FILE);
}

export function unbindFolder(disk: Disk, places: Places, folder: string): void {
  disk.remove(notePath(places, folder));
}

function notesFolder(places: Places): string {
  return join(programFolder(places), ".folders");
}

/** A file for each folder: no two processes ever change the same one for different folders. */
function notePath(places: Places, folder: string): string {
  const name = createHash("sha256").update(folder).digest("hex").slice(0, 32);
  return join(notesFolder(places), `${name}.json`);
}

function parseNote(path: string, bytes: Uint8Array): BoundFolder {
  const { folder, handle, told } = parsePlainObject(bytes) ?? {};
  if (typeof folder === "string" && typeof handle === "string") {
    return told === true ? { folder, handle, told } : { folder, handle };
  }
  throw new StorageError("corrupt", path, "does not say which folder is bound to whom", {
    hint: `remove it, and bind the folder again: rm ${path}`,
  });
}
