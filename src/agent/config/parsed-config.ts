import { DeaddropError } from "../../api/errors.ts";
import { parseConfig, type WireConfig } from "../../trust/policy/config.ts";

/**
 * What these bytes of a config.json say. Throws DeaddropError when they are invalid. Spec 1.1.
 *
 * @param then what the person does after correcting it
 */
export function parsedConfig(
  path: string,
  bytes: Uint8Array,
  then = "repeat the command",
): WireConfig {
  const parsed = parseConfig(bytes);
  if (parsed.ok) return parsed.config;
  const hint =
    parsed.reason === "schema_drift"
      ? "upgrade deaddrop, or ask the wire's operator which version it is meant to speak"
      : `correct ${path}, then ${then}`;
  throw new DeaddropError("config", parsed.detail, { hint });
}
