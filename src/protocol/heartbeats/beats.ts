import { ownLogs } from "../../wire/layout.ts";
import { beatDueMs, tierOfLog, type BeatTimers } from "./beat-timers.ts";
import type { Effect, HeartbeatBody } from "../effects.ts";
import { readersOf, type HeartbeatsState } from "./heartbeats.ts";
import type { IncidentsState } from "../incidents/incidents.ts";
import type { LogsState } from "../logs/logs-state.ts";
import { clonePace, newPace, takeBeat, type Pace } from "./pace.ts";
import { headsFor, unreadCount, type ReceiptsState } from "../receipts/receipts.ts";
import type { Env, HeartbeatTier, Now } from "../env.ts";
import { safeMode } from "../incidents/safe-mode.ts";

/** What a beat speaks of. */
export interface BeatState {
  readonly heartbeats: HeartbeatsState;
  readonly receipts: ReceiptsState;
  readonly logs: LogsState;
  readonly incidents: IncidentsState;
}

/** Our heartbeats that are due. One for each log, however long it has been due. Spec 3.1. */
export function decideBeats(state: BeatState, env: Env, now: Now, timers: BeatTimers): Effect[] {
  const due = ownLogs(env.layout, env.self).filter(
    (log) => beatDueMs(timers, log.name, state.heartbeats, env) <= now.monoMs,
  );
  return due.map(({ name }) => ({ do: "beat", log: name, body: beatBody(state, env, now, name) }));
}

/** What a daemon that stops says: one beat `paused` in each log. Spec 3.1. */
export function lastBeats(state: BeatState, env: Env, now: Now): Effect[] {
  return ownLogs(env.layout, env.self).map(({ name }) => {
    const body = beatBody(state, env, now, name);
    const nextEta = isoTime(now.wallMs + env.policy.cadences.T3_long_idle);
    return { do: "beat", log: name, body: { ...body, state: "paused", next_eta: nextEta } };
  });
}

function beatBody(state: BeatState, env: Env, now: Now, ownLog: string): HeartbeatBody {
  const { heartbeats, receipts } = state;
  const tier = tierAfterBeat(state, env, now, ownLog);
  const { lastAction, agentLastSeen } = heartbeats;
  return {
    wakeup_count: heartbeats.wakeups,
    // Spec 3.5: in safe mode a daemon reports `paused`.
    state: safeMode(state.incidents, env) === undefined ? heartbeats.status : "paused",
    ...(lastAction === undefined ? {} : { last_action: lastAction }),
    next_eta: isoTime(now.wallMs + env.policy.cadences[tier]),
    inbox_unread_count: unreadCount(receipts, env),
    tier,
    ...(agentLastSeen === undefined ? {} : { agent_last_seen: isoTime(agentLastSeen) }),
    heads: headsFor(receipts, state.logs, ownLog, env),
  };
}

/** The beat itself may end the last idle cycle of a tier: it names the tier that follows. */
function tierAfterBeat(state: BeatState, env: Env, now: Now, ownLog: string): HeartbeatTier {
  const after = new Map<string, Pace>();
  for (const peer of readersOf(ownLog, env)) {
    const pace = clonePace(state.heartbeats.paces.get(peer) ?? newPace());
    takeBeat(pace, now.wallMs, unreadCount(state.receipts, env, peer) > 0, env);
    after.set(peer, pace);
  }
  return tierOfLog(ownLog, env, (peer) => after.get(peer) ?? newPace());
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
