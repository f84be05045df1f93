import type { Tier } from "../../trust/tiers.ts";
import { ownLogs } from "../../wire/layout.ts";
import type { AnnouncementsState } from "../keys/announcements.ts";
import type { Effect } from "../effects.ts";
import type { HeartbeatsState } from "./heartbeats.ts";
import type { LogsState, LogState } from "../logs/logs-state.ts";
import type { PeerBeat } from "./peer-beats.ts";
import { AGENT_STATES, type Env } from "../env.ts";
import { authorTier, isVerified } from "../routing.ts";
import { MINUTE_MS } from "../../wire/durations.ts";

const SILENT_AFTER_MS = 5 * MINUTE_MS;
const SILENT_AFTER_CADENCES = 3;

export type Presence = "online" | "late" | "silent" | "paused" | "unknown";

/** What is known of one peer: daemon alive and agent alive apart. Spec 3.1. */
export interface PeerLife {
  handle: string;
  trust_tier: Tier | null;
  /** How far it trusts us, by its last announcement. Spec 2.3. */
  trusts_us: Tier | null;
  /** Heartbeat tier that the peer last named, e.g. "T1_active". */
  heartbeat_tier: string | null;
  presence: Presence;
  state: string | null;
  /** What its agent did last, in its own words; null: not said, or it is below VERIFIED. Spec 2.3. */
  last_action: string | null;
  /** When we last received a beat: the daemon is alive. */
  last_seen_at: string | null;
  /** When the agent itself last did something, as its beats say. */
  agent_last_seen: string | null;
  next_eta: string | null;
  /** We take in no more of its lines until the operator decides. */
  held: boolean;
  inbox_unread_count: number | null;
  /** Lines in its logs that it did not sign: others have written them. */
  foreign_lines: number;
  /**
   * Lines that come before those of its pinned key, signed with a key that is not pinned here: it has
   * changed keys before we knew it. A daemon of an older version does not say.
   */
  unpinned_lines?: number;
}

/** What a peer advertised as the time between its beats, at most T3; T1 when nothing. */
export function advertisedCadence(cadenceMs: number | undefined, env: Env): number {
  return Math.min(cadenceMs ?? env.policy.cadences.T1_active, env.policy.cadences.T3_long_idle);
}

/** Spec 3.4, 3.5: how long one cadence of a peer is for a deadline: at least T1, at most T3. */
export function deadlineCadence(advertisedMs: number | undefined, env: Env): number {
  return Math.max(env.policy.cadences.T1_active, advertisedCadence(advertisedMs, env));
}

/** How long after a beat its sender counts as silent. */
export function silenceMs(cadenceMs: number | undefined, env: Env): number {
  return Math.max(SILENT_AFTER_MS, SILENT_AFTER_CADENCES * advertisedCadence(cadenceMs, env));
}

/** Whether a peer's daemon lives, by our receipt of its last beat. Spec 3.1. */
function presenceOf(beat: PeerBeat | undefined, env: Env, nowMs: number): Presence {
  if (beat === undefined) return "unknown";
  // A peer that announced a pause is not late.
  if (beat.state === "paused") return "paused";
  const age = nowMs - beat.at;
  if (age <= 2 * advertisedCadence(beat.cadenceMs, env)) return "online";
  return age < silenceMs(beat.cadenceMs, env) ? "late" : "silent";
}

/**
 * Peers that have fallen silent. Only when everything that they have written is read, and never
 * from history alone.
 */
export function silentPeers(state: HeartbeatsState, env: Env, nowMs: number): string[] {
  return silences(state, env, nowMs).map(([handle]) => handle);
}

function silences(
  { peerBeats }: HeartbeatsState,
  env: Env,
  nowMs: number,
): [handle: string, beat: PeerBeat][] {
  return [...peerBeats].filter(
    ([handle, beat]) =>
      env.layout.members.includes(handle) &&
      beat.live &&
      presenceOf(beat, env, nowMs) === "silent" &&
      !env.reading.heldPeers.has(handle) &&
      ownLogs(env.layout, handle).every(({ name }) =>
        env.reading.caughtUp(name, beat.at + silenceMs(beat.cadenceMs, env)),
      ),
  );
}

/** Peers whose daemons live, by their last beats. */
export function onlinePeers({ peerBeats }: HeartbeatsState, env: Env, nowMs: number): string[] {
  return [...peerBeats].flatMap(([handle, beat]) =>
    env.layout.members.includes(handle) && presenceOf(beat, env, nowMs) === "online"
      ? [handle]
      : [],
  );
}

/** Peers whose last beats say that they are paused. */
export function pausedPeers({ peerBeats }: HeartbeatsState, env: Env): string[] {
  return env.layout.members.filter((handle) => peerBeats.get(handle)?.state === "paused");
}

/** What our operator is told of silent peers: once for each silence. */
export function decideLiveness(state: HeartbeatsState, env: Env, nowMs: number): Effect[] {
  return silences(state, env, nowMs).map(([handle, beat]) => ({
    do: "tell",
    incident: {
      key: `peer_silent:${handle}:${beat.at}`,
      cause: "peer_silent",
      peer: handle,
      subject: `${handle} is silent`,
      detail:
        `the last heartbeat of ${handle} reached us at ${new Date(beat.at).toISOString()}; ` +
        "its daemon has stopped, or what it writes does not reach this wire",
      concernsWire: false,
    },
  }));
}

/** What is shown of peers. */
interface PeerFacts {
  readonly heartbeats: HeartbeatsState;
  readonly announcements: AnnouncementsState;
  readonly logs: LogsState;
}

export function peersView(
  { heartbeats, announcements, logs }: PeerFacts,
  env: Env,
  nowMs: number,
): PeerLife[] {
  const peers = env.layout.members.filter((handle) => handle !== env.self);
  const linesIn = (handle: string, countOf: (log: LogState) => number): number =>
    ownLogs(env.layout, handle)
      .flatMap(({ name }) => logs.get(name) ?? [])
      .reduce((sum, log) => sum + countOf(log), 0);
  return peers.map((handle) => {
    const beat = heartbeats.peerBeats.get(handle);
    const isBelieved = isVerified(authorTier(env, handle));
    // Of a stranger we show only words that we know. Spec 2.3.
    const known = (word: string | undefined, words: readonly string[]): string | null =>
      word !== undefined && (isBelieved || words.includes(word)) ? word : null;
    return {
      handle,
      trust_tier: env.tierOf(handle).tier ?? null,
      trusts_us: announcements.given.get(handle) ?? null,
      heartbeat_tier: known(beat?.tier, Object.keys(env.policy.cadences)),
      presence: presenceOf(beat, env, nowMs),
      state: known(beat?.state, AGENT_STATES),
      last_action: known(beat?.lastAction, []),
      last_seen_at: beat === undefined ? null : new Date(beat.at).toISOString(),
      agent_last_seen: beat?.agentLastSeen ?? null,
      next_eta: beat?.nextEta ?? null,
      held: env.reading.heldPeers.has(handle),
      inbox_unread_count: beat?.unread ?? null,
      foreign_lines: linesIn(handle, ({ foreign }) => foreign),
      unpinned_lines: linesIn(handle, ({ unpinned = 0 }) => unpinned),
    };
  });
}
