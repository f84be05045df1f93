import { openLogs, type Log } from "../../wire/layout.ts";
import { readersOf, type HeartbeatsState } from "./heartbeats.ts";
import { newPace, type Pace } from "./pace.ts";
import { isPaused } from "../requests/parking.ts";
import { owesBeat } from "../receipts/own-heads.ts";
import type { ReceiptsState } from "../receipts/receipts-state.ts";
import type { Env, HeartbeatTier, Now } from "../env.ts";
import { MINUTE_MS } from "../../wire/durations.ts";

/**
 * Spec 3.2: news brings the next beat forward to within 2 s. News that comes within this time goes
 * into one beat.
 */
const EARLY_DELAY_MS = 1_000;
/** Spec 3.2: at most so many beats a minute are brought forward, in all logs together. */
const MAX_EARLY_PER_MINUTE = 6;
const JITTER = 0.05;

/**
 * When our beats are due, on the monotonic clock: plain values that belong to the caller and are
 * never written to disk. A log without a timer is due at once.
 */
export interface BeatTimers {
  readonly logs: ReadonlyMap<string, BeatTimer>;
  /** When beats were brought forward, within the last minute. */
  readonly early: readonly number[];
}

export interface BeatTimer {
  /** When we last beat. */
  readonly lastMs: number;
  /** What that beat advertised. */
  readonly promisedMs: number;
  /** 0.95 to 1.05. */
  readonly factor: number;
  /** When the next beat is due because there is news. */
  readonly earlyMs: number | undefined;
}

export function newBeatTimers(): BeatTimers {
  return { logs: new Map(), early: [] };
}

/** Our logs that a member reads: in the others we do not beat. Nor do we once we have left. Spec 1.1. */
export function beatenLogs(env: Env): Log[] {
  if (!env.layout.members.includes(env.self)) return [];
  return openLogs(env.layout, env.self).filter(({ name }) => readersOf(name, env).length > 0);
}

/** The tier at which we beat in that log: the fastest of its readers'. Spec 3.1. */
export function tierOfLog(
  ownLog: string,
  env: Env,
  paceOfPeer: (peer: string) => Pace,
): HeartbeatTier {
  const tiers = readersOf(ownLog, env).map((peer) => paceOfPeer(peer).tier);
  const [first = newPace().tier, ...rest] = tiers;
  return rest.reduce((a, b) => (env.policy.cadences[b] < env.policy.cadences[a] ? b : a), first);
}

function logCadence(state: HeartbeatsState, ownLog: string, env: Env): number {
  if (isPaused(state.parking)) return env.policy.cadences.T3_long_idle;
  const tier = tierOfLog(ownLog, env, (peer) => state.paces.get(peer) ?? newPace());
  return env.policy.cadences[tier];
}

/** How often we beat now, in the log where we beat most often. */
export function fastestCadence(state: HeartbeatsState, env: Env): number {
  const cadences = beatenLogs(env).map(({ name }) => logCadence(state, name, env));
  return cadences.length === 0 ? env.policy.cadences.T3_long_idle : Math.min(...cadences);
}

/** Brings beats forward where there is news; call it after each batch of events. */
export function planBeats(
  timers: BeatTimers,
  receipts: ReceiptsState,
  env: Env,
  now: Now,
): BeatTimers {
  const logs = new Map(timers.logs);
  for (const [log, timer] of timers.logs) {
    if (timer.earlyMs !== undefined || !owesBeat(receipts, log, env)) continue;
    logs.set(log, { ...timer, earlyMs: earlySlot({ ...timers, logs }, now.monoMs) });
  }
  return { ...timers, logs };
}

/** After a beat was written and folded. `jitter` is at random from 0 up to, not including, 1. */
export function beatWritten(
  timers: BeatTimers,
  ownLog: string,
  state: HeartbeatsState,
  env: Env,
  now: Now,
  jitter: number,
): BeatTimers {
  const before = timers.logs.get(ownLog);
  const broughtForward = before?.earlyMs !== undefined && now.monoMs < promiseDueMs(before);
  const early = timers.early.filter((at) => at > now.monoMs - MINUTE_MS);
  if (broughtForward) early.push(now.monoMs);
  const timer: BeatTimer = {
    lastMs: now.monoMs,
    promisedMs: logCadence(state, ownLog, env),
    factor: 1 - JITTER + 2 * JITTER * jitter,
    earlyMs: undefined,
  };
  return { logs: new Map(timers.logs).set(ownLog, timer), early };
}

/** When the next beat in that log is due on the monotonic clock; -Infinity before the first. */
export function beatDueMs(
  timers: BeatTimers,
  ownLog: string,
  state: HeartbeatsState,
  env: Env,
): number {
  const timer = timers.logs.get(ownLog);
  if (timer === undefined) return -Infinity;
  if (timer.earlyMs !== undefined) return Math.min(timer.earlyMs, promiseDueMs(timer));
  const cadence = Math.min(timer.promisedMs, logCadence(state, ownLog, env));
  return timer.lastMs + cadence * timer.factor;
}

/**
 * Until when the daemon may sleep as far as beats go, on the monotonic clock. `isOpen`: whether a
 * log of ours takes lines now; in the others nothing is due.
 */
export function nextBeatDueMs(
  timers: BeatTimers,
  state: HeartbeatsState,
  env: Env,
  isOpen: (log: string) => boolean = () => true,
): number {
  const open = beatenLogs(env).filter(({ name }) => isOpen(name));
  return Math.min(Infinity, ...open.map(({ name }) => beatDueMs(timers, name, state, env)));
}

function promiseDueMs(timer: BeatTimer): number {
  return timer.lastMs + timer.promisedMs * timer.factor;
}

/** The first moment at which a beat brought forward is one of at most six within a minute. */
function earlySlot(timers: BeatTimers, nowMs: number): number {
  const planned = [...timers.logs.values()].flatMap(({ earlyMs }) => earlyMs ?? []);
  const slots = [...timers.early, ...planned].sort((a, b) => a - b);
  const sixthLast = slots.at(-MAX_EARLY_PER_MINUTE);
  const soonest = nowMs + EARLY_DELAY_MS;
  return sixthLast === undefined ? soonest : Math.max(soonest, sixthLast + MINUTE_MS);
}
