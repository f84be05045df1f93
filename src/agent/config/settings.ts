import { isHandle } from "../../wire/handle.ts";
import { DeaddropError } from "../../api/errors.ts";

/** What an operator chooses for one agent; `settings.json` in its private folder. */
export interface AgentSettings {
  /** Replace the roster on wires that declare none. Spec 1.1. */
  readonly peers: readonly string[];
  /** Heartbeats are written to the inbox too. Spec 2.4. */
  readonly includeHeartbeats: boolean;
  /** Whether beats tell what the agent last did. Spec 3.1. */
  readonly showLastAction: boolean;
  /** How long a key is believed after its agent stops signing with it, in hours. Spec 2.5. */
  readonly keyGraceHours: number;
}

const MAX_GRACE_HOURS = 24 * 365;

export const DEFAULT_SETTINGS: AgentSettings = {
  peers: [],
  includeHeartbeats: false,
  showLastAction: true,
  keyGraceHours: 24,
};

/** Reads `settings.json`; throws what is wrong with it, by key. `value` is its JSON, if any. */
export function readAgentSettings(value: unknown, path: string): AgentSettings {
  if (value === undefined) return DEFAULT_SETTINGS;
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw invalid(path, "is not a JSON object");
  }
  const fields = value as Record<string, unknown>;
  const flag = (key: string, fallback: boolean): boolean => {
    const given = fields[key];
    if (given === undefined) return fallback;
    if (typeof given !== "boolean") throw invalid(path, `${key} must be true or false`);
    return given;
  };
  const keyGraceHours = fields["keys.grace_hours"] ?? DEFAULT_SETTINGS.keyGraceHours;
  if (
    typeof keyGraceHours !== "number" ||
    !(keyGraceHours >= 0) ||
    keyGraceHours > MAX_GRACE_HOURS
  ) {
    throw invalid(path, `keys.grace_hours must be a number from 0 to ${MAX_GRACE_HOURS}`);
  }
  const peers = fields["peers"] ?? [];
  if (!Array.isArray(peers) || !peers.every((peer) => typeof peer === "string" && isHandle(peer))) {
    throw invalid(path, "peers must be a list of handles");
  }
  return {
    peers: peers as string[],
    includeHeartbeats: flag("inbox.include_heartbeats", DEFAULT_SETTINGS.includeHeartbeats),
    showLastAction: flag("heartbeat.show_last_action", DEFAULT_SETTINGS.showLastAction),
    keyGraceHours,
  };
}

function invalid(path: string, problem: string): DeaddropError {
  return new DeaddropError("config", `${path}: ${problem}`, {
    hint: "see `deaddrop config list` for what can be set",
  });
}
