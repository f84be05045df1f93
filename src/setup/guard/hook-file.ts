import { chmodSync, lstatSync, readFileSync, renameSync, rmdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { FoundHook } from "./signed-hook.ts";

const EXECUTABLE = 0o755;

/** What is in the place of a hook; undefined: nothing. A link is somebody's own. */
export function foundAt(
  path: string,
  recognise: (text: string) => FoundHook,
): FoundHook | undefined {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return undefined;
  return stat.isFile() ? recognise(readFileSync(path, "utf8")) : { is: "foreign" };
}

export function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** Writes a hook by rename. `aside`: where what is there now is moved before; undefined: it is replaced. */
export function writeHook(path: string, text: string, aside: string | undefined): void {
  const temporary = `${path}.deaddrop-${process.pid}`;
  writeFileSync(temporary, text, { mode: EXECUTABLE });
  chmodSync(temporary, EXECUTABLE);
  if (aside !== undefined) renameSync(path, aside);
  renameSync(temporary, path);
}

/** Removes the folders that were made for the hooks, as long as nothing else is in them. */
export function removeMadeFolders(folder: string, upTo: string): void {
  for (let at = folder; ; at = dirname(at)) {
    if (!removedIfEmpty(at) || at === upTo || at === dirname(at)) return;
  }
}

function removedIfEmpty(folder: string): boolean {
  try {
    rmdirSync(folder);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOTEMPTY" || code === "EEXIST") return false;
    throw error;
  }
}
