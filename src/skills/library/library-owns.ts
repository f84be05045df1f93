import { existsSync } from "node:fs";
import { basename, dirname, join, sep } from "node:path";
import { SKILL_FILE } from "../format/skill.ts";
import { LIBRARY_FOLDER } from "./read-library.ts";

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
