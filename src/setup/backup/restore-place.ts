import { DeaddropError } from "../../api/errors.ts";
import type { Backup } from "../../storage/private/backup-file.ts";
import { readWhole, type Disk } from "../../storage/disk/disk.ts";
import { agentPaths, wirePaths, type AgentPaths } from "../../storage/paths.ts";
import { resolveWireKey } from "../../storage/private/private-folders.ts";
import { requireWire } from "../../storage/wire-folder.ts";
import { parseConfig } from "../../trust/policy/config.ts";
import type { SetupHost } from "../host.ts";
import { MAX_CONFIG_BYTES } from "../../wire/limits.ts";

/**
 * Where the files of a backup belong on this machine. The wire may be at another path than before;
 * but it has to be that wire: heads and pins of one say nothing about another. Spec 1.1.
 */
export function restorePlace(
  { disk, places }: SetupHost,
  backup: Backup,
  wireDir: string,
): AgentPaths {
  requireWire(disk, wireDir);
  const real = disk.realPath(wireDir);
  const claimed = claimedId(disk, wirePaths(real).config);
  const wireKey = resolveWireKey(disk, places, backup.handle, real, claimed);
  // Without ids nothing tells two wires apart but their paths, and the operator's decision.
  const isThatWire =
    wireKey === backup.wireKey || (claimed !== undefined && claimed === backup.wireId);
  if (!isThatWire && (backup.wireId !== undefined || claimed !== undefined)) {
    throw new DeaddropError("refused", `${real} is another wire than that of the backup`, {
      hint: `the backup is of ${backup.handle} on the wire ${backup.wireId ?? "without an id"}, which was at ${backup.wireDir}; this folder says ${claimed ?? "no id"}. Name the right one with --wire`,
    });
  }
  return agentPaths(places, { wireDir: real, wireKey, handle: backup.handle });
}

/** A file that is broken claims none; one that cannot be read says nothing about the wire. */
function claimedId(disk: Disk, path: string): string | undefined {
  const bytes = readWhole(disk, path, MAX_CONFIG_BYTES);
  const parsed = bytes === undefined ? undefined : parseConfig(bytes);
  return parsed?.ok === true ? parsed.config.wireId : undefined;
}
