import { readWhole, StorageError, type Disk, LOCK_WAIT_MS } from "../disk/disk.ts";
import type { AgentPaths } from "../paths.ts";
import { checkPrivate } from "./private-store.ts";
import { PRIVATE_FILE } from "../disk/file-modes.ts";

/**
 * Changes the private file of the pairings under its own lock, durably; returns what `change` makes
 * of its bytes (undefined when there is none). It holds nonces that were not shown yet, so it is
 * refused when others can read it.
 */
export function updatePairings(
  disk: Disk,
  paths: AgentPaths,
  change: (current: Uint8Array | undefined) => string,
): void {
  const lock = disk.open(paths.pairingLock, "append", PRIVATE_FILE);
  try {
    if (!lock.lock(LOCK_WAIT_MS)) {
      throw new StorageError("locked", paths.pairing, "another program is changing it", {
        hint: "wait for that command to end, then repeat this one",
      });
    }
    checkPrivate(disk, paths.pairing, "not_readable_by_others");
    const current = readWhole(disk, paths.pairing);
    const next = Buffer.from(change(current), "utf8");
    if (current === undefined || !next.equals(current))
      disk.replace(paths.pairing, next, PRIVATE_FILE);
  } finally {
    lock.close();
  }
}
