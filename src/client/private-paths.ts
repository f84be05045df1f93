import { join } from "node:path";
import type { ClientPlace } from "../api/client.ts";
import { readWhole, StorageError, type Disk } from "../storage/disk/disk.ts";
import { nodeDisk } from "../storage/disk/node-disk.ts";
import { agentPaths, type AgentPaths, type Places } from "../storage/paths.ts";
import { resolveWireKey } from "../storage/private/private-folders.ts";
import { MAX_CONFIG_BYTES } from "../wire/limits.ts";

/**
 * Where an agent's private files are, from what its wire folder says of itself. Undefined when that
 * cannot be read: what is wrong with it is told when the agent itself is opened. Spec 1.1.
 */
export function privatePathsOf(
  places: Places,
  { wireDir, handle }: Pick<ClientPlace, "wireDir" | "handle">,
): AgentPaths | undefined {
  const disk = nodeDisk();
  try {
    const real = disk.realPath(wireDir);
    const wireKey = resolveWireKey(disk, places, handle, real, claimedWireId(disk, real));
    return agentPaths(places, { wireDir: real, wireKey, handle });
  } catch (error) {
    if (error instanceof StorageError) return undefined;
    throw error;
  }
}

/** What the folder says of itself; it only helps to find private folders, and is never believed. */
function claimedWireId(disk: Disk, wireDir: string): string | undefined {
  try {
    const bytes = readWhole(disk, join(wireDir, "config.json"), MAX_CONFIG_BYTES);
    const { wire_id: id } = JSON.parse(Buffer.from(bytes ?? "{}").toString("utf8")) as {
      wire_id?: unknown;
    };
    return typeof id === "string" ? id : undefined;
  } catch (error) {
    // Broken, or no plain file: peers can write there, and the remembered folders are found without.
    if (error instanceof SyntaxError || error instanceof StorageError) return undefined;
    throw error;
  }
}
