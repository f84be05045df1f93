import { dirname, join } from "node:path";
import { isError } from "../../plans/plan/problem.ts";
import type { Disk } from "../../storage/disk/disk.ts";
import { judgeSkill } from "../format/judge-skill.ts";
import { SKILL_FILE } from "../format/skill.ts";
import type { Drift, LibraryFiles, Mirror } from "../mirror/mirror.ts";
import type { MirrorPlace } from "./mirror-folder.ts";
import { readSkillFolder } from "./read-library.ts";
import { digestOf, readSkillFile } from "./read-tree.ts";

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
export function adoptEdits(
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
    const wrong = problemOf(home, skill, file.bytes);
    if (wrong !== undefined) return `it would not be valid: ${wrong}`;
  }
  const target = join(home, skill, path);
  disk.makeFolder(dirname(target), 0o755);
  disk.replace(target, file.bytes, file.isExecutable ? 0o755 : 0o644);
  return undefined;
}

function problemOf(library: string, skill: string, bytes: Uint8Array): string | undefined {
  const now = readSkillFolder(library, skill);
  const files = new Map([
    ...now.files,
    [SKILL_FILE, { sha256: digestOf(bytes), isExecutable: false }] as const,
  ]);
  const markdown = new TextDecoder().decode(bytes);
  return judgeSkill({ ...now, files, markdown }).problems.find(isError)?.text;
}
