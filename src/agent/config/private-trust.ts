import type { Identity } from "../../storage/private/identity.ts";
import { adoptNextIdentity } from "../../storage/private/signing-key.ts";
import type { Disk } from "../../storage/disk/disk.ts";
import type { AgentPaths } from "../../storage/paths.ts";
import type { StoreChange } from "../../trust/pins.ts";
import type { TrustStore } from "../../trust/store.ts";
import { readTrustAndKeys, type TrustAndKeys } from "./agent-config.ts";
import { changePrivateTrust } from "./trust-store.ts";

/**
 * The private trust store and our own keys, as they were read last. What this process changes is read again at
 * once; `reread` is for what another program has changed.
 */
export class PrivateTrust {
  readonly #disk: Disk;
  readonly #paths: AgentPaths;
  #read: TrustAndKeys;

  /** @throws StorageError */
  constructor(disk: Disk, paths: AgentPaths) {
    this.#disk = disk;
    this.#paths = paths;
    this.#read = readTrustAndKeys(disk, paths);
  }

  /** With our own keys in it. */
  get store(): TrustStore {
    return this.#read.store;
  }

  get identity(): Identity {
    return this.#read.identity;
  }

  /** What a rotation is to bring in. */
  get nextIdentity(): Identity | undefined {
    return this.#read.nextIdentity;
  }

  /** It is used at once: the one in use may be in other hands. */
  get nextIsUrgent(): boolean {
    return this.#read.nextIsUrgent;
  }

  reread(): void {
    this.#read = readTrustAndKeys(this.#disk, this.#paths);
  }

  /** Durable when it returns. @throws StorageError, or DeaddropError when the change is refused */
  change(make: (store: TrustStore) => StoreChange): void {
    changePrivateTrust(this.#disk, this.#paths, make);
    this.reread();
  }

  /** Signs with the next key from now on; the one before is kept as `<8 hex>.old.key`. @throws StorageError */
  adoptNext(): void {
    adoptNextIdentity(this.#disk, this.#paths);
    this.reread();
  }
}
