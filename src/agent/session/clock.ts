import { hrtime } from "node:process";
import { setImmediate } from "node:timers/promises";

/**
 * The readings of time that the daemon needs, and its pauses. Wall time stamps lines and receipts; monotonic
 * time drives heartbeats, so that a clock set back or a suspended host never yields a burst.
 */
export interface Clock {
  /** Milliseconds since 1970, UTC. */
  wallMs(): number;
  /** Microseconds within the current millisecond, 0–999; only makes timestamps finer. */
  micros(): number;
  /** Milliseconds from an arbitrary start, never going back. */
  monoMs(): number;
  /** Resolves when the other work of this process has had its turn. */
  nextTurn(): Promise<void>;
}

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  micros: () => Number((hrtime.bigint() / 1000n) % 1000n),
  monoMs: () => Number(hrtime.bigint() / 1_000_000n),
  nextTurn: () => setImmediate(),
};
