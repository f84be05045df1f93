import { basename, dirname, join } from "node:path";
import { DeaddropError } from "../api/errors.ts";
import { readWhole, type Disk } from "../storage/disk/disk.ts";

const MAX_BYTES = 4 * 1024 * 1024;

/**
 * Where a file of a folder really is, also one that does not exist yet: a link, in whichever part of its
 * path, is followed within the folder only. A repository must not lead us to write elsewhere. Throws
 * DeaddropError ("config").
 */
export function realFile(disk: Disk, folder: string, path: string): string {
  const real = realPathOf(disk, path);
  if (real.startsWith(`${disk.realPath(folder)}/`)) return real;
  throw new DeaddropError("config", `${path} leads to ${real}, outside of the project`, {
    hint: "make each part of its path a file or folder of the project; nothing was changed",
  });
}

/** What exists of a path is resolved; the rest of it is what would be made. */
export function realPathOf(disk: Disk, path: string): string {
  if (disk.stat(path) !== undefined || dirname(path) === path) return disk.realPath(path);
  return join(realPathOf(disk, dirname(path)), basename(path));
}

/** The text of a file; undefined when there is none. Throws DeaddropError ("config"). */
export function textOf(disk: Disk, path: string): string | undefined {
  if (disk.stat(path) === undefined) return undefined;
  const bytes = readWhole(disk, path, MAX_BYTES);
  try {
    return bytes === undefined
      ? undefined
      : new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw new DeaddropError("config", `${path}: not UTF-8 text`, {
      hint: "save it as UTF-8; nothing was changed",
      cause,
    });
  }
}
