import { dirname, join } from "node:path";
import { sha256Hex } from "../wire/canonical.ts";
import { StorageError, type Disk } from "./disk/disk.ts";
import { wirePaths } from "./paths.ts";
import type { Sharing } from "./sharing.ts";

/** What a new wire is made of. */
export interface NewWire {
  readonly config: string;
  readonly tiers: string;
  readonly protocol: string;
  /** Paths relative to the folder of the logs that this user owns. */
  readonly logs: readonly string[];
  /** With other than two members each has one file, in a folder of its own. */
  readonly hasOutbox: boolean;
}

/**
 * Makes a wire's folder. Running it again is safe: what exists stays as it is. Returns the paths
 * that were made.
 */
export function createWire(
  disk: Disk,
  wireDir: string,
  wire: NewWire,
  sharing: Sharing,
): { readonly created: readonly string[] } {
  const paths = wirePaths(wireDir);
  const created: string[] = [];

  const folder = (path: string): void => {
    if (disk.stat(path) !== undefined) return;
    makePassage(disk, dirname(path), sharing);
    disk.makeFolder(path, sharing.folderMode);
    disk.setMode(path, sharing.folderMode, sharing.groupId);
    created.push(path);
  };
  const text = (path: string, content: string): void => {
    if (disk.stat(path) !== undefined) return;
    disk.replace(path, Buffer.from(content, "utf8"), sharing.sharedMode);
    disk.setMode(path, sharing.sharedMode, sharing.groupId);
    created.push(path);
  };
  const jsonl = (path: string, mode: number): void => {
    if (disk.stat(path) !== undefined) return;
    disk.open(path, "append", mode).close();
    disk.setMode(path, mode, sharing.groupId);
    created.push(path);
  };

  refuseStrangeFolder(disk, wireDir);
  folder(wireDir);
  for (const path of [paths.trustFolder, paths.archive]) folder(path);
  if (wire.hasOutbox) folder(paths.outbox);
  text(paths.tiers, wire.tiers);
  text(paths.protocol, wire.protocol);
  for (const path of [paths.decisions, paths.incidents]) jsonl(path, sharing.sharedMode);
  for (const log of wire.logs) jsonl(join(wireDir, log), sharing.logMode);
  // The configuration last: a folder is a wire once it has one. Whose it is gives the wire its id.
  if (disk.stat(paths.config) === undefined) {
    const temporary = `${paths.config}.${sha256Hex(Buffer.from(wire.config)).slice(0, 16)}.new`;
    disk.replace(temporary, Buffer.from(wire.config, "utf8"), sharing.sharedMode);
    disk.setMode(temporary, sharing.sharedMode, sharing.groupId);
    disk.renameExclusive(temporary, paths.config);
    created.push(paths.config);
  }
  return { created };
}

/** Missing folders above a group's wire: the group passes through, their owner alone changes them. */
function makePassage(disk: Disk, path: string, sharing: Sharing): void {
  if (sharing.groupId === undefined || disk.stat(path) !== undefined) return;
  makePassage(disk, dirname(path), sharing);
  disk.makeFolder(path, 0o750);
  disk.setMode(path, 0o750, sharing.groupId);
}

function refuseStrangeFolder(disk: Disk, wireDir: string): void {
  const stat = disk.stat(wireDir);
  if (stat === undefined || isWire(disk, wireDir)) return;
  if (stat.kind !== "folder") {
    throw new StorageError("not_a_wire", wireDir, "is not a folder", {
      hint: "give a path where a folder can be made",
    });
  }
  const made = new Set(["trust", "archive", "outbox", "tiers.json", "PROTOCOL.md"]);
  const isMade = (name: string): boolean =>
    made.has(name) || name.endsWith(".jsonl") || /^config\.json\.[0-9a-f]{16}\.new$/.test(name);
  const strange = disk.list(wireDir).find((name) => !isMade(name));
  if (strange === undefined) return;
  throw new StorageError("not_a_wire", wireDir, `is in use for something else ("${strange}")`, {
    hint: "give an empty folder, or a path where one can be made",
  });
}

/** A folder with a configuration, or with the logs of the Python reference. */
export function isWire(disk: Disk, wireDir: string): boolean {
  if (disk.stat(wireDir)?.kind !== "folder") return false;
  const paths = wirePaths(wireDir);
  if (disk.stat(paths.config)?.kind === "file") return true;
  if (disk.stat(paths.protocol)?.kind === "file") return true;
  return disk.list(wireDir).some((name) => /._to_.+\.jsonl$/.test(name));
}

/** Throws "not_a_wire" with what was expected. */
export function requireWire(disk: Disk, wireDir: string): void {
  if (isWire(disk, wireDir)) return;
  const stat = disk.stat(wireDir);
  if (stat === undefined) {
    throw new StorageError("not_a_wire", wireDir, "no such folder", {
      hint: "check the path (--wire), or make a wire there: deaddrop init",
    });
  }
  const what = stat.kind === "folder" ? "a folder that is not a wire" : "not a folder";
  throw new StorageError("not_a_wire", wireDir, `${what}: it has no config.json and no logs`, {
    hint: "give the folder that holds config.json (often _coordination), or make one: deaddrop init",
  });
}
