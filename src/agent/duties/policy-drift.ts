import { Buffer } from "node:buffer";
import { lookOf, readWhole, StorageError, type Disk } from "../../storage/disk/disk.ts";
import { readPinned } from "../../storage/private/private-store.ts";
import type { StoreWriter } from "../../store/store.ts";
import type { OperatorIncident } from "../../store/told.ts";
import { trustDrift } from "../../trust/cards/advertised.ts";
import { saysDefaults } from "../../trust/policy/default-policy.ts";
import { parseTrustFile } from "../../trust/trust-file.ts";
import { sha256Hex } from "../../wire/canonical.ts";
import type { AgentConfig } from "../config/agent-config.ts";
import type { Duty, Ground } from "./duty.ts";

/** Files beyond this are no configuration; they are not read. */
const MAX_SHARED_FILE_BYTES = 4 * 1_048_576;

/**
 * Tells our operator how the wire's own configuration and advertised keys differ from what is pinned: once for each
 * content, and nothing of it is followed. Spec 1.1, 2.1.
 */
export class PolicyDrift implements Duty {
  readonly #ground: Ground;
  readonly #disk: Disk;
  readonly #config: () => AgentConfig;
  /** What the files looked like when they were compared last, by path. */
  readonly #looks = new Map<string, string>();
  #pinned: AgentConfig | undefined;

  constructor(ground: Ground, disk: Disk, config: () => AgentConfig) {
    this.#ground = ground;
    this.#disk = disk;
    this.#config = config;
  }

  decide(into: StoreWriter): boolean {
    const config = this.#config();
    // What is pinned has changed: everything is compared again.
    if (config !== this.#pinned) this.#looks.clear();
    this.#pinned = config;
    const { wire } = config;
    const found = [
      ...this.#whenChanged(wire.config, () => this.#drift(config, "config", wire.config)),
      ...this.#whenChanged(wire.tiers, () => this.#drift(config, "tiers", wire.tiers)),
      ...this.#whenChanged(wire.trust, () => this.#advertised(config)),
    ];
    for (const incident of found) this.#ground.tell(into, incident);
    return false;
  }

  #whenChanged(path: string, look: () => OperatorIncident[]): OperatorIncident[] {
    const seen = lookOf(this.#disk, path);
    if (this.#looks.get(path) === seen) return [];
    this.#looks.set(path, seen);
    return look();
  }

  #drift({ paths }: AgentConfig, which: "config" | "tiers", path: string): OperatorIncident[] {
    const pinned = readPinned(this.#disk, paths, which);
    const current = bytesOf(this.#disk, path);
    if (current === undefined || pinned === undefined) {
      // A wire without the file has the defaults.
      if (current === pinned) return [];
      if (pinned !== undefined && saysDefaults(which, pinned)) return [];
    } else if (current !== "unreadable" && Buffer.from(pinned).equals(current)) return [];
    const what = current instanceof Uint8Array ? sha256Hex(current).slice(0, 16) : String(current);
    return [
      {
        key: `config_drift:${which}:${what}`,
        cause: "config_drift",
        subject: `${which}.json on the wire differs from what you pinned`,
        detail: `${path} was changed; nothing of it applies until you have looked: deaddrop config accept`,
      },
    ];
  }

  #advertised({ wire, store }: AgentConfig): OperatorIncident[] {
    const bytes = bytesOf(this.#disk, wire.trust);
    if (bytes === undefined) return [];
    const parsed =
      bytes === "unreadable" ? undefined : parseTrustFile(bytes, "trust.json", "UNTRUSTED");
    if (parsed?.ok !== true) {
      const detail = parsed?.detail ?? `${wire.trust} is no readable file`;
      return [keyDrift("unreadable", undefined, detail)];
    }
    // Any writer chooses the names: only those of the roster have a limit of their own.
    const { handles } = this.#ground.roster;
    return trustDrift(store, parsed.document)
      .filter(({ cause }) => cause !== "earlier_key")
      .map(({ key, handle, detail }) =>
        keyDrift(key, handles.includes(handle) ? handle : undefined, detail),
      );
  }
}

function keyDrift(key: string, peer: string | undefined, detail: string): OperatorIncident {
  return {
    key: `trust_drift:${key}`,
    cause: "trust_drift",
    peer,
    subject: "the wire advertises a key that you did not pin",
    detail: `${detail}; it is not used. See: deaddrop trust list`,
  };
}

/** Its bytes; a symlink, a device or a huge file in its place is as good as a changed one. */
function bytesOf(disk: Disk, path: string): Uint8Array | undefined | "unreadable" {
  try {
    return readWhole(disk, path, MAX_SHARED_FILE_BYTES);
  } catch (error) {
    if (error instanceof StorageError) return "unreadable";
    throw error;
  }
}
