import { DeaddropError } from "../api/errors.ts";
import { readWhole, type Disk } from "../storage/disk/disk.ts";

const MAX_BYTES = 4 * 1024 * 1024;

/** A link is followed within the folder only: a repository must not lead us to write elsewhere. */
export function realFile(disk: Disk, folder: string, path: string): string {
  if (disk.stat(path) === undefined) return path;
  const real = disk.realPath(path);
  if (real.startsWith(`${disk.realPath(folder)}/`)) return real;
  throw new DeaddropError("config", `${path} is a link to ${real}, outside of the project`, {
    hint: "make it a file, or a link to a file of the project; nothing was changed",
  });
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
