import { DeaddropError } from "../../api/errors.ts";
import { StorageError, type Disk } from "../../storage/disk/disk.ts";
import type { Places } from "../../storage/paths.ts";
import {
  bindFolder,
  boundAt,
  unbindFolder,
  type BoundFolder,
} from "../../storage/private/bound-folders.ts";

/**
 * Binds a folder to an identity. Throws DeaddropError ("refused") when it is bound to another one:
 * neither of two agents may sign as the other because it came second. Spec 8.6.
 */
export function claimFolder(
  disk: Disk,
  places: Places,
  wanted: BoundFolder,
  { replaces = false } = {},
): void {
  const { folder, handle } = wanted;
  const bound = boundAt(disk, places, folder);
  if (bound?.handle === handle) return;
  if (bound !== undefined) {
    if (!replaces) throw taken(bound, handle);
    unbindFolder(disk, places, folder);
  }
  try {
    bindFolder(disk, places, wanted);
  } catch (error) {
    if (!(error instanceof StorageError) || error.code !== "exists") throw error;
    throw taken(boundAt(disk, places, folder) ?? wanted, handle);
  }
}

/** Two agents in one folder. */
export function taken({ folder, handle }: BoundFolder, wanted: string): DeaddropError {
  return new DeaddropError("refused", `${folder} is bound to ${handle}`, {
    hint: `two agents in one folder: start the second one with DEADDROP_AS=${wanted}, or let it work in a folder or git worktree of its own. If ${handle} no longer works here: deaddrop as ${wanted} --replace`,
  });
}
