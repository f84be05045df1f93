import type { HeartbeatTiers } from "../../trust/policy/heartbeat-tiers.ts";
import { MINUTE_MS } from "../../wire/durations.ts";

/** When a beat was written, as it says, and when we took it in; milliseconds of Unix time. */
export interface BeatTimes {
  readonly datedMs: number;
  readonly receivedMs: number;
}

/** What the time of a beat is compared with. */
export interface LifeLimits {
  /** The latest date of the beats of its author that were held before, of those not dated ahead. */
  readonly latestMs: number | undefined;
  readonly skewMs: number;
  /** Of a carrier that is fetched: when the last fetch ended that did not bring it. */
  readonly lackedMs: number | undefined;
}

/**
 * Whether a beat shows that its author's daemon runs: an old one that is put back would revive the dead.
 * Spec 3.2.1.
 */
export function isSignOfLife(beat: BeatTimes, limits: LifeLimits): boolean {
  const { latestMs = -Infinity, skewMs, lackedMs } = limits;
  const earliestMs = Math.min(lackedMs ?? Infinity, beat.receivedMs) - skewMs;
  return beat.datedMs > latestMs && beat.datedMs >= earliestMs && !isDatedAhead(beat, skewMs);
}

/** Later beats are not compared with such a one: a clock that was wrong for a while would silence its author. */
export function isDatedAhead({ datedMs, receivedMs }: BeatTimes, skewMs: number): boolean {
  return datedMs > receivedMs + skewMs;
}

/** The latest sign of life of an agent. */
export interface Life {
  readonly receivedMs: number;
  readonly isPaused: boolean;
  /** As `readBeat` has it. */
  readonly cadenceMs: number | undefined;
}

export type Presence = "unknown" | "online" | "late" | "silent" | "paused";

const SILENT_AFTER_MS = 5 * MINUTE_MS;
const SILENT_AFTER_CADENCES = 3;
const ONLINE_CADENCES = 2;

/** Whether an agent's daemon runs. Spec 3.1. */
export function presence(
  life: Life | undefined,
  tiers: Pick<HeartbeatTiers, "cadencesMs">,
  nowMs: number,
): Presence {
  if (life === undefined) return "unknown";
  if (life.isPaused) return "paused";
  const ageMs = nowMs - life.receivedMs;
  const cadenceMs = advertisedCadenceMs(life.cadenceMs, tiers);
  if (ageMs <= ONLINE_CADENCES * cadenceMs) return "online";
  return ageMs < silenceMs(cadenceMs) ? "late" : "silent";
}

/** How long after its last sign of life an agent is silent that beats so often. Spec 3.1. */
export function silenceMs(cadenceMs: number): number {
  return Math.max(SILENT_AFTER_MS, SILENT_AFTER_CADENCES * cadenceMs);
}

/** How often an agent says that it beats. Spec 3.1. */
export function advertisedCadenceMs(
  cadenceMs: number | undefined,
  { cadencesMs }: Pick<HeartbeatTiers, "cadencesMs">,
): number {
  return Math.min(cadenceMs ?? cadencesMs.T1_active, cadencesMs.T3_long_idle);
}
