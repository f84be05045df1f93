import { join } from "node:path";
import { StorageError, type Disk, type DiskFile } from "../../storage/disk/disk.ts";
import { sharingOf } from "../../storage/sharing.ts";
import type { WireFiles } from "./wire-files.ts";

/** The wire's folder on this machine, as a transport uses it. */
export interface LocalFolder {
  /** Shows files as they are. */
  readonly disk: Disk;
  /** Shows each log and shared file with its archived parts (`storage/archive/whole-logs.ts`). */
  readonly whole: Disk;
  readonly wireDir: string;
  readonly wire: WireFiles;
  /** The pinned id of the wire; absent before anything is pinned, and where the wire has none. */
  readonly wireId?: string | undefined;
  /** The agent whose daemon we are. */
  readonly handle: string;
  /** The agents that run on this machine: each of them writes its own files here, and pushes them. */
  local(): ReadonlySet<string>;
}

/** A daemon does nothing else meanwhile; the next fetch tries again. */
const COPY_LOCK_WAIT_MS = 40;

/** A log that a transport writes, open to append, under its lock. */
export function openCopy({ disk, wireDir }: LocalFolder, path: string): DiskFile {
  const at = join(wireDir, path);
  const { logMode, groupId } = sharingOf(disk, wireDir);
  const isNew = disk.stat(at) === undefined;
  const file = disk.open(at, "append", logMode);
  try {
    if (isNew) disk.setMode(at, logMode, groupId);
    if (file.lock(COPY_LOCK_WAIT_MS)) return file;
  } catch (error) {
    file.close();
    throw error;
  }
  file.close();
  throw new StorageError("locked", at, "another program writes to this copy", {
    hint: "it is tried again by itself; lslocks shows which program holds it",
  });
}

/** A shared file with all of its lines, to read; undefined while there is none. */
export function openWhole({ whole, wireDir }: LocalFolder, path: string): DiskFile | undefined {
  const at = join(wireDir, path);
  return whole.stat(at) === undefined ? undefined : whole.open(at, "read");
}
