import { parsedConfig } from "../../agent/config/parsed-config.ts";
import { readAgentSettings } from "../../agent/config/settings.ts";
import { DeaddropError } from "../../api/errors.ts";
import { StorageError } from "../../storage/disk/disk.ts";
import type { Backup, BackupPlace } from "../../storage/private/backup-file.ts";
import { parsePairings, type Pairings } from "../../trust/pairing/pairing-file.ts";
import { parseHeartbeatTiers } from "../../trust/policy/heartbeat-tiers.ts";
import { EMPTY_STORE, type TrustStore } from "../../trust/store.ts";
import { parseTrustStore } from "../../trust/trust-file.ts";
import { encodeBase64, PUBLIC_KEY_BYTES, publicKeyOf } from "../../wire/signature.ts";

/** What the files of a backup say. */
export interface BackupContents {
  readonly store: TrustStore;
  readonly pairings: Pairings;
}

type Files = Omit<Backup, "storeVersion"> & Partial<Pick<Backup, "storeVersion">>;

/**
 * Reads every file of a backup that can be read without a machine around it: before one is written,
 * so that it can be restored, and before anything of one is restored. Throws "refused".
 */
export function readContents(backup: Files, where: string): BackupContents {
  try {
    return contentsOf(backup);
  } catch (error) {
    if (!isTrouble(error)) throw error;
    throw new DeaddropError("refused", `${where}: ${error.message}`, {
      hint: error.hint ?? "correct that file first, or take another backup",
      cause: error,
    });
  }
}

/** Whether a file is damaged or refused, and no bug of ours was met. */
export function isTrouble(error: unknown): error is DeaddropError | StorageError {
  return error instanceof DeaddropError || error instanceof StorageError;
}

function contentsOf(backup: Files): BackupContents {
  const key = `${backup.handle}.key`;
  const seed = fileIn(backup, "identity", key);
  if (seed?.length !== PUBLIC_KEY_BYTES) {
    throw refused(key, "is missing, or is not the 32 bytes of a key");
  }
  checkPublicKey(backup, seed);
  const read = <T>(
    place: BackupPlace,
    name: string,
    parse: (bytes: Uint8Array, name: string) => T,
  ): T | undefined => {
    const bytes = fileIn(backup, place, name);
    return bytes === undefined ? undefined : parse(bytes, name);
  };
  const seen = read("state", "trust_seen.json", readSeenVersion) ?? 0;
  const store = read("config", "trust.json", (bytes) => readStore(bytes, seen)) ?? EMPTY_STORE;
  const stated = backup.storeVersion ?? store.version;
  if (store.version !== stated)
    throw refused("trust.json", `has version ${store.version}, not ${stated}`);
  const pairings = read("config", "pairing.json", readPairings) ?? new Map();
  read("config", "config.json", (bytes, name) => parsedConfig(name, bytes));
  read("config", "tiers.json", (bytes, name) => {
    const parsed = parseHeartbeatTiers(bytes);
    if (!parsed.ok) throw refused(name, parsed.detail);
  });
  read("config", "settings.json", (bytes, name) => readAgentSettings(jsonOf(name, bytes), name));
  return { store, pairings };
}

export function fileIn(
  { files }: Pick<Backup, "files">,
  place: BackupPlace,
  name: string,
): Uint8Array | undefined {
  return files.find((file) => file.place === place && file.name === name)?.bytes;
}

function checkPublicKey(backup: Files, seed: Uint8Array): void {
  const name = `${backup.handle}.pub.json`;
  const bytes = fileIn(backup, "identity", name);
  const { key } = bytes === undefined ? {} : (jsonOf(name, bytes) as { key?: unknown });
  if (bytes !== undefined && key !== encodeBase64(publicKeyOf(seed))) {
    throw refused(name, "does not belong to the private key beside it");
  }
}

/** The private trust store in its file. Throws "refused". */
export function readStore(bytes: Uint8Array, seenVersion = 0): TrustStore {
  const parsed = parseTrustStore(bytes, seenVersion);
  if (!parsed.ok) throw refused("trust.json", parsed.detail);
  return parsed.store;
}

/** The pairings in their file. Throws "refused". */
export function readPairings(bytes: Uint8Array): Pairings {
  const parsed = parsePairings(bytes, "pairing.json");
  if (!parsed.ok) throw refused("pairing.json", parsed.detail);
  return parsed.pairings;
}

/** The version of the trust store that was seen last. Throws "refused". */
export function readSeenVersion(bytes: Uint8Array): number {
  const { version } = jsonOf("trust_seen.json", bytes) as { version?: unknown };
  if (typeof version === "number" && Number.isSafeInteger(version)) return version;
  throw refused("trust_seen.json", `"version" is not a whole number`);
}

function jsonOf(name: string, bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString("utf8")) ?? {};
  } catch (cause) {
    throw refused(name, "is not JSON", cause);
  }
}

function refused(name: string, problem: string, cause?: unknown): DeaddropError {
  const text = problem.startsWith(`${name}: `) ? problem : `${name}: ${problem}`;
  return new DeaddropError("refused", text, { cause });
}
