import { join } from "node:path";
import { DeaddropError } from "../../api/errors.ts";
import { isBackupName } from "../../storage/private/backup-file.ts";
import { readWhole, StorageError, type Disk } from "../../storage/disk/disk.ts";
import type { AgentPaths } from "../../storage/paths.ts";
import { parsePairings, type Pairings } from "../../trust/pairing/pairing-file.ts";
import type { TrustStore } from "../../trust/store.ts";
import { parseTrustStore } from "../../trust/trust-file.ts";
import { PUBLIC_KEY_BYTES } from "../../wire/signature.ts";

/** What is known on this machine before anything is restored. */
export interface Here {
  /** Undefined when there is none, or none that can be read. */
  readonly store: TrustStore | undefined;
  /** The version of the trust store that was seen last; 0 when none was. */
  readonly seen: number;
  readonly pairings: Pairings;
  /** Files that are there and say nothing: what they knew is lost. In words. */
  readonly damaged: readonly string[];
}

/** A damaged file is why somebody restores: it is told, and stops nothing. */
export function readHere(disk: Disk, paths: AgentPaths): Here {
  const damaged: string[] = [];
  const read = <T>(path: string, parse: (bytes: Uint8Array) => T): T | undefined => {
    const bytes = readWhole(disk, path);
    if (bytes === undefined) return undefined;
    try {
      return parse(bytes);
    } catch (error) {
      if (!(error instanceof DeaddropError) && !(error instanceof StorageError)) throw error;
      damaged.push(`${path} here cannot be read, so what it knew beyond the backup is lost`);
      return undefined;
    }
  };
  return {
    store: read(paths.trust, (bytes) => {
      const parsed = parseTrustStore(bytes, 0);
      if (!parsed.ok) throw new DeaddropError("refused", parsed.detail);
      return parsed.store;
    }),
    seen: read(paths.trustSeen, seenIn) ?? 0,
    pairings:
      read(paths.pairing, (bytes) => {
        const parsed = parsePairings(bytes, paths.pairing);
        if (!parsed.ok) throw new DeaddropError("refused", parsed.detail);
        return parsed.pairings;
      }) ?? new Map(),
    damaged,
  };
}

function seenIn(bytes: Uint8Array): number {
  const problem = new DeaddropError("refused", "trust_seen.json holds no version");
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(bytes).toString("utf8"));
  } catch {
    throw problem;
  }
  const version =
    typeof value === "object" && value !== null && "version" in value && value.version;
  if (!Number.isSafeInteger(version)) throw problem;
  return version as number;
}

/** Whether a name is that of a private key, in use or not. */
export function isKeyName(name: string): boolean {
  return /\.key(\.[^/]*\.old)?$|\.old$/.test(name);
}

/** The private keys of an agent that are on this machine, former ones too. */
export function seedsHere(disk: Disk, paths: AgentPaths): readonly Uint8Array[] {
  const folders = [
    ["identity", paths.identity.folder],
    ["config", paths.configDir],
  ] as const;
  return folders.flatMap(([place, folder]) =>
    disk
      .list(folder)
      .filter((name) => isKeyName(name) && isBackupName(paths.handle, place, name))
      .flatMap((name) => readWhole(disk, join(folder, name)) ?? [])
      .filter((bytes) => bytes.length === PUBLIC_KEY_BYTES),
  );
}
