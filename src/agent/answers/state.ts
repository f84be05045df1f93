import type { AgentState } from "../../protocol/beats/beat.ts";
import type { Known } from "../duties/duty.ts";
import { readOwnState } from "../own-state.ts";
import { readParked, type StopEnd } from "../parked.ts";

/** What the agent says of itself. */
export interface StateView {
  readonly state: AgentState;
  readonly last_action: string | null;
  readonly heads_down: boolean;
}

/** Since when the agent is parked, and by whose request. `wake` ends it. Spec 3.8. */
export interface ParkedView {
  readonly since: string;
  /** Who asked. */
  readonly peer: string;
  /** Event ids of the request, and of our approval. */
  readonly request: string;
  readonly approval: string;
  /** How the command ended that ends the agent; `waiting`: for a daemon that runs it. */
  readonly stop_hook: "waiting" | "running" | StopEnd["outcome"];
}

/** Part of `status`. */
export function stateView({ store }: Pick<Known, "store">): StateView {
  const { state, lastAction, headsDown } = readOwnState(store);
  return { state, last_action: lastAction, heads_down: headsDown };
}

/** Part of `status`; null: the agent is not parked. */
export function parkedView(
  { store }: Pick<Known, "store">,
  { isDaemon }: { readonly isDaemon: boolean },
): ParkedView | null {
  const parked = readParked(store);
  if (parked === undefined) return null;
  const { sinceMs, peer, request, approval, stop } = parked;
  return {
    since: new Date(sinceMs).toISOString(),
    ...{ peer, request, approval },
    stop_hook: stop?.outcome ?? (isDaemon ? "running" : "waiting"),
  };
}
