import type { Env } from "../protocol/record.ts";
import { authenticate, type AdmissionContext } from "../trust/admission.ts";
import { tierOf } from "../trust/store.ts";
import { isChained, type ChainHead } from "../wire/chain.ts";
import type { Memory } from "./memory.ts";
import type { Place } from "./place.ts";

/** By what lines are judged. Spec 2.4. */
export function contextOf(place: Place): AdmissionContext {
  const { config, store, handle } = place;
  return {
    wireId: config.wireId,
    signing: config.signing,
    limits: config.limits,
    store,
    self: handle,
  };
}

/** What the protocol asks of the rest of the agent. */
export function envOf(place: Place, memory: Memory): Env {
  const { layout, store } = place;
  const held = (handle: string): boolean => {
    if (store.peers.get(handle)?.held !== undefined) return true;
    return [...memory.intakes.values()].some(
      (intake) => intake.log.owner === handle && intake.admission.held !== undefined,
    );
  };
  return {
    self: place.handle,
    layout,
    domains: place.domains,
    cadences: place.cadences,
    transitions: place.tiers.transitions,
    wireId: place.config.wireId,
    tierOf: (handle) => ({
      tier: tierOf(store, handle),
      sinceMs: store.peers.get(handle)?.attestedSinceMs,
    }),
    get heldPeers() {
      return new Set(layout.roster.filter((handle) => handle !== place.handle && held(handle)));
    },
    holdsBack: (log) => {
      const intake = memory.intakes.get(log);
      return intake !== undefined && (intake.heldBack || held(intake.log.owner));
    },
    caughtUp: (log) => memory.intakes.get(log)?.caughtUp ?? false,
  };
}

/** Whether a line of one of our logs is chained there and signed by us, and where in the chain. */
export function ownLine(
  log: string,
  line: Uint8Array,
  ctx: AdmissionContext,
): ChainHead | undefined {
  const result = authenticate(line, { owner: ctx.self, log }, ctx);
  if (!result.ok || !isChained(result.message)) return undefined;
  return { seq: result.message.seq, id: result.message.id };
}
