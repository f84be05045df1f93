import type { Presence } from "../../protocol/beats/life.ts";
import type { Known } from "../duties/duty.ts";
import { readOwnState, stateToSay } from "../own-state.ts";
import { peersView } from "./peers.ts";
import { pendingView, type ObligationView } from "./pending.ts";

/** One agent of the wire as its team sees it. Spec 3.1, 3.3. */
export interface TeamMemberView {
  readonly handle: string;
  readonly is_self: boolean;
  readonly presence: Presence;
  /** What it does, such as `busy`. */
  readonly state: string | null;
  readonly last_action: string | null;
  readonly agent_last_seen: string | null;
  /** What it has asked of others and not been given, the 8 oldest, and how many there are. */
  readonly waits_for: readonly ObligationView[];
  /** How many there are of these. */
  readonly waits_for_in_all: number;
  /** What others have asked of it. */
  readonly owes: readonly ObligationView[];
  /** How many there are of these. */
  readonly owes_in_all: number;
}

const MOST_LISTED = 8;

/** Who is what, doing what, waiting for what: all agents of the wire, ourselves first. */
export function teamView(known: Known, isDaemon: boolean): TeamMemberView[] {
  const { store, place, safeMode } = known;
  const owed = pendingView(known);
  const { lastAction, lastSeenMs } = readOwnState(store);
  const state = stateToSay(store, safeMode);
  const self = {
    ...{ handle: place.self, is_self: true, state, last_action: lastAction },
    presence: state === "paused" ? state : isDaemon ? "online" : "unknown",
    agent_last_seen: lastSeenMs === null ? null : new Date(lastSeenMs).toISOString(),
  } as const;
  const others = peersView(known).map(
    ({ handle, presence, state: says, last_action, agent_last_seen }) => ({
      ...{ handle, is_self: false, presence, state: says, last_action, agent_last_seen },
    }),
  );
  return [self, ...others].map((member) => {
    const waitsFor = owed.filter(({ from }) => from === member.handle);
    const owes = owed.filter(({ owed_by: by }) => by === member.handle);
    return {
      ...member,
      ...{ waits_for: waitsFor.slice(0, MOST_LISTED), waits_for_in_all: waitsFor.length },
      ...{ owes: owes.slice(0, MOST_LISTED), owes_in_all: owes.length },
    };
  });
}
