import { join } from "node:path";
import { readWhole, StorageError, type Disk } from "../disk/disk.ts";
import {
  fingerprintOf,
  identityOf,
  loadIdentity,
  savePublic,
  SEED_BYTES,
  type Identity,
} from "./identity.ts";
import type { AgentPaths } from "../paths.ts";
import { checkPrivate } from "./private-store.ts";
import { PRIVATE_FILE } from "../disk/file-modes.ts";

/** What the files of keys that were changed end in, after the eight hex digits of their ids. */
const OLD_KEY = ".old.key";
const MAX_OLD_KEYS = 64;

/**
 * What an agent signs with on one wire: the key of its identity, which all of its wires share, until
 * a rotation brings in one that is this wire's alone (docs/decisions/012). Spec 2.5.
 */
export function loadSigningIdentity(disk: Disk, paths: AgentPaths): Identity {
  const isChanged = (disk.stat(paths.signing.key)?.size ?? 0) > 0;
  return loadIdentity(disk, isChanged ? paths.signing : paths.identity, paths.handle);
}

/** The key that a rotation is to bring in; undefined when there is none, or it is in use already. */
export function loadNextIdentity(disk: Disk, paths: AgentPaths): Identity | undefined {
  const seed = readWhole(disk, paths.nextKey);
  if (seed === undefined || seed.length === 0) return undefined;
  checkPrivate(disk, paths.nextKey, "not_readable_by_others");
  if (seed.length !== SEED_BYTES) {
    throw new StorageError(
      "corrupt",
      paths.nextKey,
      `holds ${seed.length} bytes, not ${SEED_BYTES}`,
      {
        hint: "no peer may have accepted it: remove it and begin again (deaddrop key rotate)",
      },
    );
  }
  const next = identityOf(paths.handle, seed);
  const { signer } = loadSigningIdentity(disk, paths);
  return next.signer.keyId === signer.keyId ? undefined : next;
}

/** What this agent signed with on this wire before. Their private halves prove that they are its own. */
export function earlierIdentities(disk: Disk, paths: AgentPaths): Identity[] {
  if ((disk.stat(paths.signing.key)?.size ?? 0) === 0) return [];
  const kept = disk.list(paths.configDir).filter((name) => name.endsWith(OLD_KEY));
  return kept.slice(0, MAX_OLD_KEYS).flatMap((name) => {
    const seed = readWhole(disk, join(paths.configDir, name), SEED_BYTES);
    return seed?.length === SEED_BYTES ? [identityOf(paths.handle, seed)] : [];
  });
}

/** Stores a key for a rotation, or gives the one that waits already. `seed`: 32 random bytes. */
export function prepareNextIdentity(disk: Disk, paths: AgentPaths, seed: Uint8Array): Identity {
  disk.remove(paths.nextIsUrgent);
  const waiting = loadNextIdentity(disk, paths);
  if (waiting !== undefined) return waiting;
  disk.replace(paths.nextKey, seed, PRIVATE_FILE);
  return identityOf(paths.handle, seed);
}

/** Stores a key that is to be used at once: the one in use may be in other hands. */
export function prepareUrgentIdentity(disk: Disk, paths: AgentPaths, seed: Uint8Array): Identity {
  // Peers may have been asked for the one that waits; this one has nothing to do with it.
  disk.remove(paths.nextKey);
  const next = prepareNextIdentity(disk, paths, seed);
  disk.replace(paths.nextIsUrgent, new Uint8Array(0), PRIVATE_FILE);
  return next;
}

/** Whether the next key is to be used even if no peer believes it yet. */
export function isNextUrgent(disk: Disk, paths: AgentPaths): boolean {
  return disk.stat(paths.nextIsUrgent) !== undefined;
}

/**
 * Signs with the next key from now on. The one in use until now is kept beside it, as
 * `<8 hex>.old.key`: a crash anywhere leaves one of the two in use, and repeating it ends the change.
 * The caller has made the peers accept the new key.
 */
export function adoptNextIdentity(disk: Disk, paths: AgentPaths): Identity {
  const seed = readWhole(disk, paths.nextKey) ?? new Uint8Array(0);
  if (seed.length > 0) {
    const { key, publicKey } = paths.signing;
    if (loadNextIdentity(disk, paths) !== undefined) {
      const current = loadSigningIdentity(disk, paths);
      const inUse = (disk.stat(key)?.size ?? 0) > 0 ? key : paths.identity.key;
      const old = readWhole(disk, inUse) ?? new Uint8Array(0);
      disk.replace(join(paths.configDir, `${fingerprintOf(current)}${OLD_KEY}`), old, PRIVATE_FILE);
    }
    // A crash must not leave halves of two pairs: a missing public half is made again at loading.
    disk.remove(publicKey);
    // Rewritten even if present: after a failed fsync the cached content may not be on disk.
    disk.replace(key, seed, PRIVATE_FILE);
    savePublic(disk, paths.signing, identityOf(paths.handle, seed).publicIdentity);
  }
  // What is said of the next key must not be taken for a word about the one after it.
  disk.remove(paths.nextIsUrgent);
  disk.remove(paths.nextKey);
  return loadSigningIdentity(disk, paths);
}
