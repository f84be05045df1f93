import { mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DeaddropError } from "../../api/errors.ts";
import {
  asideName,
  GUARD_HOOKS,
  hookText,
  recogniseHook,
  type GuardHook,
  type HookProgram,
} from "./hook-text.ts";
import { foundAt, isThere, removeMadeFolders, writeHook, type FoundHook } from "./signed-hook.ts";

/** What is in the place of a hook, and beside it. */
export interface HookState {
  readonly hook: GuardHook;
  readonly path: string;
  readonly found: FoundHook | undefined;
  /** A hook that was there before the guard; it runs first. */
  readonly before: string | undefined;
}

export function hookStates(folder: string): HookState[] {
  return GUARD_HOOKS.map((hook) => {
    const path = join(folder, hook);
    const aside = join(folder, asideName(hook));
    return {
      hook,
      path,
      found: foundAt(path, recogniseHook),
      before: isThere(aside) ? aside : undefined,
    };
  });
}

/**
 * Writes both hooks; what was in their place is moved aside and runs first. Changes nothing when they are
 * there already. Throws DeaddropError before anything is changed.
 */
export function installHooks(folder: string, program: HookProgram): readonly GuardHook[] {
  const states = hookStates(folder);
  for (const state of states) refuseChanged(state);
  const crowded = states.find(
    ({ found, before }) => found?.is === "foreign" && before !== undefined,
  );
  if (crowded !== undefined) {
    throw new DeaddropError("refused", `${crowded.path} and ${crowded.before} are both there`, {
      hint: "only one hook can run before the guard: make one of the two, remove the other, and install again",
    });
  }
  const made = mkdirSync(folder, { recursive: true });
  const written: GuardHook[] = [];
  for (const { hook, path, found } of states) {
    const madeFolder = found?.is === "ours" ? found.madeFolder : made;
    const text = hookText(hook, program, madeFolder);
    if (found?.is === "ours" && readFileSync(path, "utf8") === text) continue;
    writeHook(path, text, found?.is === "foreign" ? join(folder, asideName(hook)) : undefined);
    written.push(hook);
  }
  return written;
}

/** Takes the hooks away and puts back what was there. Throws DeaddropError before anything is changed. */
export function uninstallHooks(folder: string): readonly GuardHook[] {
  const states = hookStates(folder);
  for (const state of states) refuseChanged(state);
  const removed: GuardHook[] = [];
  for (const { hook, path, found, before } of states) {
    // An installation that was cut short may have moved the hook aside and done nothing else.
    const isHalfDone = found === undefined && before !== undefined;
    if (found?.is !== "ours" && !isHalfDone) continue;
    if (before === undefined) rmSync(path);
    else renameSync(before, path);
    if (found?.is === "ours" && found.madeFolder !== undefined)
      removeMadeFolders(folder, found.madeFolder);
    removed.push(hook);
  }
  return removed;
}

function refuseChanged({ path, found }: HookState): void {
  if (found?.is !== "changed") return;
  throw new DeaddropError("refused", `${path} was changed after the guard had made it`, {
    hint: `keep your lines elsewhere and remove the file (rm ${path}), then run this again. A hook from before is beside it, as ${path}.before-deaddrop`,
  });
}
