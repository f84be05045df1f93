import { mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DeaddropError } from "../../api/errors.ts";
import { asideName, recogniseHook } from "../../setup/guard/hook-text.ts";
import {
  foundAt,
  isThere,
  removeMadeFolders,
  writeHook,
  type FoundHook,
} from "../../setup/guard/signed-hook.ts";
import { ASIDE, recogniseSkillsHook, skillsHook, type SkillsHookProgram } from "./skills-hook.ts";

const HOOK = "pre-commit";

/** What an installation or a removal has changed. */
export interface HookChange {
  readonly path: string;
  readonly isChanged: boolean;
  /** A hook of somebody that runs first; after a removal it is at `path` again. */
  readonly before: string | undefined;
}

/**
 * Puts the hook into a folder of hooks. What was there runs first; the guard stays the outermost one, since it
 * removes what it has put there itself. Throws DeaddropError before anything is changed. Spec 7.1.
 */
export function installSkillsHook(folder: string, program: SkillsHookProgram): HookChange {
  const { path, found } = placeOf(folder);
  const aside = join(folder, ASIDE);
  const before = () => (isThere(aside) ? aside : undefined);
  if (found?.is === "foreign" && before() !== undefined) {
    throw new DeaddropError("refused", `${path} and ${aside} are both there`, {
      hint: "only one hook can run before this one: make one of the two, remove the other, and install again",
    });
  }
  const made = mkdirSync(folder, { recursive: true });
  const madeFolder = found?.is === "ours" ? found.madeFolder : made;
  const text = skillsHook(program, madeFolder);
  if (found?.is === "ours" && readFileSync(path, "utf8") === text) {
    return { path, isChanged: false, before: before() };
  }
  writeHook(path, text, found?.is === "foreign" ? aside : undefined);
  return { path, isChanged: true, before: before() };
}

/** Takes the hook out, and puts back what was there. Throws DeaddropError before anything is changed. */
export function removeSkillsHook(folder: string): HookChange {
  const { path, found } = placeOf(folder);
  const aside = join(folder, ASIDE);
  const before = isThere(aside) ? aside : undefined;
  // An installation that was cut short may have moved the hook aside and done nothing else.
  const isHalfDone = found === undefined && before !== undefined;
  if (found?.is !== "ours" && !isHalfDone) return { path, isChanged: false, before: undefined };
  if (before === undefined) rmSync(path);
  else renameSync(before, path);
  if (found?.is === "ours" && found.madeFolder !== undefined) {
    removeMadeFolders(folder, found.madeFolder);
  }
  return { path, isChanged: true, before };
}

/** Where our hook is or belongs: in git's place, or where the guard keeps what it runs first. */
function placeOf(folder: string): { path: string; found: FoundHook | undefined } {
  const first = join(folder, HOOK);
  const isGuarded = foundAt(first, recogniseHook)?.is !== "foreign" && isThere(first);
  const path = isGuarded ? join(folder, asideName(HOOK)) : first;
  const found = foundAt(path, recogniseSkillsHook);
  if (found?.is !== "changed") return { path, found };
  throw new DeaddropError("refused", `${path} was changed after deaddrop had made it`, {
    hint: `keep your lines elsewhere and remove the file (rm ${path}), then run this again. A hook from before is ${ASIDE} beside it`,
  });
}
