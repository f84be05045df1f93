import type { Effect } from "./effects.ts";
import type { HeartbeatsState } from "./heartbeats/heartbeats.ts";
import { hasObserved } from "./heartbeats/pace.ts";

const OWN_ACCOUNT: ReadonlySet<string> = new Set(["claim", "proposal", "decision"]);

/**
 * Whether the daemon may send a message of that type on its own account: it has observed two of its
 * heartbeats since it started. What the agent or its operator sends is not delayed. Spec 3.9.
 * @internal
 */
export function mayInitiate(type: string, { paces }: HeartbeatsState): boolean {
  return !OWN_ACCOUNT.has(type) || [...paces.values()].some(hasObserved);
}

/** Whether an effect has to wait because the daemon has just started. It is decided again later. */
export function isEarly(effect: Effect, state: HeartbeatsState): boolean {
  return effect.do === "send" && !mayInitiate(effect.draft.type, state);
}
