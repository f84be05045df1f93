import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { DeaddropError } from "../../api/errors.ts";
import { nameProblem } from "../format/skill.ts";
import { calling, errnoOf } from "../../storage/disk/errno.ts";
import { MANIFEST_FILE, manifestText, readManifest, type Manifest } from "../mirror/manifest.ts";
import type { Mirror, MirrorAction, MirrorEntry, MirrorPlan, TreeEntry } from "../mirror/mirror.ts";
import { bytesOf } from "./read-library.ts";
import { readTree, realPathOf } from "./read-tree.ts";

const [PLAIN, EXECUTABLE, FOLDER] = [0o644, 0o755, 0o755];
const TEMPORARY = ".deaddrop-tmp-";
const MAX_MANIFEST_BYTES = 4 * 1_024 * 1_024;

/** A folder in which a tool looks for skills, and the library that it repeats. */
export interface MirrorPlace {
  /** Its real path is checked: a repository must not lead us to write elsewhere. */
  readonly folder: string;
  readonly library: string;
  readonly project: string;
}

/**
 * Where a mirror of a project is; "library" when it is a link to the library itself. Throws DeaddropError
 * ("config") when it leads out of the project.
 */
export function mirrorPlace(
  project: string,
  library: string,
  mirror: string,
): MirrorPlace | "library" {
  const folder = join(project, mirror);
  const real = realOf(folder);
  const home = realOf(library);
  if (real === home) return "library";
  const isInside = real.startsWith(`${realpathSync(project)}${sep}`);
  if (isInside && !real.startsWith(`${home}${sep}`) && !home.startsWith(`${real}${sep}`)) {
    return { folder, library, project };
  }
  throw new DeaddropError("config", `${folder} is a link to ${real}`, {
    hint: "make it a folder of the project; nothing was changed there",
  });
}

/** Of what is there already; the rest of a path is made by us. */
function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT" || lstatSync(path, { throwIfNoEntry: false }) !== undefined) {
      throw new DeaddropError("config", `${path} is a link that leads nowhere`, {
        hint: "remove it; nothing was changed",
        cause: error,
      });
    }
    return join(realOf(dirname(path)), path.slice(dirname(path).length));
  }
}

/** What a mirror holds now. Throws StorageError. */
export function readMirror(place: MirrorPlace): Mirror {
  const { folder } = place;
  const entries = new Map<string, MirrorEntry>();
  if (!existsSync(folder)) return { entries, manifest: undefined };
  const found = calling(folder, "listing", () => readdirSync(folder, { withFileTypes: true }));
  for (const { name } of found) {
    // Other names are none of ours, and never used as a path.
    if (nameProblem(name) === undefined) entries.set(name, entryAt(place, name));
  }
  return { entries, manifest: manifestIn(folder) };
}

function entryAt({ folder, library, project }: MirrorPlace, name: string): MirrorEntry {
  const path = join(folder, name);
  const stat = lstatSync(path);
  if (stat.isSymbolicLink()) {
    const leads = leadsTo(path, join(library, name));
    const real = leads === "elsewhere" ? realpathSync(path) : undefined;
    const isOfProject = real?.startsWith(`${realpathSync(project)}${sep}`) === true;
    if (!isOfProject || !statSync(real).isDirectory()) return { kind: "link", leads };
    return { kind: "link", leads, tree: treeOf(real) };
  }
  return stat.isDirectory() ? { kind: "folder", tree: treeOf(path) } : { kind: "other" };
}

function treeOf(folder: string): Map<string, TreeEntry> {
  const { entries, cut } = readTree(folder);
  // What was not read may be anybody's work.
  return new Map(cut === undefined ? entries : [...entries, [cut, { kind: "other" }]]);
}

function leadsTo(link: string, home: string): "home" | "elsewhere" | "nowhere" {
  const real = realPathOf(link);
  if (real === undefined) return "nowhere";
  return real === realPathOf(home) ? "home" : "elsewhere";
}

function manifestIn(folder: string): Manifest | undefined {
  const path = join(folder, MANIFEST_FILE);
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat?.isFile() !== true || stat.size > MAX_MANIFEST_BYTES) return undefined;
  return readManifest(calling(path, "reading", () => readFileSync(path, "utf8")));
}

/** Carries out what makes a mirror equal, then notes it. Throws StorageError. */
export function writeMirror(place: MirrorPlace, { actions, manifest }: MirrorPlan): void {
  const { folder } = place;
  if (actions.length > 0) {
    calling(folder, "making", () => makeFolders(folder));
    removeLeftOvers(folder);
  }
  for (const action of actions) calling(folder, "writing", () => act(place, action));
  const text = manifestText(manifest);
  const path = join(folder, MANIFEST_FILE);
  const isThere = existsSync(path);
  if (!isThere && manifest.skills.size === 0) return;
  if (isThere && readFileSync(path, "utf8") === text) return;
  calling(path, "writing", () => put(folder, path, Buffer.from(text), false));
}

function act(place: MirrorPlace, action: MirrorAction): void {
  const { folder, library } = place;
  const skill = join(folder, action.skill);
  switch (action.do) {
    case "write": {
      const source = join(library, action.skill, action.path);
      const isExecutable = (statSync(source).mode & 0o100) !== 0;
      const path = join(skill, action.path);
      makeFolders(dirname(path));
      put(folder, path, bytesOf(library, source), isExecutable);
      break;
    }
    case "mode":
      chmodSync(join(skill, action.path), action.to ? EXECUTABLE : PLAIN);
      break;
    case "remove":
      rmSync(join(skill, action.path), { force: true });
      removeEmptyFolders(dirname(join(skill, action.path)), folder);
      break;
    case "clear":
      rmSync(skill, { recursive: true, force: true });
      break;
    case "link":
      symlinkSync(relative(realpathSync(folder), join(realpathSync(library), action.skill)), skill);
      break;
  }
}

/** One by one: Node's way to make them all says of a read-only disk that there is no such folder. */
function makeFolders(folder: string): void {
  if (existsSync(folder)) return;
  makeFolders(dirname(folder));
  try {
    mkdirSync(folder, { mode: FOLDER });
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
  }
}

/** By a rename, so that no tool reads half a file. A mirror can be made again: nothing is synced. */
function put(folder: string, path: string, bytes: Uint8Array, isExecutable: boolean): void {
  const temporary = join(folder, `${TEMPORARY}${process.pid}`);
  writeFileSync(temporary, bytes, { mode: isExecutable ? EXECUTABLE : PLAIN });
  chmodSync(temporary, isExecutable ? EXECUTABLE : PLAIN);
  renameSync(temporary, path);
}

function removeLeftOvers(folder: string): void {
  for (const name of readdirSync(folder)) {
    if (name.startsWith(TEMPORARY)) rmSync(join(folder, name), { force: true });
  }
}

function removeEmptyFolders(from: string, upTo: string): void {
  for (let at = from; at !== upTo; at = dirname(at)) {
    try {
      rmdirSync(at);
    } catch (error) {
      if (["ENOTEMPTY", "EEXIST", "ENOENT"].includes(errnoOf(error) ?? "")) return;
      throw error;
    }
  }
}
