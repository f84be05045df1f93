import { join } from "node:path";
import { configOf } from "../../agent/config/agent-config.ts";
import { listWire, makeWireLayout } from "../../carriers/folder.ts";
import { readAllLines } from "../../carriers/reader.ts";
import { readLine } from "../../protocol/admit/read-line.ts";
import type { Disk } from "../../storage/disk/disk.ts";
import type { AgentPaths } from "../../storage/paths.ts";
import { quote } from "../../wire/quote.ts";
import { keyId, publicKeyOf } from "../../wire/signature.ts";

const MOST_NAMED = 8;

/** By what our own carriers are found and read: as it will be after the restore. */
interface Reading {
  readonly config: Uint8Array | undefined;
  /** Every private key of ours that is at hand. */
  readonly seeds: readonly Uint8Array[];
}

/** Keys that our own carriers name and that are not at hand: the backup is older than their rotation. In words. */
export function laterKeys(
  disk: Disk,
  { wireDir, handle }: AgentPaths,
  { config, seeds }: Reading,
): readonly string[] {
  const { wireId = "", roster } = configOf("config.json", config);
  const known = new Set(seeds.map((seed) => keyId(handle, publicKeyOf(seed))));
  const handles = [...new Set([...roster, handle])];
  const layout = makeWireLayout({ handle, handles, members: new Map() });
  const later = new Set<string>();
  for (const { name, owner } of listWire(disk, wireDir, layout).carriers) {
    if (owner !== handle) continue;
    for (const line of readAllLines(disk, join(wireDir, name))) {
      const said = readLine(line, wireId);
      const signer = said.ok && said.line.author === handle ? said.line.signed?.keyId : undefined;
      if (signer !== undefined && !known.has(signer)) later.add(signer);
      if (later.size > MOST_NAMED) break;
    }
  }
  return [...later].map(
    (id) => `lines of ${handle} are signed with ${quote(id)}, a key not in the backup`,
  );
}
