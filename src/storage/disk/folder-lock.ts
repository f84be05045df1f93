import { closeSync, constants, fstatSync, lstatSync, openSync } from "node:fs";
import { calling } from "./errno.ts";
import { lockDescriptor } from "./kernel-lock.ts";

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;

/**
 * The exclusive kernel lock on a folder itself: no file of ours is left in it. Undefined when another
 * process holds it for all of `waitMs`, or the folder was replaced meanwhile. Throws StorageError.
 */
export function lockFolder(path: string, waitMs: number): { release(): void } | undefined {
  const fd = calling(path, "opening", () => openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  try {
    if (calling(path, "locking", () => lockDescriptor(fd, waitMs)) && isStill(path, fd)) {
      return { release: () => closeSync(fd) };
    }
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  closeSync(fd);
  return undefined;
}

function isStill(path: string, fd: number): boolean {
  const named = lstatSync(path, { throwIfNoEntry: false });
  const locked = fstatSync(fd);
  return named?.ino === locked.ino && named.dev === locked.dev;
}
