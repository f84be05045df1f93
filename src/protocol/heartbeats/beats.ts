import { answerLog, openLogs, type Log } from "../../wire/layout.ts";
import { lastLineOf } from "../addressing.ts";
import { beatDueMs, beatenLogs, tierOfLog, type BeatTimers } from "./beat-timers.ts";
import type { Effect, HeartbeatBody } from "../effects.ts";
import { readersOf, type HeartbeatsState } from "./heartbeats.ts";
import type { IncidentsState } from "../incidents/incidents.ts";
import { lastBeat } from "../logs/covering-beats.ts";
import type { LogsState } from "../logs/logs-state.ts";
import { clonePace, newPace, takeBeat, type Pace } from "./pace.ts";
import { headsFor } from "../receipts/own-heads.ts";
import { unreadCount, type ReceiptsState } from "../receipts/receipts-state.ts";
import { notWokenBody } from "./not-woken.ts";
import type { AgentState, Env, HeartbeatTier, Now } from "../env.ts";
import { isPaused } from "../requests/parking.ts";
import { safeMode } from "../incidents/safe-mode.ts";

/** What a beat speaks of. */
export interface BeatState {
  readonly heartbeats: HeartbeatsState;
  readonly receipts: ReceiptsState;
  readonly logs: LogsState;
  readonly incidents: IncidentsState;
}

/**
 * Our heartbeats that are due. One for each log, however long it has been due. Spec 3.1. What our log
 * does not say yet is said in a log that we have read to its end: in another one it may be said already,
 * and would be said again in each round.
 */
export function decideBeats(state: BeatState, env: Env, now: Now, timers: BeatTimers): Effect[] {
  const isRead = (log: string): boolean => env.reading.caughtUp(log, -Infinity);
  const due = beatenLogs(env).filter(
    ({ name }) =>
      beatDueMs(timers, name, state.heartbeats, env) <= now.monoMs ||
      ((owesState(state, name) || owesNotWoken(state, env, now, name)) && isRead(name)),
  );
  const open = openLogs(env.layout, env.self);
  due.push(...open.filter((log) => owesLastBeat(state, log, env) && isRead(log.name)));
  return due.map(({ name }) => ({ do: "beat", log: name, body: beatBody(state, env, now, name) }));
}

/**
 * Whether what a reader wrote before it left is not covered by our last beat in its log: outcomes are
 * judged by that beat, and none follows. Spec 3.4.
 */
function owesLastBeat({ logs }: BeatState, { name, addressee }: Log, env: Env): boolean {
  if (addressee === undefined || !env.layout.members.includes(env.self)) return false;
  const own = env.layout.logs.get(name);
  const answers = own && answerLog(env.layout, own, addressee)?.name;
  const last = answers === undefined ? undefined : lastLineOf(addressee, answers, env);
  if (answers === undefined || last === undefined) return false;
  const held = Math.min(last, logs.get(answers)?.lines ?? 0);
  return held > (lastBeat(logs, name)?.heads.get(answers)?.lines ?? 0);
}

/** Whether our last beat does not say yet that we are paused, or that we go on. Spec 3.8. */
function owesState({ heartbeats: { parking }, logs }: BeatState, ownLog: string): boolean {
  const last = lastBeat(logs, ownLog);
  if (isPaused(parking)) return last?.state !== "paused";
  const { parked, woken } = parking;
  return parked === undefined && woken !== undefined && (last?.at ?? Infinity) < woken.at;
}

/** Whether our last beat does not say yet that the wakes for mail of its readers are used up. */
function owesNotWoken(
  { heartbeats: { notWoken }, logs }: BeatState,
  env: Env,
  now: Now,
  ownLog: string,
): boolean {
  if (notWoken === undefined || (lastBeat(logs, ownLog)?.at ?? Infinity) >= notWoken.at)
    return false;
  const said = notWokenBody(notWoken.by, readersOf(ownLog, env), now.wallMs);
  return Object.keys(said).length > 0;
}

/** What a daemon that stops says: one beat `paused` in each log. Spec 3.1. */
export function lastBeats(state: BeatState, env: Env, now: Now): Effect[] {
  return beatenLogs(env).map(({ name }) => {
    const body = beatBody(state, env, now, name);
    const nextEta = isoTime(now.wallMs + env.policy.cadences.T3_long_idle);
    return { do: "beat", log: name, body: { ...body, state: "paused", next_eta: nextEta } };
  });
}

function beatBody(state: BeatState, env: Env, now: Now, ownLog: string): HeartbeatBody {
  const { heartbeats, receipts } = state;
  const tier = tierAfterBeat(state, env, now, ownLog);
  const { lastAction, agentLastSeen } = heartbeats;
  const notWoken = notWokenBody(heartbeats.notWoken?.by ?? {}, readersOf(ownLog, env), now.wallMs);
  return {
    wakeup_count: heartbeats.wakeups,
    state: stateToSay(state, env),
    ...(lastAction === undefined ? {} : { last_action: lastAction }),
    next_eta: isoTime(now.wallMs + env.policy.cadences[tier]),
    inbox_unread_count: unreadCount(receipts, env),
    tier,
    ...(agentLastSeen === undefined ? {} : { agent_last_seen: isoTime(agentLastSeen) }),
    ...(Object.keys(notWoken).length === 0 ? {} : { not_woken: notWoken }),
    heads: headsFor(receipts, state.logs, ownLog, env),
  };
}

/** Spec 3.5, 3.8: in safe mode and while it is parked an agent is `paused`. */
export function stateToSay(
  { heartbeats, incidents }: Pick<BeatState, "heartbeats" | "incidents">,
  env: Env,
): AgentState {
  const isStopped = isPaused(heartbeats.parking) || safeMode(incidents, env) !== undefined;
  return isStopped ? "paused" : heartbeats.status;
}

/** The beat itself may end the last idle cycle of a tier: it names the tier that follows. */
function tierAfterBeat(state: BeatState, env: Env, now: Now, ownLog: string): HeartbeatTier {
  if (isPaused(state.heartbeats.parking)) return "T3_long_idle";
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
