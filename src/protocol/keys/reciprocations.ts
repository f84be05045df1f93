import type { Proposal } from "../decisions/proposal.ts";
import type { Env } from "../env.ts";

/** Ratified decisions of ours remembered for each peer, oldest forgotten first. */
const MAX_TIMES = 256;

/** When decisions that we proposed and that a peer acked were ratified, in ms; by peer. Spec 2.3. */
export type ReciprocationsState = Map<string, number[]>;

export function emptyReciprocations(): ReciprocationsState {
  return new Map();
}

/** `changed`: what the proposals say has changed; a settled one is among them once. */
export function applyReciprocations(
  state: ReciprocationsState,
  changed: ReadonlySet<Proposal>,
): void {
  for (const { own, settled, outcome, required } of changed) {
    if (!own || !settled || outcome?.status !== "ratified") continue;
    const at = Date.parse(outcome.at);
    for (const peer of required) {
      state.set(peer, [...(state.get(peer) ?? []), at].slice(-MAX_TIMES));
    }
  }
}

/** How many there are for each VERIFIED peer since it became so, where the store knows of fewer. */
export function dueReciprocations(
  state: ReciprocationsState,
  env: Env,
): ReadonlyMap<string, number> {
  const due = new Map<string, number>();
  for (const [peer, times] of state) {
    const { tier, setAtMs = 0, reciprocations = 0 } = env.tierOf(peer);
    if (tier !== "VERIFIED") continue;
    const count = times.filter((at) => at >= setAtMs).length;
    if (count > reciprocations) due.set(peer, count);
  }
  return due;
}
