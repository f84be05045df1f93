import { readFileSync, realpathSync, statfsSync } from "node:fs";
import { dirname, sep } from "node:path";
import { calling, errnoOf } from "./errno.ts";

/** The kind of filesystem that a folder is on. */
export interface FilesystemKind {
  /** As people call it: "ext4", "NFS", "SSHFS"; "unknown" otherwise. */
  readonly name: string;
  /** Changes made by others are reported (inotify, FSEvents); where not, we poll. Spec 4.6, Watch. */
  readonly events: boolean;
  /** Lives on another machine: several writers on one file are not safe there. */
  readonly network: boolean;
}

const local = (name: string): FilesystemKind => ({ name, events: true, network: false });
const remote = (name: string): FilesystemKind => ({ name, events: false, network: true });

// statfs(2) magic numbers of Linux.
const BY_MAGIC: ReadonlyMap<number, FilesystemKind> = new Map([
  [0xef53, local("ext4")],
  [0x9123683e, local("btrfs")],
  [0x58465342, local("xfs")],
  [0x01021994, local("tmpfs")],
  [0x2fc12fc1, local("zfs")],
  [0xf2f52010, local("f2fs")],
  [0x794c7630, local("overlayfs")],
  [0x6969, remote("NFS")],
  [0x517b, remote("SMB")],
  [0xff534d42, remote("CIFS")],
  [0xfe534d42, remote("SMB2")],
  [0x01021997, remote("9P")],
  [0x00c36400, remote("Ceph")],
  [0x5346414f, remote("AFS")],
  [0x73757245, remote("Coda")],
  [0x786f4256, remote("VirtualBox shared folder")],
  [0xbacbacbc, remote("VMware shared folder")],
]);
const FUSE_MAGIC = 0x65735546;

/** What is known of the filesystem that holds `path`. */
export function filesystemKind(path: string): FilesystemKind {
  const { type } = calling(path, "asking for its filesystem", () => statfsSync(path));
  if (process.platform !== "linux") return local("unknown");
  if (type === FUSE_MAGIC) return fuseKind(mountType(realpathSync(path)));
  return BY_MAGIC.get(type) ?? local("unknown");
}

/** FUSE hides many filesystems behind one number; the mount table names them. @internal */
export function fuseKind(mountedAs: string | undefined): FilesystemKind {
  const subtype = mountedAs?.replace(/^fuse\.?/, "") ?? "";
  if (subtype === "sshfs") return remote("SSHFS");
  return { name: subtype === "" ? "FUSE" : `FUSE (${subtype})`, events: false, network: true };
}

function mountType(realPath: string): string | undefined {
  let table: string;
  try {
    table = readFileSync("/proc/self/mountinfo", "utf8");
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  }
  return typeOfMount(table, realPath);
}

/**
 * The type of the innermost mount that holds a path, from the text of /proc/self/mountinfo.
 * @internal
 */
export function typeOfMount(table: string, realPath: string): string | undefined {
  const types = new Map<string, string>();
  for (const row of table.split("\n")) {
    const [before, after] = row.split(" - ");
    const point = before?.split(" ")[4]?.replace(/\\040/g, " ");
    const type = after?.split(" ")[0];
    if (point !== undefined && type !== undefined) types.set(point, type);
  }
  for (let at = realPath; ; at = dirname(at)) {
    const type = types.get(at);
    if (type !== undefined || at === sep) return type;
  }
}
