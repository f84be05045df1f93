import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { DeaddropError } from "../daemon/errors.ts";
import { StorageError, type Disk } from "../storage/disk.ts";
import { wirePaths } from "../storage/paths.ts";
import type { Sharing } from "../storage/wire-folder.ts";
import type { Step } from "./steps.ts";

/** One user runs every agent of this host: nobody else reads or writes. */
export const ONE_USER: Sharing = {
  folderMode: 0o700,
  sharedMode: 0o600,
  logMode: 0o600,
  groupId: undefined,
};

/** Each agent is a user of its own, all of one group: the kernel keeps one writer per log. */
export function sharedByGroup(groupId: number): Sharing {
  return { folderMode: 0o2770, sharedMode: 0o660, logMode: 0o640, groupId };
}

/** How a folder that exists is shared, so that the side that joins follows the side that made it. */
export function sharingOf(disk: Disk, folder: string): Sharing {
  const stat = disk.stat(folder);
  const setgidForGroup = stat !== undefined && (stat.mode & 0o2070) === 0o2070;
  return setgidForGroup ? sharedByGroup(stat.gid) : ONE_USER;
}

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

export function isShared(disk: Disk, path: string, mode: number, sharing: Sharing): boolean {
  const stat = disk.stat(path);
  const rightGroup = sharing.groupId === undefined || stat?.gid === sharing.groupId;
  return stat?.mode === mode && rightGroup;
}

/** Steps that give what is ours in a group's folder the group and the modes it should have. */
export function mendSharingSteps(
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
      return stat?.uid === process.getuid?.() && !isShared(disk, path, mode, sharing);
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

/** The number of a group that we belong to; nobody else can give files to it. */
export function ownGroupId(group: string): number {
  const id = groupIdOf(group);
  if (process.getuid?.() === 0 || process.getgroups?.().includes(id) === true) return id;
  throw new DeaddropError("config", `--group ${group}: you are not a member of it`, {
    hint: `sudo usermod -aG ${group} $USER, log in again, and repeat the command`,
  });
}

/** The number of a group by its name, from the system's own group list. */
function groupIdOf(group: string): number {
  if (/^[0-9]{1,9}$/.test(group)) return Number(group);
  const id = /^[^:]*:[^:]*:([0-9]+):/.exec(groupLine(group))?.[1];
  if (id !== undefined) return Number(id);
  throw new DeaddropError("config", `--group ${group}: this host has no such group`, {
    hint: `make it first: sudo groupadd ${group}, then add both users to it`,
  });
}

function groupLine(group: string): string {
  const fromFile = readFileSync("/etc/group", "utf8")
    .split("\n")
    .find((line) => line.startsWith(`${group}:`));
  if (fromFile !== undefined) return fromFile;
  try {
    // Groups of a directory service are not in the file.
    return execFileSync("getent", ["group", "--", group], { encoding: "utf8", stdio: "pipe" });
  } catch (error) {
    const { code, status } = error as NodeJS.ErrnoException & { status?: number };
    if (code === "ENOENT" || status === 2) return ""; // no getent here, or no such group
    throw error;
  }
}
