import { DEFAULT_HEARTBEAT_TIERS, type Transition } from "../../trust/policy/heartbeat-tiers.ts";
import type { Env, HeartbeatTier } from "../env.ts";

/** Spec 3.1: T0 ends after so many beats. @internal */
export const MAX_T0_BEATS = 20;
/** An interval of at least this share of the cadence is a full one: beats jitter by 5 %. */
const FULL_INTERVAL = 0.9;
/** Spec 3.9: a daemon observes so many heartbeats before it speaks of its own account. */
const OBSERVED_INTERVALS = 2;
/** Conflicts remembered for one peer; more of them are one long conflict. */
const MAX_CONFLICTS = 64;

const HEADS_DOWN: HeartbeatTier = "T0_HEADS_DOWN";
const ACTIVE: HeartbeatTier = "T1_active";

/** How fast we beat for one peer, and what that follows from. Spec 3.1. */
export interface Pace {
  tier: HeartbeatTier;
  /** When the running heartbeat interval began, by our clock; undefined until we have beaten. */
  intervalFrom: number | undefined;
  /** Whether there was a message to or from the peer in the running interval. */
  traffic: boolean;
  /** Idle cycles in a row, in this tier. */
  idleCycles: number;
  /** Full intervals since the daemon started. Spec 3.9. */
  observed: number;
  /** Full intervals over all starts since the daemon had last observed enough. */
  observedInAll: number;
  /** When the running one of these began: a start does not end it. */
  inAllFrom: number | undefined;
  /** Beats since T0 began. */
  beatsAtT0: number;
  /** Threads of the conflicts that led to T0; empty when the agent asked for it. */
  conflicts: string[];
}

export function newPace(): Pace {
  return {
    tier: ACTIVE,
    intervalFrom: undefined,
    traffic: false,
    idleCycles: 0,
    observed: 0,
    observedInAll: 0,
    inAllFrom: undefined,
    beatsAtT0: 0,
    conflicts: [],
  };
}

export function clonePace(pace: Pace): Pace {
  return { ...pace, conflicts: [...pace.conflicts] };
}

/** Takes our beat into account. An early beat neither is a cycle nor begins an interval. */
export function takeBeat(pace: Pace, at: number, unread: boolean, env: Env): void {
  observeInAll(pace, at, env);
  if (pace.tier === HEADS_DOWN) {
    pace.beatsAtT0 += 1;
    if (pace.beatsAtT0 >= MAX_T0_BEATS) enter(pace, ACTIVE);
  }
  const from = pace.intervalFrom;
  if (from === undefined || at < from) {
    pace.intervalFrom = at;
    return;
  }
  if (!isFull(pace, at - from, env)) return;
  const idle = !pace.traffic && !unread;
  pace.intervalFrom = at;
  pace.traffic = false;
  pace.idleCycles = idle ? pace.idleCycles + 1 : 0;
  pace.observed += 1;
  follow(pace, "idle_cycles", env);
}

/** A message that is no heartbeat went to the peer or came from it. */
export function takeTraffic(pace: Pace, env: Env): void {
  pace.traffic = true;
  pace.idleCycles = 0;
  follow(pace, "non_heartbeat_message", env);
}

export function takeStateChange(pace: Pace, env: Env): void {
  follow(pace, "state_change_posted", env);
}

/**
 * To be called when a conflict in that thread begins, or (undefined) when the agent goes
 * heads-down; not while it lasts.
 */
export function takeConflict(pace: Pace, thread: string | undefined, env: Env): void {
  if (thread !== undefined && !pace.conflicts.includes(thread)) {
    if (pace.conflicts.length < MAX_CONFLICTS) pace.conflicts.push(thread);
  }
  follow(pace, "conflict_or_multi_edit", env);
  pace.beatsAtT0 = 0;
}

/** Forgets conflicts that are over; T0 that was due to them alone ends with the last. Spec 3.1. */
export function dropEndedConflicts(
  pace: Pace,
  headsDown: boolean,
  isOpen: (thread: string) => boolean,
): void {
  if (pace.conflicts.length === 0) return;
  pace.conflicts = pace.conflicts.filter(isOpen);
  const over = pace.conflicts.length === 0 && !headsDown;
  if (over && pace.tier === HEADS_DOWN) enter(pace, ACTIVE);
}

function observeInAll(pace: Pace, at: number, env: Env): void {
  const from = pace.inAllFrom;
  const isOver = from !== undefined && isFull(pace, at - from, env);
  if (isOver) pace.observedInAll += 1;
  if (isOver || from === undefined || at < from) pace.inAllFrom = at;
}

function isFull(pace: Pace, lengthMs: number, env: Env): boolean {
  return lengthMs >= env.policy.cadences[pace.tier] * FULL_INTERVAL;
}

/**
 * Whether the daemon has observed what it has to before it speaks of its own account: two full
 * intervals since it started, or four over several starts, so that a daemon that restarts again and
 * again speaks in the end. Spec 3.9.
 */
export function hasObserved({ observed, observedInAll }: Pace): boolean {
  return observed >= OBSERVED_INTERVALS || observedInAll >= 2 * OBSERVED_INTERVALS;
}

/** The daemon was down: that time was no heartbeat interval. */
export function restartInterval(pace: Pace): void {
  if (hasObserved(pace)) {
    pace.observedInAll = 0;
    pace.inAllFrom = undefined;
  }
  pace.intervalFrom = undefined;
  pace.observed = 0;
}

function follow(pace: Pace, when: Transition["when"], env: Env): void {
  const transitions = env.policy.transitions ?? DEFAULT_HEARTBEAT_TIERS.transitions;
  const move = transitions.find(
    (transition) =>
      transition.when === when &&
      (transition.from.includes("*") || transition.from.includes(pace.tier)) &&
      (when !== "idle_cycles" || pace.idleCycles >= (transition.count ?? 1)),
  );
  if (move !== undefined && move.to !== pace.tier) enter(pace, move.to);
}

function enter(pace: Pace, tier: HeartbeatTier): void {
  pace.tier = tier;
  pace.idleCycles = 0;
  pace.beatsAtT0 = 0;
  if (tier !== HEADS_DOWN) pace.conflicts = [];
}
