import { existsSync } from "node:fs";
import { join, dirname } from "node:path";
import { DeaddropError } from "../../api/errors.ts";
import { isError } from "../../plans/plan/problem.ts";
import { realFile } from "../../setup/project-files.ts";
import { StorageError, type Disk } from "../../storage/disk/disk.ts";
import { lockFolder } from "../../storage/disk/kernel-lock.ts";
import { nodeDisk } from "../../storage/disk/node-disk.ts";
import { unmet } from "../format/compatibility.ts";
import { judgeSkill } from "../format/judge-skill.ts";
import { SKILL_FILE, type JudgedSkill } from "../format/skill.ts";
import type { MirrorMode } from "../mirror/manifest.ts";
import type { Drift, LibraryFiles, Mirror, MirrorPlan } from "../mirror/mirror.ts";
import { planMirror } from "../mirror/plan-mirror.ts";
import { ALL_MIRRORS, USUAL_MIRRORS } from "../mirror/tools.ts";
import { mirrorPlace, readMirror, writeMirror, type MirrorPlace } from "./mirror-folder.ts";
import { LIBRARY_FOLDER, libraryFiles, readLibrary, readSkillFolder } from "./read-library.ts";
import { readSkillFile, type FileRead } from "./read-tree.ts";

/** A project with a library. */
export interface LibraryPlace {
  readonly disk: Disk;
  readonly project: string;
  versionOf(program: string): string | undefined;
}

export interface SyncWish {
  /** Undefined: the usual ones, and all that were written before. */
  readonly mirrors: readonly string[] | undefined;
  /** Undefined: as each mirror is now; a new one has copies. */
  readonly mode: MirrorMode | undefined;
  /** Nothing is changed. */
  readonly check: boolean;
  readonly force: boolean;
  readonly adopt: boolean;
  /** Skills whose compatibility is not met here are not mirrored. */
  readonly strict: boolean;
}

/** What one mirror was found to be, and what became of it. */
export interface MirrorReport {
  readonly mirror: string;
  readonly mode: MirrorMode;
  readonly drift: readonly Drift[];
  readonly adopted: readonly Adoption[];
  /** Why it is not equal, though it was to be made so. */
  readonly trouble: { readonly text: string; readonly hint: string } | undefined;
}

export interface SyncReport {
  readonly skills: readonly JudgedSkill[];
  readonly mirrors: readonly MirrorReport[];
  /** Skills whose compatibility is not met, and what is missing. */
  readonly unmet: ReadonlyMap<string, readonly string[]>;
}

/** How long one process waits for another one that writes the mirrors of the same library. */
const SYNC_WAIT_MS = 20_000;

/** Makes mirrors equal to the library of their project, or says how they differ. Spec 7.1. */
export function syncSkills(at: LibraryPlace, wish: SyncWish): SyncReport {
  const library = libraryOf(at.project);
  if (wish.check) return syncUnlocked(at, library, wish);
  return underLock(library, () => syncUnlocked(at, library, wish));
}

/** Runs something while no other process changes this library or its mirrors. Throws DeaddropError. */
export function underLock<T>(library: string, work: () => T): T {
  const lock = lockFolder(library, SYNC_WAIT_MS);
  if (lock === undefined) {
    throw new DeaddropError("timeout", `${library} is in use by another process`, {
      hint: "wait until it has ended, and run this again; nothing was changed",
    });
  }
  try {
    return work();
  } finally {
    lock.release();
  }
}

/** The library of a project. Throws DeaddropError ("config") when there is none, or it is elsewhere. */
export function libraryOf(project: string): string {
  const library = join(project, LIBRARY_FOLDER);
  if (existsSync(library)) {
    realFile(nodeDisk(), project, library);
    return library;
  }
  throw new DeaddropError("config", `${library}: there is no library of skills`, {
    hint: "make one: deaddrop skills init",
  });
}

function syncUnlocked(at: LibraryPlace, library: string, wish: SyncWish): SyncReport {
  const names = wish.mirrors ?? mirrorsOf(at.project, library);
  const adopted = names.map((mirror) =>
    wish.adopt && !wish.check ? adoptIn(at, library, mirror, wish) : [],
  );
  const look = lookAt(at, library);
  const mirrors = names.map((mirror, index) =>
    syncMirror(at, { library, ...look }, mirror, wish, adopted[index] ?? []),
  );
  return { skills: look.skills, mirrors, unmet: look.unmet };
}

interface Look {
  readonly skills: readonly JudgedSkill[];
  readonly files: LibraryFiles;
  readonly unmet: ReadonlyMap<string, readonly string[]>;
}

function lookAt({ versionOf }: LibraryPlace, library: string): Look {
  const skills = readLibrary(library);
  const missing = new Map<string, readonly string[]>();
  for (const { skill } of skills) {
    if (skill?.compatibility === undefined) continue;
    const found = unmet(skill.compatibility, versionOf);
    if (found.length > 0) missing.set(skill.name, found);
  }
  return { skills, files: libraryFiles(skills), unmet: missing };
}

