import type { AgentSettings } from "../../agent/config/settings.ts";
import type { NotWoken } from "../../protocol/beats/beat.ts";
import { HOUR_MS } from "../../wire/durations.ts";

/** How often an agent may be woken within an hour, or asked to go on. Spec 8.3. */
export type WakeLimits = Pick<AgentSettings, "wake.per_hour" | "wake.per_peer" | "wake.per_thread">;

/** A message that would wake. */
export interface WakingMessage {
  readonly from: string;
  readonly thread: string;
  readonly urgent: boolean;
}

/** One wake: when (Unix ms), for whose messages, and in which threads. */
export interface SpentWake {
  readonly atMs: number;
  readonly peers: readonly string[];
  readonly threads: readonly string[];
}

/** Where what was spent outlives the daemon. */
export interface SpentWakes {
  load(): readonly SpentWake[];
  save(spent: readonly SpentWake[]): void;
}

interface BudgetTime {
  readonly peers: readonly string[];
  readonly nowMs: number;
}

/** One wake of so many is kept for urgent mail and overdue answers. */
const RESERVED = 4;

/**
 * What an agent has spent within the last hour. Each peer keeps a share of the whole, so that one
 * that writes all the time leaves something for the others; urgent messages have a reserve, and no limit
 * per thread.
 */
export class WakeBudget {
  readonly #store: SpentWakes;
  #spent: readonly SpentWake[];

  constructor(store: SpentWakes) {
    this.#store = store;
    this.#spent = store.load();
  }

  /** Those of the messages that may still wake; none: the budget is used up. */
  allowed<M extends WakingMessage>(
    messages: readonly M[],
    limits: WakeLimits,
    { peers, nowMs }: BudgetTime,
  ): M[] {
    const spent = this.#spent.filter(({ atMs }) => atMs > nowMs - HOUR_MS && atMs <= nowMs);
    const countFor = (peer: string): number =>
      spent.filter((each) => each.peers.includes(peer)).length;
    const countIn = (thread: string): number =>
      spent.filter((each) => each.threads.includes(thread)).length;
    return messages.filter(({ from, thread, urgent }) => {
      const limit = (all: number): number => (urgent ? all : all - Math.floor(all / RESERVED));
      if (countFor(from) >= limit(limits["wake.per_peer"])) return false;
      if (!urgent && countIn(thread) >= limits["wake.per_thread"]) return false;
      const share = Math.floor(limit(limits["wake.per_hour"]) / Math.max(1, 2 * peers.length));
      const kept = peers
        .filter((peer) => peer !== from)
        .reduce((sum, peer) => sum + Math.max(0, share - countFor(peer)), 0);
      return spent.length + kept < limit(limits["wake.per_hour"]);
    });
  }

  /** For whose mail no wake is left, and until when (Unix ms). None for those who never wake. */
  usedUp(limits: WakeLimits, at: BudgetTime): Record<string, NotWoken> {
    if (this.#spent.length === 0) return {};
    return Object.fromEntries(
      at.peers.flatMap((peer) => {
        const untilMs = this.#blockedUntil({ from: peer, thread: "", urgent: false }, limits, at);
        const urgent = { from: peer, thread: "", urgent: true };
        const urgentUntilMs = this.#blockedUntil(urgent, limits, at);
        return untilMs === undefined ? [] : [[peer, { untilMs, urgentUntilMs }]];
      }),
    );
  }

  spend(messages: readonly WakingMessage[], nowMs: number): void {
    const peers = [...new Set(messages.map(({ from }) => from))];
    const threads = [...new Set(messages.map(({ thread }) => thread))];
    const recent = this.#spent.filter(({ atMs }) => atMs > nowMs - HOUR_MS && atMs <= nowMs);
    this.#spent = [...recent, { atMs: nowMs, peers, threads }];
    this.#store.save(this.#spent);
  }

  /** Undefined: such a message wakes now, or never does. */
  #blockedUntil(message: WakingMessage, limits: WakeLimits, at: BudgetTime): number | undefined {
    const wakesAt = (nowMs: number): boolean =>
      this.allowed([message], limits, { ...at, nowMs }).length > 0;
    if (wakesAt(at.nowMs)) return undefined;
    return this.#spent
      .map(({ atMs }) => atMs + HOUR_MS)
      .find((freeMs) => freeMs > at.nowMs && wakesAt(freeMs));
  }
}

/** Whether a time of the day is within `HH:MM-HH:MM` (local time; it may go over midnight). */
export function isQuietAt(quiet: string, now: Date): boolean {
  const [from, to] = quiet.split("-").map(minutesOf);
  if (from === undefined || to === undefined) return false;
  const at = now.getHours() * 60 + now.getMinutes();
  return from <= to ? from <= at && at < to : at >= from || at < to;
}

function minutesOf(time: string): number {
  const [hours = 0, minutes = 0] = time.split(":").map(Number);
  return hours * 60 + minutes;
}
