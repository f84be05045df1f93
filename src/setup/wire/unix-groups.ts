import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { DeaddropError } from "../../api/errors.ts";
import type { Disk } from "../../storage/disk/disk.ts";
import { errnoOf } from "../../storage/disk/errno.ts";

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

/** A group that others belong to as well. */
export interface SharedGroup {
  readonly name: string;
  /** Names of the other members, some of them. */
  readonly others: readonly string[];
}

const MAX_OTHERS = 8;

/**
 * The group that can write in a folder, when it has members besides us: a wire made there may be meant
 * for them. Undefined otherwise.
 */
export function groupOfFolder(disk: Disk, folder: string): SharedGroup | undefined {
  const stat = disk.stat(folder);
  // What everybody can write in, such as the folder for temporary files, is no group's.
  if (stat?.kind !== "folder" || (stat.mode & 0o022) !== 0o020) return undefined;
  const [name = "", , , members = ""] = groupLine(`${stat.gid}`).trim().split(":");
  if (name === "") return undefined;
  const primary = accounts().filter(({ gid }) => gid === stat.gid);
  const ours = accounts().find(({ uid }) => uid === process.getuid?.())?.name;
  const all = new Set([...members.split(","), ...primary.map((account) => account.name)]);
  const others = [...all].filter((member) => member !== "" && member !== ours);
  return others.length === 0 ? undefined : { name, others: others.slice(0, MAX_OTHERS) };
}

interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

function accounts(): readonly Account[] {
  return textOf("/etc/passwd")
    .split("\n")
    .flatMap((line) => {
      const [name = "", , uid, gid] = line.split(":");
      return name === "" ? [] : [{ name, uid: Number(uid), gid: Number(gid) }];
    });
}

/** A folder that members of a group cannot pass through, and the mode for chmod that opens it. */
export interface ClosedPassage {
  readonly folder: string;
  readonly open: "g+x" | "o+x";
}

/** Such folders above a wire. Where the folder is the group's own, the bits for others do not count. */
export function closedPassages(
  disk: Disk,
  wireDir: string,
  groupId: number,
): readonly ClosedPassage[] {
  const closed: ClosedPassage[] = [];
  for (let at = dirname(wireDir); ; at = dirname(at)) {
    const stat = disk.stat(at);
    const isGroups = stat?.gid === groupId;
    const isOpen = stat === undefined || (stat.mode & (isGroups ? 0o010 : 0o001)) !== 0;
    if (!isOpen) closed.unshift({ folder: at, open: isGroups ? "g+x" : "o+x" });
    if (at === dirname(at)) return closed;
  }
}

/** Of a file that not every system has. */
function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return "";
    throw error;
  }
}

/** A line of the group list, by name or number. */
function groupLine(group: string): string {
  const fromFile = textOf("/etc/group")
    .split("\n")
    .find((line) => line.startsWith(`${group}:`) || line.split(":")[2] === group);
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
