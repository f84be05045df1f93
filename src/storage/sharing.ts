import type { Disk } from "./disk/disk.ts";
import { PRIVATE_FILE, PRIVATE_FOLDER } from "./disk/file-modes.ts";

/** Who may do what in a wire's folder. Spec 1.1. */
export interface Sharing {
  readonly folderMode: number;
  /** Files that any agent of the wire may write, under lock. */
  readonly sharedMode: number;
  /** A log: written by its own agent, read by the others. */
  readonly logMode: number;
  /** Group that everything belongs to; undefined: whatever the system gives. */
  readonly groupId: number | undefined;
}

/** One user runs every agent of this host: nobody else reads or writes. */
export const ONE_USER: Sharing = {
  folderMode: PRIVATE_FOLDER,
  sharedMode: PRIVATE_FILE,
  logMode: PRIVATE_FILE,
  groupId: undefined,
};

/**
 * Each agent is a user of its own, all of one group: the kernel keeps one writer per log. The folders
 * are sticky, so that nobody but their owner removes or replaces another's file. Spec 1.1.
 */
export function sharedByGroup(groupId: number): Sharing {
  return { folderMode: 0o3770, sharedMode: 0o660, logMode: 0o640, groupId };
}

/** How a folder that exists is shared, so that the side that joins follows the side that made it. */
export function sharingOf(disk: Disk, folder: string): Sharing {
  const stat = disk.stat(folder);
  const setgidForGroup = stat !== undefined && (stat.mode & 0o2070) === 0o2070;
  return setgidForGroup ? sharedByGroup(stat.gid) : ONE_USER;
}
