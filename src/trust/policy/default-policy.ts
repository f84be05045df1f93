import { DEFAULT_CONFIG, parseConfig, type WireConfig } from "./config.ts";
import { DEFAULT_HEARTBEAT_TIERS, parseHeartbeatTiers } from "./heartbeat-tiers.ts";

/**
 * What is pinned for a wire without that file: the defaults in writing, so that a file which somebody
 * puts there later is a difference, and not what is pinned first. Spec 1.1.
 */
export function defaultPolicyText(which: "config" | "tiers"): string {
  if (which === "config") return "{}\n";
  const { cadencesMs, transitions } = DEFAULT_HEARTBEAT_TIERS;
  const tiers = Object.fromEntries(
    Object.entries(cadencesMs).map(([tier, ms]) => [tier, { cadence_seconds: ms / 1_000 }]),
  );
  return `${JSON.stringify({ schema_version: "v1", tiers, transitions }, null, 2)}\n`;
}

/** Whether a pinned copy says what a wire without that file says. */
export function saysDefaults(which: "config" | "tiers", bytes: Uint8Array): boolean {
  if (which === "tiers") {
    const parsed = parseHeartbeatTiers(bytes);
    return parsed.ok && JSON.stringify(parsed.tiers) === JSON.stringify(DEFAULT_HEARTBEAT_TIERS);
  }
  const parsed = parseConfig(bytes);
  return parsed.ok && plain(parsed.config) === plain(DEFAULT_CONFIG);
}

function plain(config: WireConfig): string {
  return JSON.stringify({ ...config, domains: [...config.domains] });
}
