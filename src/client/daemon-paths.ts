import { join } from "node:path";
import type { ClientPlace } from "../api/client.ts";
import { readWhole, StorageError, type Disk } from "../storage/disk/disk.ts";
import { nodeDisk } from "../storage/disk/node-disk.ts";
import { daemonPaths, type DaemonPaths, type Places } from "../storage/paths.ts";
import { resolveWireKey } from "../storage/private/private-folders.ts";
import { claimedWireId } from "../wire/claimed-wire-id.ts";
import { MAX_CONFIG_BYTES } from "../wire/limits.ts";

/**
 * Where an agent's daemon is found, from what its wire folder says of itself. Undefined when that
 * cannot be read: what is wrong with it is told when the agent itself is opened. Spec 1.1.
 */
export function daemonPathsOf(
  places: Places,
  { wireDir, handle }: Pick<ClientPlace, "wireDir" | "handle">,
): DaemonPaths | undefined {
  const disk = nodeDisk();
  try {
    const realWireDir = disk.realPath(wireDir);
    const wireKey = resolveWireKey(disk, places, handle, realWireDir, () =>
      idInFolder(disk, realWireDir),
    );
    return daemonPaths(places, { wireKey, handle });
  } catch (error) {
    if (error instanceof StorageError) return undefined;
    throw error;
  }
}

/** Where it cannot be read, the remembered folders are found without. */
function idInFolder(disk: Disk, wireDir: string): string | undefined {
  try {
    return claimedWireId(readWhole(disk, join(wireDir, "config.json"), MAX_CONFIG_BYTES));
  } catch (error) {
    if (error instanceof StorageError) return undefined;
    throw error;
  }
}
