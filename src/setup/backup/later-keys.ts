import { join } from "node:path";
import { configOf } from "../../agent/config/agent-config.ts";
import { PartNames, SHARED_FILES } from "../../carriers/archive.ts";
import { listWire, makeWireLayout } from "../../carriers/folder.ts";
import { readCarrier, type CarrierRead } from "../../carriers/reader.ts";
import { readLine } from "../../protocol/admit/read-line.ts";
import type { Disk } from "../../storage/disk/disk.ts";
import type { AgentPaths } from "../../storage/paths.ts";
import { quote } from "../../wire/quote.ts";
import { keyId, publicKeyOf } from "../../wire/signature.ts";

const BUDGET = { bytes: 1024 * 1024, lines: 8_192 };
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
  const names = new PartNames([...SHARED_FILES, ...layout.carriers.keys()]);
  const later = new Set<string>();
  for (const { name, owner } of listWire(disk, wireDir, layout, names).carriers) {
    if (owner !== handle) continue;
    let read: CarrierRead | undefined;
    do {
      read = readCarrier(disk, join(wireDir, name), read?.cursor, BUDGET);
      for (const line of read.lines) {
        const said = readLine(line, wireId);
        const signer = said.ok && said.line.author === handle ? said.line.signed?.keyId : undefined;
        if (signer !== undefined && !known.has(signer)) later.add(signer);
      }
    } while (read.hasMore && later.size <= MOST_NAMED);
  }
  return [...later].map(
    (id) => `lines of ${handle} are signed with ${quote(id)}, a key not in the backup`,
  );
}
