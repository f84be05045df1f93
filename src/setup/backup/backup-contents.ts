import { configOf } from "../../agent/config/agent-config.ts";
import { DeaddropError } from "../../api/errors.ts";
import { readAgentSettings } from "../../agent/config/settings.ts";
import type { Backup, BackupPlace } from "../../storage/private/backup-file.ts";
import { StorageError } from "../../storage/disk/disk.ts";
import { parseHeartbeatTiers } from "../../trust/policy/heartbeat-tiers.ts";
import { parsePairings, type Pairings } from "../../trust/pairing/pairing-file.ts";
import { EMPTY_STORE, type TrustStore } from "../../trust/store.ts";
import { parseTrustStore } from "../../trust/trust-file.ts";
import { encodeBase64, PUBLIC_KEY_BYTES, publicKeyOf } from "../../wire/signature.ts";

/** What the files of a backup say. */
export interface BackupContents {
  readonly store: TrustStore;
  readonly pairings: Pairings;
  /** The 32 bytes of the agent's own key. */
  readonly seed: Uint8Array;
}

/**
 * Reads every file of a backup that can be read without a machine around it: before one is written,
 * so that it can be restored, and before anything of one is restored. Throws "refused".
 */
export function readContents(backup: Backup, where: string): BackupContents {
  try {
    return contentsOf(backup);
  } catch (error) {
    if (!(error instanceof DeaddropError) && !(error instanceof StorageError)) throw error;
    throw new DeaddropError("refused", `${where}: ${error.message}`, {
      hint: error.hint ?? "correct that file first, or take another backup",
      cause: error,
    });
  }
}

function contentsOf(backup: Backup): BackupContents {
  const seed = fileIn(backup, "identity", `${backup.handle}.key`);
  if (seed?.length !== PUBLIC_KEY_BYTES) {
    throw refused(`${backup.handle}.key`, "is missing, or is not the 32 bytes of a key");
  }
  checkPublicKey(backup, seed);
  const trust = fileIn(backup, "config", "trust.json");
  const store = trust === undefined ? undefined : parseTrustStore(trust, seenVersion(backup));
  if (store?.ok === false) throw refused("trust.json", store.detail);
  const version = store?.store.version ?? 0;
  if (version !== backup.storeVersion) {
    throw refused("trust.json", `has version ${version}, not ${backup.storeVersion}`);
  }
  const paired = fileIn(backup, "config", "pairing.json");
  const pairings = paired === undefined ? undefined : parsePairings(paired, "pairing.json");
  if (pairings?.ok === false) throw refused("pairing.json", pairings.detail);
  checkPolicy(backup);
  return {
    store: store?.store ?? EMPTY_STORE,
    pairings: pairings?.pairings ?? new Map(),
    seed,
  };
}

export function fileIn(backup: Backup, place: BackupPlace, name: string): Uint8Array | undefined {
  return backup.files.find((file) => file.place === place && file.name === name)?.bytes;
}

function checkPublicKey(backup: Backup, seed: Uint8Array): void {
  const name = `${backup.handle}.pub.json`;
  const bytes = fileIn(backup, "identity", name);
  const { key } = bytes === undefined ? {} : jsonOf<{ key?: unknown }>(name, bytes);
  if (bytes !== undefined && key !== encodeBase64(publicKeyOf(seed))) {
    throw refused(name, "does not belong to the private key beside it");
  }
}

function checkPolicy(backup: Backup): void {
  const config = fileIn(backup, "config", "config.json");
  if (config !== undefined) configOf("config.json", config);
  const tiers = fileIn(backup, "config", "tiers.json");
  const parsed = tiers === undefined ? undefined : parseHeartbeatTiers(tiers);
  if (parsed?.ok === false) throw refused("tiers.json", parsed.detail);
  const settings = fileIn(backup, "config", "settings.json");
  if (settings !== undefined) {
    readAgentSettings(jsonOf<unknown>("settings.json", settings), "settings.json");
  }
}

function seenVersion(backup: Backup): number {
  const bytes = fileIn(backup, "state", "trust_seen.json");
  if (bytes === undefined) return 0;
  const { version } = jsonOf<{ version?: unknown }>("trust_seen.json", bytes);
  if (typeof version === "number" && Number.isSafeInteger(version)) return version;
  throw refused("trust_seen.json", `"version" is not a whole number`);
}

function jsonOf<T>(name: string, bytes: Uint8Array): T {
  try {
    return (JSON.parse(Buffer.from(bytes).toString("utf8")) ?? {}) as T;
  } catch (cause) {
    throw refused(name, "is not JSON", cause);
  }
}

function refused(name: string, problem: string, cause?: unknown): DeaddropError {
  const text = problem.startsWith(`${name}: `) ? problem : `${name}: ${problem}`;
  return new DeaddropError("refused", text, { cause });
}
