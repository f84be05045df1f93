import { readWhole, type Disk } from "../../storage/disk/disk.ts";
import type { WireConfig } from "../../trust/policy/config.ts";
import { diffConfig, diffTiers, isLooser } from "../../trust/policy/policy-drift.ts";
import { weaknesses } from "../../trust/policy/weak-policy.ts";
import { MAX_CONFIG_BYTES } from "../../wire/limits.ts";
import type { AgentConfig } from "./agent-config.ts";
import { parsedConfig, parsedTiers } from "./parsed-config.ts";

/** What the wire says now, against what this agent holds on to. Spec 1.1. */
export interface PendingPolicy {
  /** In words; none: there is nothing to agree to. */
  readonly lines: readonly string[];
  readonly config: Uint8Array | undefined;
  readonly tiers: Uint8Array | undefined;
}

/** Throws DeaddropError when the wire's files are no policy at all. */
export function pendingPolicy(disk: Disk, place: AgentConfig): PendingPolicy {
  const config = readWhole(disk, place.wire.config, MAX_CONFIG_BYTES);
  const tiers = readWhole(disk, place.wire.tiers, MAX_CONFIG_BYTES);
  const newConfig = parsedConfig(place.wire.config, config);
  const newTiers = parsedTiers(place.wire.tiers, tiers);
  const lines = [
    ...diffConfig(place.config, newConfig),
    ...newWeaknesses(place, newConfig),
    ...diffTiers(place.tiers, newTiers),
  ];
  return { lines, config, tiers };
}

/** In what the new policy is weaker than the defaults and the held one is not. */
function newWeaknesses(
  { config, pinned, handle }: AgentConfig,
  next: WireConfig,
): readonly string[] {
  const pinnedHandles = [...pinned.roster.keys()];
  const held = weaknesses(config, pinnedHandles, [handle]).map(({ detail }) => detail);
  const roster = [...new Set([...pinnedHandles, ...next.roster])];
  const isTold = isLooser(config.signing, next.signing);
  return weaknesses(next, roster, [handle])
    .filter(({ kind, detail }) => !held.includes(detail) && !(isTold && kind === "unsigned"))
    .map(({ detail }) => `WEAKER: ${detail}`);
}