/** The usual mirrors, and those that we have written before. */
export function mirrorsOf(project: string, library: string): string[] {
  return ALL_MIRRORS.filter((mirror) => {
    if (USUAL_MIRRORS.includes(mirror)) return true;
    if (!existsSync(join(project, mirror))) return false;
    const place = mirrorPlace(project, library, mirror);
    return place !== "library" && readMirror(place).manifest !== undefined;
  });
}

function adoptIn(at: LibraryPlace, library: string, mirror: string, wish: SyncWish): Adoption[] {
  const place = mirrorPlace(at.project, library, mirror);
  if (place === "library") return [];
  const look = lookAt(at, library);
  const state = readMirror(place);
  const { drift } = planned(state, look, { ...wish, force: false });
  return adoptEdits(at.disk, place, { library: look.files, mirror: state, drift });
}

function planned(
  state: Mirror,
  { skills, files, unmet: missing }: Look,
  wish: SyncWish,
): MirrorPlan {
  const mode = wish.mode ?? state.manifest?.mode ?? "copy";
  const held = new Set(
    skills.filter(({ skill }) => skill === undefined).map((each) => each.folder.name),
  );
  if (wish.strict) for (const name of missing.keys()) held.add(name);
  const mirrored = new Map([...files].filter(([name]) => !held.has(name)));
  const own = { keepsExtra: false, sharesFolders: false };
  return planMirror(mirrored, state, { mode, force: wish.force, ...own, held });
}

function syncMirror(
  at: LibraryPlace,
  look: Look & { readonly library: string },
  mirror: string,
  wish: SyncWish,
  adopted: readonly Adoption[],
): MirrorReport {
  const mode = wish.mode ?? "copy";
  const nothing = { mirror, adopted, mode, drift: [], trouble: undefined };
  let plan: MirrorPlan | undefined;
  try {
    const place = mirrorPlace(at.project, look.library, mirror);
    if (place === "library") return { ...nothing, mode: "symlink" };
    plan = planned(readMirror(place), look, wish);
    if (!wish.check) writeMirror(place, plan);
    return { ...nothing, mode: plan.manifest.mode, drift: plan.drift };
  } catch (error) {
    const trouble = troubleOf(error);
    if (trouble === undefined) throw error;
    // The other mirrors are written; this one is not called equal.
    return { ...nothing, drift: plan?.drift ?? [], trouble };
  }
}

function troubleOf(error: unknown): MirrorReport["trouble"] {
  if (error instanceof StorageError) {
    const hint = error.code === "read_only" ? "mount it writable" : error.hint;
    return { text: error.message, hint };
  }
  if (error instanceof DeaddropError) return { text: error.message, hint: error.hint ?? "" };
  return undefined;
}

/** Whether a mirror has every usable skill as the library has it. */
export function isEqual({ drift, trouble }: MirrorReport, isCheck: boolean): boolean {
  return (
    trouble === undefined && (isCheck ? drift.length === 0 : drift.every((each) => !each.isKept))
  );
}

/** What became of one file that was changed in a mirror. */
export interface Adoption {
  readonly skill: string;
  readonly path: string;
  /** Undefined: it is in the library now. */
  readonly refused: string | undefined;
}

/**
 * Brings home what was edited or added in a mirror. What the library has changed as well is left to people,
 * and so is what would make a skill unusable. Spec 7.1.
 */
function adoptEdits(
  disk: Disk,
  place: MirrorPlace,
  found: {
    readonly library: LibraryFiles;
    readonly mirror: Mirror;
    readonly drift: readonly Drift[];
  },
): Adoption[] {
  return found.drift
    .filter(({ kind, isKept }) => isKept && (kind === "edited" || kind === "extra"))
    .flatMap(({ skill, path }) => {
      if (path === null) return [];
      return [{ skill, path, refused: adoptFile(disk, place, found, { skill, path }) }];
    });
}

function adoptFile(
  disk: Disk,
  { folder, library: home }: MirrorPlace,
  { library, mirror }: { readonly library: LibraryFiles; readonly mirror: Mirror },
  { skill, path }: { readonly skill: string; readonly path: string },
): string | undefined {
  const ours = library.get(skill);
  if (ours === undefined) return "the library has no such skill";
  const known = mirror.manifest?.skills.get(skill);
  const base = known === undefined || known === "link" ? undefined : known.get(path);
  if (ours.get(path)?.sha256 !== base)
    return "the library has changed it, too: bring the two together";
  const file = readSkillFile(join(folder, skill, path));
  if (file === undefined) return "it is no file that can be read";
  if (path === SKILL_FILE) {
    const wrong = problemOf(home, skill, file);
    if (wrong !== undefined) return `it would not be valid: ${wrong}`;
  }
  const target = join(home, skill, path);
  disk.makeFolder(dirname(target), 0o755);
  disk.replace(target, file.bytes, file.isExecutable ? 0o755 : 0o644);
  return undefined;
}

/** What is wrong with a skill of the library if its text were this one. */
function problemOf(library: string, skill: string, text: FileRead): string | undefined {
  const now = readSkillFolder(library, skill);
  const files = new Map([...now.files, [SKILL_FILE, text] as const]);
  const markdown = new TextDecoder().decode(text.bytes);
  return judgeSkill({ ...now, files, markdown }).problems.find(isError)?.text;
}
