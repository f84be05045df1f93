import { lstatSync, readdirSync, realpathSync, statSync, existsSync } from "node:fs";
import { join, sep, basename, dirname } from "node:path";
import { calling } from "../../storage/disk/errno.ts";
import { quote, UNSAFE } from "../../wire/quote.ts";
import { judgeSkill } from "../format/judge-skill.ts";
import { SKILL_FILE, type JudgedSkill, type SkillFile, type SkillFolder } from "../format/skill.ts";
import type { LibraryFiles } from "../mirror/mirror.ts";
import { readSkillFile, readTree, realPathOf } from "./read-tree.ts";

/** Where the library of a project is. Spec 7.1. */
export const LIBRARY_FOLDER = "agent/skills";
/** More are no list that an agent can choose from. */
const MAX_SKILLS = 2_000;
const MAX_SKILL_TEXT_BYTES = 262_144;

/** All skills of a library, judged, in the order of their names. Throws StorageError. */
export function readLibrary(library: string): JudgedSkill[] {
  const names = calling(library, "listing", () => readdirSync(library, { withFileTypes: true }))
    .filter((dirent) => !dirent.name.startsWith(".") && !dirent.isFile())
    .map(({ name }) => name)
    .toSorted();
  return names.slice(0, MAX_SKILLS).map((name) => judgeSkill(readSkillFolder(library, name)));
}

/**
 * What is under one name of a library. Skills of a library may share files by links; the folder of a
 * foreign skill is its own `boundary`, since what lies beside it is somebody's private files.
 */
export function readSkillFolder(library: string, name: string, boundary = library): SkillFolder {
  const folder = join(library, name);
  const nothing = { name, files: new Map<string, SkillFile>(), markdown: undefined };
  if (!lstatSync(folder).isDirectory()) {
    return { ...nothing, refused: ["it is a link, or no folder: a skill is a folder of its own"] };
  }
  const tree = readTree(folder);
  const refused = tree.cut === undefined ? [] : [tree.cut];
  const files = new Map<string, SkillFile>();
  for (const [path, entry] of tree.entries) {
    const file = entry.kind === "file" ? entry : fileBehind(boundary, join(folder, path));
    const isOdd = path.search(UNSAFE) !== -1 || path.includes("\\");
    if (isOdd) refused.push(`the name of a file, ${quote(path)}, has signs that it may not have`);
    else if (file === undefined) refused.push(`${quote(path)} ${notOf(boundary, library)}`);
    else files.set(path, { sha256: file.sha256, isExecutable: file.isExecutable });
  }
  return { ...nothing, files, markdown: textAt(boundary, folder, files, refused), refused };
}

function notOf(boundary: string, library: string): string {
  return boundary === library
    ? "is no file of the library"
    : "is a link that leads out of the skill, or no regular file";
}

function textAt(
  boundary: string,
  folder: string,
  files: ReadonlyMap<string, SkillFile>,
  refused: string[],
): string | undefined {
  if (!files.has(SKILL_FILE)) return undefined;
  const bytes = bytesOf(boundary, join(folder, SKILL_FILE));
  if (bytes.length > MAX_SKILL_TEXT_BYTES) {
    refused.push(`SKILL.md has ${bytes.length} bytes; at most ${MAX_SKILL_TEXT_BYTES}`);
    return "";
  }
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    refused.push("SKILL.md is no UTF-8 text");
    return "";
  }
}

/** The bytes of a file, also behind a link within the boundary. */
export function bytesOf(boundary: string, path: string): Uint8Array {
  const real = realWithin(boundary, path);
  const file = real === undefined ? undefined : readSkillFile(real);
  if (file === undefined) throw new Error(`${path} changed while it was read; run this again`);
  return file.bytes;
}

/** A file that a link leads to; undefined when that is outside of the boundary, or no file. */
function fileBehind(boundary: string, path: string): SkillFile | undefined {
  const real = realWithin(boundary, path);
  return real === undefined || !statSync(real).isFile() ? undefined : readSkillFile(real);
}

function realWithin(boundary: string, path: string): string | undefined {
  const real = realPathOf(path);
  return real?.startsWith(`${realpathSync(boundary)}${sep}`) === true ? real : undefined;
}

/** What is mirrored: the skills that can be used. */
export function libraryFiles(skills: readonly JudgedSkill[]): LibraryFiles {
  return new Map(
    skills
      .filter(({ skill }) => skill !== undefined)
      .map(({ folder }) => [folder.name, folder.files] as const),
  );
}

/**
 * Whether a file, `…/skills/<name>/SKILL.md` of a project, is written by `skills sync`, since the library of
 * that project has the skill. Nobody else writes or removes it then. Spec 7.1, 8.3.
 */
export function libraryOwns(project: string, path: string): boolean {
  const skill = dirname(path);
  if (basename(path) !== SKILL_FILE || basename(dirname(skill)) !== "skills") return false;
  if (!path.startsWith(`${project}${sep}`)) return false;
  return existsSync(join(project, LIBRARY_FOLDER, basename(skill), SKILL_FILE));
}
