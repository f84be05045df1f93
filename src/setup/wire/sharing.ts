import { DeaddropError } from "../../api/errors.ts";
import {
  LOCK_WAIT_MS,
  StorageError,
  stillNamed,
  type Disk,
  type DiskFile,
} from "../../storage/disk/disk.ts";
import { wirePaths } from "../../storage/paths.ts";
import type { Sharing } from "../../storage/sharing.ts";
import type { Step } from "../steps.ts";

/** Sets group and mode of something that we own; the umask has no say in a shared folder. */
export function share(disk: Disk, path: string, mode: number, sharing: Sharing): void {
  if (isShared(disk, path, mode, sharing)) return;
  try {
    disk.setMode(path, mode, sharing.groupId);
  } catch (cause) {
    if (!(cause instanceof StorageError) || cause.code !== "denied") throw cause;
    const group = sharing.groupId === undefined ? "" : ` of group ${sharing.groupId}`;
    throw new DeaddropError(
      "storage",
      `${path}: its mode cannot be set to ${mode.toString(8)}${group}`,
      {
        hint: "the owner of the file must do that, as a member of the group: add yourself to it (sudo usermod -aG GROUP $USER), log in again, and repeat the command",
        cause,
      },
    );
  }
}

function isShared(disk: Disk, path: string, mode: number, sharing: Sharing): boolean {
  const stat = disk.stat(path);
  const rightGroup = sharing.groupId === undefined || stat?.gid === sharing.groupId;
  return stat?.mode === mode && rightGroup;
}

/** Opens and locks the file at the path: another writer may have replaced it. */
export function openShared(disk: Disk, path: string, sharing: Sharing): DiskFile {
  for (let attempt = 0; attempt < 10; attempt++) {
    const isNew = disk.stat(path) === undefined;
    const file = disk.open(path, "append", sharing.sharedMode);
    if (isNew) share(disk, path, sharing.sharedMode, sharing);
    if (!file.lock(LOCK_WAIT_MS)) {
      file.close();
      break;
    }
    if (stillNamed(disk, file)) return file;
    file.close();
  }
  throw new DeaddropError("storage", `${path}: another program holds its lock`, {
    hint: "wait a moment and repeat the command",
  });
}

/** Whether something belongs to the user that we run as. */
export function isOurs({ uid }: { readonly uid: number }): boolean {
  const ours = process.getuid?.();
  return ours === undefined || uid === ours;
}

/**
 * Throws when a file of another user is where one of ours belongs: its owner could change it, or keep us
 * from writing. Spec 1.1.
 */
export function refuseAnothers(disk: Disk, path: string, sharing: Sharing): void {
  const stat = disk.stat(path);
  if (sharing.groupId === undefined || stat === undefined || isOurs(stat)) return;
  throw new DeaddropError("config", `${path} belongs to user ${stat.uid}, and it should be yours`, {
    hint: "check the handle that you gave (--me): is it yours? If it is, have the owner of the file, or of the folder, look at it and move it away; then repeat the command",
  });
}

/** Steps that give what is ours in a group's folder the group and the modes it should have. */
export function correctSharingSteps(
  disk: Disk,
  { wireDir, sharing }: { readonly wireDir: string; readonly sharing: Sharing },
): Step[] {
  if (sharing.groupId === undefined) return [];
  const paths = wirePaths(wireDir);
  const folders = [wireDir, paths.trustFolder, paths.archive, paths.outbox];
  const shared = [
    ...[paths.config, paths.tiers, paths.protocol, paths.trust],
    ...[paths.decisions, paths.incidents],
  ];
  const wanted = [
    ...folders.map((path) => [path, sharing.folderMode] as const),
    ...shared.map((path) => [path, sharing.sharedMode] as const),
  ];
  const wrong = () =>
    wanted.filter(([path, mode]) => {
      const stat = disk.stat(path);
      return stat !== undefined && isOurs(stat) && !isShared(disk, path, mode, sharing);
    });
  return [
    {
      what: `share ${wireDir} with group ${sharing.groupId}`,
      needed: () => disk.stat(wireDir) === undefined || wrong().length > 0,
      run: () => {
        for (const [path, mode] of wrong()) share(disk, path, mode, sharing);
      },
    },
  ];
}
