import { basename, join } from "node:path";
import { parsePlainObject } from "../../wire/json/plain-object.ts";
import { readWhole, StorageError, type Disk } from "../disk/disk.ts";
import { isWireKey, programFolder, wireKeyOf, type AgentPaths, type Places } from "../paths.ts";
import { PRIVATE_FILE, PRIVATE_FOLDER } from "../disk/file-modes.ts";

/** Notes which wire folder a private folder belongs to. */
const WIRE_NOTE = "wire.json";

/** Makes an agent's private folders, and refuses those that others can write. Spec 4.6, 2.1. */
export function preparePrivateFolders(disk: Disk, paths: AgentPaths): void {
  for (const folder of [paths.configDir, paths.stateDir]) {
    disk.makeFolder(folder, PRIVATE_FOLDER);
    // The permission bits of a link say nothing.
    const isLink = disk.stat(folder)?.kind === "symlink";
    const mode = disk.stat(isLink ? disk.realPath(folder) : folder)?.mode ?? 0;
    if ((mode & 0o022) !== 0) {
      throw new StorageError("unsafe_mode", folder, "other users can write there", {
        hint: `chmod 700 ${folder}`,
      });
    }
  }
}

/**
 * The key under which a wire's private folders are: the one remembered for this path (a peer that
 * edits `wire_id`, or an id given later, must not make us forget pins and heads), else by id or path. The id is
 * asked for only where what is remembered leaves a choice.
 */
export function resolveWireKey(
  disk: Disk,
  places: Places,
  handle: string,
  realWireDir: string,
  wireId: string | undefined | (() => string | undefined),
): string {
  const [first, ...others] = rememberedKeys(disk, places, handle, realWireDir);
  if (first !== undefined && others.length === 0) return first;
  const computed = wireKeyOf(typeof wireId === "function" ? wireId() : wireId, realWireDir);
  return first === undefined || others.includes(computed) ? computed : first;
}

/** Notes which wire folder the private folder belongs to. */
export function rememberWire(disk: Disk, paths: AgentPaths, wireId: string | undefined): void {
  const note = { wire_dir: paths.wireDir, ...(wireId === undefined ? {} : { wire_id: wireId }) };
  const bytes = Buffer.from(`${JSON.stringify(note)}\n`, "utf8");
  const current = readWhole(disk, paths.remembered);
  if (current !== undefined && bytes.equals(current)) return;
  disk.replace(paths.remembered, bytes, PRIVATE_FILE);
}

/** An identity of this user that has joined a wire, and the wire's folder as it was last used. */
export interface JoinedWire {
  readonly handle: string;
  readonly wireKey: string;
  readonly wireDir: string;
}

/** All wires that identities of this user have joined. Spec 4.6. */
export function joinedWires(disk: Disk, places: Places): readonly JoinedWire[] {
  return wireFolders(disk, places).flatMap((folder) =>
    disk.list(folder).flatMap((handle) => {
      const wireDir = rememberedDir(disk, join(folder, handle));
      return wireDir === undefined ? [] : { handle, wireKey: basename(folder), wireDir };
    }),
  );
}

/** Whether an agent of this user, whichever, has been on the wire in that folder. Spec 4.6. */
export function isRememberedWire(disk: Disk, places: Places, realWireDir: string): boolean {
  return joinedWires(disk, places).some(({ wireDir }) => wireDir === realWireDir);
}

function rememberedDir(disk: Disk, agentFolder: string): string | undefined {
  if (!isFolder(disk, agentFolder)) return undefined;
  const bytes = readWhole(disk, join(agentFolder, WIRE_NOTE));
  // It is written atomically; where a person has broken it, the computed key serves.
  const wireDir = bytes && parsePlainObject(bytes)?.["wire_dir"];
  return typeof wireDir === "string" ? wireDir : undefined;
}

/** A new wire was made where another one was: the old one's private folders stay, unattached. */
export function forgetWire(disk: Disk, places: Places, handle: string, realWireDir: string): void {
  for (const key of rememberedKeys(disk, places, handle, realWireDir)) {
    disk.remove(join(programFolder(places), key, handle, WIRE_NOTE));
  }
}

function rememberedKeys(
  disk: Disk,
  places: Places,
  handle: string,
  realWireDir: string,
): readonly string[] {
  return wireFolders(disk, places)
    .filter((folder) => rememberedDir(disk, join(folder, handle)) === realWireDir)
    .map((folder) => basename(folder));
}

/** The folders of all wires of this user. */
function wireFolders(disk: Disk, places: Places): readonly string[] {
  const folder = programFolder(places);
  return disk
    .list(folder)
    .filter(isWireKey)
    .map((key) => join(folder, key))
    .filter((path) => isFolder(disk, path));
}

/** A private folder may be a link to one on another disk. */
function isFolder(disk: Disk, path: string): boolean {
  const kind = disk.stat(path)?.kind;
  if (kind !== "symlink") return kind === "folder";
  try {
    return disk.stat(disk.realPath(path))?.kind === "folder";
  } catch (error) {
    if (error instanceof StorageError) return false;
    throw error;
  }
}

/** The agents of this user that are on that wire: they have private folders for it. */
export function agentsHere(
  disk: Disk,
  places: Places,
  wireKey: string,
  handle: string,
): ReadonlySet<string> {
  const folder = join(programFolder(places), wireKey);
  const found = disk.list(folder).filter((name) => isAgentHere(disk, places, wireKey, name));
  return new Set([handle, ...found]);
}

/** Whether an agent of that handle is one of them. */
export function isAgentHere(disk: Disk, places: Places, wireKey: string, handle: string): boolean {
  return disk.stat(join(programFolder(places), wireKey, handle, WIRE_NOTE)) !== undefined;
}
