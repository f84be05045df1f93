import { HOUR_MS } from "../../wire/durations.ts";

/** How often an agent may be woken within an hour, or asked to go on. Spec 8.3. */
export interface WakeLimits {
  readonly perPeer: number;
  readonly perThread: number;
  readonly inAll: number;
}

/** A message that would wake. */
export interface WakingMessage {
  readonly from: string;
  readonly thread: string;
}

interface Spent {
  readonly atMs: number;
  readonly peers: ReadonlySet<string>;
  readonly threads: ReadonlySet<string>;
}

/**
 * What an agent has spent within the last hour. Each peer keeps a share of the whole, so that one
 * that writes all the time leaves something for the others.
 */
export class WakeBudget {
  #spent: readonly Spent[] = [];

  /** Those of the messages that may still wake; none: the budget is used up. */
  allowed<M extends WakingMessage>(
    messages: readonly M[],
    limits: WakeLimits,
    { peers, nowMs }: { readonly peers: readonly string[]; readonly nowMs: number },
  ): M[] {
    this.#spent = this.#spent.filter(({ atMs }) => atMs > nowMs - HOUR_MS);
    const ofPeer = (peer: string): number =>
      this.#spent.filter((each) => each.peers.has(peer)).length;
    const share = Math.floor(limits.inAll / Math.max(1, 2 * peers.length));
    const keptFor = (peer: string): number => Math.max(0, share - ofPeer(peer));
    return messages.filter(({ from, thread }) => {
      if (ofPeer(from) >= limits.perPeer) return false;
      if (this.#spent.filter((each) => each.threads.has(thread)).length >= limits.perThread) {
        return false;
      }
      const kept = peers
        .filter((peer) => peer !== from)
        .reduce((sum, peer) => sum + keptFor(peer), 0);
      return this.#spent.length + kept < limits.inAll;
    });
  }

  spend(messages: readonly WakingMessage[], nowMs: number): void {
    const peers = new Set(messages.map(({ from }) => from));
    const threads = new Set(messages.map(({ thread }) => thread));
    this.#spent = [...this.#spent, { atMs: nowMs, peers, threads }];
  }
}
