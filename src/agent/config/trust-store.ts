import { DeaddropError } from "../../api/errors.ts";
import { StorageError, type Disk } from "../../storage/disk/disk.ts";
import type { AgentPaths } from "../../storage/paths.ts";
import { readTrust, updateTrust } from "../../storage/private/private-store.ts";
import type { StoreChange } from "../../trust/pins.ts";
import { EMPTY_STORE, type TrustStore } from "../../trust/store.ts";
import { parseTrustStore, serialiseTrustStore } from "../../trust/trust-file.ts";

/** What this agent believes of others; empty before the first pin. Spec 2.1. */
export function readPrivateTrust(disk: Disk, paths: AgentPaths): TrustStore {
  return trustIn(paths, readTrust(disk, paths));
}

/**
 * Changes the private trust store, under its lock and durably; returns what it holds now. A change
 * that is refused throws a DeaddropError with its reason and changes nothing.
 */
export function changePrivateTrust(
  disk: Disk,
  paths: AgentPaths,
  change: (store: TrustStore) => StoreChange,
): TrustStore {
  let result = EMPTY_STORE;
  updateTrust(disk, paths, (current) => {
    const before = trustIn(paths, current);
    const changed = change(before);
    if (!changed.ok) throw new DeaddropError("refused", changed.detail);
    result = changed.store;
    if (result !== before) return serialiseTrustStore(result);
    return current ?? serialiseTrustStore({ ...result, version: 1 });
  });
  return result;
}

/** What the private trust.json says. Throws StorageError when it is damaged. Spec 2.1. */
export function trustIn(paths: AgentPaths, text: string | undefined): TrustStore {
  if (text === undefined) return EMPTY_STORE;
  const read = parseTrustStore(Buffer.from(text, "utf8"), 0);
  if (read.ok) return read.store;
  throw new StorageError("corrupt", paths.trust, read.detail, {
    hint: "correct it by hand, or restore it from a backup (deaddrop backup restore)",
  });
}
