import { isHandle } from "../../wire/handle.ts";
import {
  encodeBase64,
  keyId,
  makeSigner,
  PUBLIC_KEY_BYTES,
  publicKeyOf,
  type Signer,
} from "../../wire/signature.ts";
import { readWhole, StorageError, type Disk } from "../disk/disk.ts";
import type { IdentityPaths } from "../paths.ts";
import { listIdentities } from "./identities.ts";
import { checkPrivate } from "./private-store.ts";
import { PRIVATE_FILE, PRIVATE_FOLDER } from "../disk/file-modes.ts";

/** `<handle>.pub.json`, the Python reference's format. Spec 4.6. */
export interface PublicIdentity {
  readonly agent: string;
  readonly key_id: string;
  /** Base64 of the 32 raw bytes. */
  readonly key: string;
  readonly active: boolean;
}

export interface Identity {
  readonly signer: Signer;
  readonly publicKey: Uint8Array;
  readonly publicIdentity: PublicIdentity;
}

export const SEED_BYTES = PUBLIC_KEY_BYTES;

/** The mark of a new key. Spec 1.6. */
const NOTHING_SIGNED = "[0,null]\n";

/** Stores a new key pair. Spec 2.5: it refuses to overwrite. `seed`: 32 random bytes. */
export function makeIdentity(
  disk: Disk,
  paths: IdentityPaths,
  handle: string,
  seed: Uint8Array,
): Identity {
  const identity = identityOf(handle, seed);
  disk.makeFolder(paths.folder, PRIVATE_FOLDER);
  for (const path of [paths.key, paths.publicKey]) {
    // An empty file is what a crash left of an earlier keygen: it holds no key.
    if ((disk.stat(path)?.size ?? 0) > 0) throw exists(path, handle);
  }
  // Named by the key itself: two keygens at once do not take each other's file.
  const temporary = `${paths.key}.${fingerprintOf(identity)}.new`;
  disk.replace(temporary, seed, PRIVATE_FILE);
  // Before the key: one that is there has a mark, whatever is interrupted.
  if (disk.stat(paths.key) === undefined)
    disk.replace(paths.mark, Buffer.from(NOTHING_SIGNED), PRIVATE_FILE);
  disk.renameExclusive(temporary, paths.key);
  savePublic(disk, paths, identity.publicIdentity);
  return identity;
}

/**
 * A second key for a handle is never advised: every peer would have to pin it, while the first one may
 * only be elsewhere.
 */
export function noKey(disk: Disk, paths: IdentityPaths, handle: string): StorageError {
  const others = listIdentities(disk, paths.folder);
  const typed =
    others.length === 0 ? "" : `--as takes one of the identities here: ${others.join(", ")}. `;
  return new StorageError("missing", paths.key, `there is no key for "${handle}"`, {
    hint: `${typed}A key stays where it was made: check that XDG_CONFIG_HOME is still the same. One that was lost comes back with deaddrop backup restore <backup> (without one, see docs/backup.md); a new agent gets one with deaddrop init or deaddrop join`,
  });
}

/** Reads the key pair; a missing public half is made again from the private one. */
export function loadIdentity(disk: Disk, paths: IdentityPaths, handle: string): Identity {
  const seed = readWhole(disk, paths.key);
  if (seed === undefined || seed.length === 0) {
    throw noKey(disk, paths, handle);
  }
  checkPrivate(disk, paths.key, "not_readable_by_others");
  if (seed.length !== SEED_BYTES) {
    throw new StorageError("corrupt", paths.key, `holds ${seed.length} bytes, not ${SEED_BYTES}`, {
      hint: "it must be the 32 raw bytes of an Ed25519 private key: restore it from a backup",
    });
  }
  const identity = identityOf(handle, seed);
  checkPrivate(disk, paths.publicKey, "not_writable_by_others");
  const stored = readWhole(disk, paths.publicKey);
  if (stored === undefined || stored.length === 0) {
    savePublic(disk, paths, identity.publicIdentity);
  } else {
    checkPublic(paths.publicKey, Buffer.from(stored).toString("utf8"), identity.publicIdentity);
  }
  return identity;
}

/** The eight hex digits that a key id ends in. */
export function fingerprintOf(identity: Identity): string {
  return identity.signer.keyId.slice(identity.signer.handle.length + 1);
}

/** `seed`: the 32 raw bytes of the private key. */
export function identityOf(handle: string, seed: Uint8Array): Identity {
  if (!isHandle(handle)) throw new Error(`"${handle}" is not a handle`);
  if (seed.length !== SEED_BYTES) throw new Error(`a key has ${SEED_BYTES} bytes`);
  const publicKey = publicKeyOf(seed);
  return {
    signer: makeSigner(handle, seed),
    publicKey,
    publicIdentity: {
      agent: handle,
      key_id: keyId(handle, publicKey),
      key: encodeBase64(publicKey),
      active: true,
    },
  };
}

export function savePublic(disk: Disk, paths: IdentityPaths, identity: PublicIdentity): void {
  const text = `${JSON.stringify(identity, null, 2)}\n`;
  disk.replace(paths.publicKey, Buffer.from(text, "utf8"), PRIVATE_FILE);
}

function checkPublic(path: string, text: string, expected: PublicIdentity): void {
  let stored: unknown;
  try {
    stored = JSON.parse(text);
  } catch (cause) {
    throw mismatch(path, "is not JSON", cause);
  }
  const { agent, key_id, key } = (stored ?? {}) as Partial<PublicIdentity>;
  if (agent !== expected.agent) throw mismatch(path, `names agent ${JSON.stringify(agent)}`);
  if (key !== expected.key || key_id !== expected.key_id) {
    throw mismatch(path, "does not belong to the private key beside it");
  }
}

function mismatch(path: string, problem: string, cause?: unknown): StorageError {
  return new StorageError("corrupt", path, problem, {
    hint: "restore both files from one backup; or remove this one, and it is made again from the private key",
    cause,
  });
}

function exists(path: string, handle: string): StorageError {
  return new StorageError("exists", path, `"${handle}" has a key already; nothing was changed`, {
    hint: `to change keys use: deaddrop key rotate; to start again, move ${path} away first`,
  });
}
