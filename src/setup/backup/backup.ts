import { join } from "node:path";
import { DeaddropError } from "../../api/errors.ts";
import {
  boundsProblem,
  isBackupName,
  STORE_NAME,
  MAX_FILE_BYTES,
  type Backup,
  type BackupFile,
  type BackupRemote,
} from "../../storage/private/backup-file.ts";
import { lookOf, readWhole, StorageError, type Disk } from "../../storage/disk/disk.ts";
import type { AgentPaths } from "../../storage/paths.ts";
import { Store } from "../../store/store.ts";
import { readContents } from "./backup-contents.ts";

/** What a daemon or a command changes meanwhile is read again so often. */
const MAX_TRIES = 5;

/**
 * All that is private to an agent on one wire and cannot be made again: its keys, and its private
 * folder but for the locks and the mark. No name is left out because it is not known here. Of the state, which
 * carriers and peers give back, the version of the trust store that was seen last, and a snapshot of the store
 * where that is small. Spec 4.6.
 */
export function collectBackup(
  disk: Disk,
  paths: AgentPaths,
  about: {
    readonly wireId: string | undefined;
    readonly nowMs: number;
    readonly remote?: BackupRemote | undefined;
  },
): Backup {
  const files = [...steadyFiles(disk, paths), ...storeSnapshot(disk, paths)];
  const problem = boundsProblem(files);
  if (problem !== undefined) {
    throw new DeaddropError("refused", `${paths.configDir}: ${problem}`, {
      hint: "look what does not belong into that folder, and move it away",
    });
  }
  const backup = {
    handle: paths.handle,
    wireKey: paths.wireKey,
    wireId: about.wireId,
    wireDir: paths.wireDir,
    madeAt: new Date(about.nowMs).toISOString(),
    remote: about.remote,
    files,
  };
  // What could not be restored is no backup: it is told now, and not when it is needed.
  const { store } = readContents(backup, paths.configDir);
  return { ...backup, storeVersion: store.version };
}

/** As of one commit, whoever writes meanwhile. Nothing where it is too large: carriers and peers have its lines. */
function storeSnapshot(disk: Disk, paths: AgentPaths): readonly BackupFile[] {
  const size = disk.stat(paths.store)?.size ?? 0;
  if (size === 0 || size > MAX_FILE_BYTES) return [];
  const copy = `${paths.store}.backup.tmp`;
  disk.remove(copy);
  try {
    Store.copy(paths.store, copy);
    const bytes = readWhole(disk, copy);
    if (bytes === undefined || bytes.length > MAX_FILE_BYTES) return [];
    return [{ place: "state", name: STORE_NAME, bytes }];
  } finally {
    disk.remove(copy);
  }
}

/** The files as they all were at one moment. */
function steadyFiles(disk: Disk, paths: AgentPaths): readonly BackupFile[] {
  for (let left = MAX_TRIES; left > 0; left -= 1) {
    const looks = looksOf(disk, paths);
    const files = readBackupFiles(disk, paths);
    if (looksOf(disk, paths) === looks) return files;
  }
  throw new StorageError("locked", paths.configDir, "is being changed again and again", {
    hint: "wait for the commands that change keys, pins or settings to end, then repeat this one",
  });
}

function looksOf(disk: Disk, paths: AgentPaths): string {
  return listBackupFiles(disk, paths)
    .map(({ path }) => `${path} ${lookOf(disk, path)}`)
    .join("\n");
}

function readBackupFiles(disk: Disk, paths: AgentPaths): readonly BackupFile[] {
  return listBackupFiles(disk, paths).flatMap(({ place, name, path }) => {
    const bytes = readWhole(disk, path, MAX_FILE_BYTES);
    return bytes === undefined ? [] : [{ place, name, bytes }];
  });
}

/** The files of an agent, but for its store, that a backup holds. */
export function listBackupFiles(disk: Disk, paths: AgentPaths) {
  const folders = [
    ["identity", paths.identity.folder],
    ["config", paths.configDir],
    ["state", paths.stateDir],
  ] as const;
  return folders.flatMap(([place, folder]) =>
    disk
      .list(folder)
      .filter((name) => isBackupName(paths.handle, place, name) && name !== STORE_NAME)
      .map((name) => ({ place, name, path: join(folder, name) }))
      .filter(({ path }) => disk.stat(path)?.kind === "file"),
  );
}
