import { Buffer } from "node:buffer";
import { incidentOf } from "../../api/troubles.ts";
import { lookOf, readWhole, StorageError, type Disk } from "../../storage/disk/disk.ts";
import type { AgentPaths } from "../../storage/paths.ts";
import { readPinned } from "../../storage/private/private-store.ts";
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
export function policyDrift(ground: Ground, config: () => AgentConfig): Duty {
  const { disk } = ground.world;
  /** What the files looked like when they were compared last, by path. */
  const looks = new Map<string, string>();
  let pinned: AgentConfig | undefined;

  function whenChanged(path: string, compare: () => OperatorIncident[]): OperatorIncident[] {
    const look = lookOf(disk, path);
    if (looks.get(path) === look) return [];
    looks.set(path, look);
    return compare();
  }

  return {
    decide(into) {
      const current = config();
      // What is pinned has changed: everything is compared again.
      if (current !== pinned) looks.clear();
      pinned = current;
      const { wire, paths } = current;
      const found = [
        ...whenChanged(wire.config, () => documentDrift(disk, paths, "config", wire.config)),
        ...whenChanged(wire.tiers, () => documentDrift(disk, paths, "tiers", wire.tiers)),
        ...whenChanged(wire.trust, () => keysDrift(disk, current, ground.roster.handles)),
      ];
      for (const incident of found) ground.tell(into, incident);
      return false;
    },
  };
}

function documentDrift(
  disk: Disk,
  paths: AgentPaths,
  which: "config" | "tiers",
  path: string,
): OperatorIncident[] {
  const pinned = readPinned(disk, paths, which);
  const current = bytesOf(disk, path);
  if (current === undefined || pinned === undefined) {
    // A wire without the file has the defaults.
    if (current === pinned) return [];
    if (pinned !== undefined && saysDefaults(which, pinned)) return [];
  } else if (current !== "unreadable" && Buffer.from(pinned).equals(current)) return [];
  const content = current instanceof Uint8Array ? sha256Hex(current).slice(0, 16) : String(current);
  return [incidentOf("config_drift", { differences: path }, `${which}:${content}`)];
}

/** @param handles of any roster: any writer chooses the names, so only these have a limit of their own */
function keysDrift(
  disk: Disk,
  { wire, store }: AgentConfig,
  handles: readonly string[],
): OperatorIncident[] {
  const bytes = bytesOf(disk, wire.trust);
  if (bytes === undefined) return [];
  const parsed =
    bytes === "unreadable" ? undefined : parseTrustFile(bytes, "trust.json", "UNTRUSTED");
  if (parsed?.ok !== true) {
    const detail = parsed?.detail ?? `${wire.trust} is no readable file`;
    return [keyDrift("unreadable", undefined, detail)];
  }
  return trustDrift(store, parsed.document)
    .filter(({ cause }) => cause !== "earlier_key")
    .map(({ key, handle, detail }) =>
      keyDrift(key, handles.includes(handle) ? handle : undefined, detail),
    );
}

function keyDrift(key: string, peer: string | undefined, difference: string): OperatorIncident {
  return incidentOf("trust_drift", { difference, peer }, key);
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
