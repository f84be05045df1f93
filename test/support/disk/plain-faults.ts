import { StorageError } from "../../../src/storage/disk/disk.ts";
import { Crashed, type Fault } from "./memory-disk.ts";
import type { PowerCut } from "./memory-inode.ts";

/** All that an operation can suffer. */
export const FAULTS: readonly Fault[] = ["crash", "EIO", "ENOSPC", "EACCES"];
/** What becomes of the host afterwards. */
export const AFTERMATHS: readonly (PowerCut | "none")[] = ["none", "drop", "tear", "keep"];

/** Does it; false when the disk failed or the process died. */
export function attempt(action: () => void): boolean {
  try {
    action();
    return true;
  } catch (error) {
    if (error instanceof Crashed || error instanceof StorageError) return false;
    throw error;
  }
}
