import { DeaddropError } from "../../api/errors.ts";
import { DEFAULT_CONFIG, parseConfig, type WireConfig } from "../../trust/policy/config.ts";
import {
  DEFAULT_HEARTBEAT_TIERS,
  parseHeartbeatTiers,
  type HeartbeatTiers,
} from "../../trust/policy/heartbeat-tiers.ts";

/**
 * What a config.json says; without one the defaults. Spec 1.1.
 *
 * @param then what the person does after correcting it
 * @throws DeaddropError "config" when it is invalid
 */
export function parsedConfig(
  path: string,
  bytes: Uint8Array | undefined,
  then = "repeat the command",
): WireConfig {
  if (bytes === undefined) return DEFAULT_CONFIG;
  const parsed = parseConfig(bytes);
  if (parsed.ok) return parsed.config;
  const hint =
    parsed.reason === "schema_drift"
      ? "upgrade deaddrop, or ask the wire's operator which version it is meant to speak"
      : `correct ${path}, then ${then}`;
  throw new DeaddropError("config", parsed.detail, { hint });
}

/** The same of a tiers.json. Spec 4.9. */
export function parsedTiers(
  path: string,
  bytes: Uint8Array | undefined,
  then = "repeat the command",
): HeartbeatTiers {
  if (bytes === undefined) return DEFAULT_HEARTBEAT_TIERS;
  const parsed = parseHeartbeatTiers(bytes);
  if (parsed.ok) return parsed.tiers;
  throw new DeaddropError("config", parsed.detail, {
    hint: `correct ${path}, or remove it for the tiers that come with deaddrop, then ${then}`,
  });
}
