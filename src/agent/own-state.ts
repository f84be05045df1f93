import { MOST_ACTION_CODE_POINTS, type AgentState, type NotWoken } from "../protocol/beats/beat.ts";
import type { Store, StoreWriter } from "../store/store.ts";
import { firstCodePoints } from "../wire/json/code-points.ts";
import { readParked } from "./parked.ts";

/** By whose mail no session is woken until then, ms of Unix time. Spec 8.3. */
type NotWokenBy = Readonly<
  Record<string, { readonly untilMs: number; readonly urgentUntilMs?: number | undefined }>
>;

/** What our agent has said of itself, and its daemon of it; plain JSON. Spec 3.1, 4.9. */
export interface OwnState {
  readonly state: AgentState;
  /** Since when it says so, ms of Unix time; null: it has never said anything. */
  readonly sinceMs: number | null;
  readonly lastAction: string | null;
  readonly headsDown: boolean;
  readonly notWoken: NotWokenBy;
  /** When the agent itself last did something: it sent, read, or said what it does. */
  readonly lastSeenMs: number | null;
  /** Starts of its daemon. */
  readonly wakeups: number;
}

/** What the agent, or the tool that it runs in, says anew. */
export interface StateChange {
  readonly state?: AgentState | undefined;
  readonly lastAction?: string | undefined;
  readonly headsDown?: boolean | undefined;
  readonly notWoken?: NotWokenBy | undefined;
}

/** In `meta`. */
const OWN_STATE = "own_state";

const NEW_OWN_STATE: OwnState = {
  ...{ state: "idle", sinceMs: null, lastAction: null, headsDown: false, notWoken: {} },
  ...{ lastSeenMs: null, wakeups: 0 },
};

export function readOwnState(store: Store): OwnState {
  const text = store.meta(OWN_STATE);
  return text === undefined ? NEW_OWN_STATE : (JSON.parse(text) as OwnState);
}

/** Within a transaction. */
export function writeOwnState(into: StoreWriter, store: Store, change: Partial<OwnState>): void {
  into.setMeta(OWN_STATE, JSON.stringify({ ...readOwnState(store), ...change }));
}

/** The state after the agent has said something at that time. */
export function changeOwnState(own: OwnState, change: StateChange, nowMs: number): OwnState {
  const { state = own.state, lastAction, headsDown, notWoken } = change;
  return {
    ...own,
    ...{ state, lastSeenMs: nowMs },
    sinceMs: state === own.state && own.sinceMs !== null ? own.sinceMs : nowMs,
    lastAction:
      lastAction === undefined
        ? own.lastAction
        : firstCodePoints(lastAction, MOST_ACTION_CODE_POINTS),
    headsDown: headsDown ?? own.headsDown,
    notWoken: notWoken ?? own.notWoken,
  };
}

/** For whom no session is woken at that time, of these agents. */
export function notWokenNow(
  { notWoken }: OwnState,
  peers: readonly string[],
  nowMs: number,
): ReadonlyMap<string, NotWoken> {
  return new Map(
    peers.flatMap((peer): [string, NotWoken][] => {
      const { untilMs = 0, urgentUntilMs = 0 } = notWoken[peer] ?? {};
      if (untilMs <= nowMs) return [];
      return [
        [peer, { untilMs, urgentUntilMs: urgentUntilMs > nowMs ? urgentUntilMs : undefined }],
      ];
    }),
  );
}

/** What beats say: in safe mode, and once it is parked, an agent is `paused`. Spec 3.5, 3.8. */
export function stateToSay(store: Store, safeMode: object | undefined): AgentState {
  const isPaused = safeMode !== undefined || (readParked(store)?.stop ?? null) !== null;
  return isPaused ? "paused" : readOwnState(store).state;
}
