import { readWhole, StorageError, type Disk, LOCK_WAIT_MS } from "../disk/disk.ts";
import type { AgentPaths } from "../paths.ts";
import { PRIVATE_FILE } from "../disk/file-modes.ts";
import { shellWord } from "../../wire/quote.ts";

/** Which users must be kept out of a private file. */
type Privacy = "not_writable_by_others" | "not_readable_by_others";

const FORBIDDEN_BITS: Readonly<Record<Privacy, number>> = {
  not_writable_by_others: 0o022,
  not_readable_by_others: 0o077,
};

/** Refuses a key or store that others can reach, and names the `chmod` that helps (spec 2.1). */
export function checkPrivate(disk: Disk, path: string, privacy: Privacy): void {
  const open = (disk.stat(path)?.mode ?? 0) & FORBIDDEN_BITS[privacy];
  if (open === 0) return;
  const can = (open & 0o022) !== 0 ? "write" : "read";
  throw new StorageError("unsafe_mode", path, `other users can ${can} it`, {
    hint: `chmod 600 ${path}`,
  });
}

/**
 * The private trust store's text; undefined when there is none. Spec 2.1: refused when others can
 * write it, or when its version is below the last one seen.
 */
export function readTrust(disk: Disk, paths: AgentPaths): string | undefined {
  checkPrivate(disk, paths.trust, "not_writable_by_others");
  const bytes = readWhole(disk, paths.trust);
  const seen = lastSeenVersion(disk, paths);
  if (bytes === undefined) {
    if (seen > 0) throw lost(paths, seen);
    return undefined;
  }
  const text = Buffer.from(bytes).toString("utf8");
  const version = versionOf(paths.trust, text);
  if (version < seen) throw rolledBack(paths.trust, `has version ${version}`, seen);
  if (version > seen) remember(disk, paths, version);
  return text;
}

/**
 * Changes the trust store under its own lock, so that no change of another process is lost. The
 * new text's `version` must be above the current one's. Returns what was written.
 */
export function updateTrust(
  disk: Disk,
  paths: AgentPaths,
  change: (current: string | undefined) => string,
): string {
  return whileLocked(disk, paths.trustLock, paths.trust, () => {
    const current = readTrust(disk, paths);
    const next = change(current);
    if (next === current) return next;
    // `readTrust` has refused a store that is older than the last one seen.
    const before = lastSeenVersion(disk, paths);
    const version = versionOf(paths.trust, next);
    if (version <= before) {
      throw new Error(`trust.json: version ${version} does not follow ${before}`);
    }
    // The store first: a crash between the two leaves a store that is newer than last seen.
    disk.replace(paths.trust, Buffer.from(next, "utf8"), PRIVATE_FILE);
    remember(disk, paths, version);
    return next;
  });
}

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
  whileLocked(disk, paths.pairingLock, paths.pairing, () => {
    checkPrivate(disk, paths.pairing, "not_readable_by_others");
    const current = readWhole(disk, paths.pairing);
    const next = Buffer.from(change(current), "utf8");
    if (current === undefined || !next.equals(current))
      disk.replace(paths.pairing, next, PRIVATE_FILE);
  });
}

/** Runs `act` while this process holds the lock that guards a file. */
function whileLocked<T>(disk: Disk, lockPath: string, guarded: string, act: () => T): T {
  const lock = disk.open(lockPath, "append", PRIVATE_FILE);
  try {
    if (lock.lock(LOCK_WAIT_MS)) return act();
    throw new StorageError("locked", guarded, "another program is changing it", {
      hint: "wait for that command to end, then repeat this one",
    });
  } finally {
    lock.close();
  }
}

function lastSeenVersion(disk: Disk, paths: AgentPaths): number {
  const bytes = readWhole(disk, paths.trustSeen);
  return bytes === undefined ? 0 : versionOf(paths.trustSeen, Buffer.from(bytes).toString("utf8"));
}

function remember(disk: Disk, paths: AgentPaths, version: number): void {
  disk.replace(
    paths.trustSeen,
    Buffer.from(`${JSON.stringify({ version })}\n`, "utf8"),
    PRIVATE_FILE,
  );
}

function versionOf(path: string, text: string): number {
  const value = parseJson(path, text);
  const version =
    typeof value === "object" && value !== null && "version" in value && value.version;
  if (Number.isSafeInteger(version)) return version as number;
  throw new StorageError("corrupt", path, '"version" is not a whole number', {
    hint: "restore it from a backup (deaddrop backup restore)",
  });
}

function rolledBack(path: string, is: string, seen: number): StorageError {
  return new StorageError("corrupt", path, `${is}, but version ${seen} was seen before`, {
    hint: "somebody put an older store back, and with it keys that may be revoked: restore the newest backup",
  });
}

/** Nobody gains by it: without the store nobody is believed. So there is a way on without a backup. */
function lost({ trust, handle, ...paths }: AgentPaths, seen: number): StorageError {
  const [wireDir, stateDir, moved] = [paths.wireDir, paths.stateDir, `${paths.stateDir}.lost`].map(
    shellWord,
  ) as [string, string, string];
  return new StorageError("corrupt", trust, `is missing, but version ${seen} was seen before`, {
    hint: [
      "with a backup:",
      `  deaddrop backup restore FILE --wire ${wireDir} --as ${handle}`,
      "without one, begin again on this wire, and compare digits with each peer once more:",
      `  mv ${stateDir} ${moved}`,
      `  deaddrop join ${wireDir} --me ${handle}`,
    ].join("\n"),
  });
}

function parseJson(path: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new StorageError("corrupt", path, "is not JSON", {
      hint: "correct it by hand, or restore it from a backup",
      cause,
    });
  }
}

/** settings.json; undefined when there is none. */
export function readSettings(disk: Disk, paths: AgentPaths): unknown {
  checkPrivate(disk, paths.settings, "not_writable_by_others");
  const bytes = readWhole(disk, paths.settings);
  if (bytes === undefined) return undefined;
  return parseJson(paths.settings, Buffer.from(bytes).toString("utf8"));
}

export function saveSettings(disk: Disk, paths: AgentPaths, settings: unknown): void {
  const text = `${JSON.stringify(settings, null, 2)}\n`;
  disk.replace(paths.settings, Buffer.from(text, "utf8"), PRIVATE_FILE);
}

/** The private copy of the wire's config.json or tiers.json; undefined before the first start. */
export function readPinned(
  disk: Disk,
  paths: AgentPaths,
  which: "config" | "tiers",
): Uint8Array | undefined {
  const path = which === "config" ? paths.pinnedConfig : paths.pinnedTiers;
  checkPrivate(disk, path, "not_writable_by_others");
  return readWhole(disk, path);
}

export function savePinned(
  disk: Disk,
  paths: AgentPaths,
  which: "config" | "tiers",
  bytes: Uint8Array,
): void {
  disk.replace(which === "config" ? paths.pinnedConfig : paths.pinnedTiers, bytes, PRIVATE_FILE);
}
