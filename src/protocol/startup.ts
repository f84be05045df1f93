import type { AutomaticIncident } from "./effects.ts";
import type { HeartbeatsState } from "./heartbeats.ts";

/** Spec 3.9: a daemon observes so many heartbeats before it speaks on its own account. */
const OBSERVED_HEARTBEATS = 2;
/** Spec 1.1: what we speak; a wire that names none is v2.0. */
const SPOKEN_VERSIONS: ReadonlySet<string> = new Set(["v2.0", "v3.0", "v3.1"]);
const OWN_ACCOUNT: ReadonlySet<string> = new Set(["claim", "proposal", "decision"]);

/**
 * Whether the daemon may send a message of that type of its own account: two full heartbeat
 * intervals after it started. What the agent itself sends is not delayed. Spec 3.9.
 */
export function mayInitiate(type: string, state: HeartbeatsState): boolean {
  if (!OWN_ACCOUNT.has(type)) return true;
  return [...state.paces.values()].some(({ observed }) => observed >= OBSERVED_HEARTBEATS);
}

/** What halts a daemon on a wire whose version it does not speak. Spec 3.9. */
export function schemaDrift(protocolVersion: string | undefined): AutomaticIncident | undefined {
  if (protocolVersion === undefined || SPOKEN_VERSIONS.has(protocolVersion)) return undefined;
  return {
    key: `schema_drift:${protocolVersion}`,
    cause: "schema_drift",
    subject: "this wire speaks a version that we do not",
    detail:
      `config.json: protocol_version is ${JSON.stringify(protocolVersion)}; ` +
      `expected one of ${[...SPOKEN_VERSIONS].join(", ")}. Upgrade deaddrop`,
    concernsWire: true,
  };
}
