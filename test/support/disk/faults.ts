import { StorageError } from "../../../src/storage/disk/disk.ts";
import { Crashed, type Fault } from "./memory-disk.ts";
import type { PowerCut } from "./memory-inode.ts";

/** How a disk operation can fail: the process dies in it, or the disk refuses it. */
export const FAULTS: readonly Fault[] = ["crash", "EIO", "ENOSPC", "EACCES"];
/** What a power cut afterwards takes of the unsynced data; "none": there is no power cut. */
export const POWER_CUTS: readonly (PowerCut | "none")[] = ["none", "drop", "tear", "keep"];

/** False when the disk failed or the process died in it. */
export function attempt(action: () => void): boolean {
  try {
    action();
    return true;
  } catch (error) {
    if (error instanceof Crashed || error instanceof StorageError) return false;
    throw error;
  }
}
