import type { Fault } from "./memory-disk.ts";
import type { PowerCut } from "./memory-inode.ts";

/** All that an operation can suffer. */
export const FAULTS: readonly Fault[] = ["crash", "EIO", "ENOSPC", "EACCES"];
/** What becomes of the host afterwards. */
export const AFTERMATHS: readonly (PowerCut | "none")[] = ["none", "drop", "tear", "keep"];
