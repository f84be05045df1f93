import { DeaddropError } from "../../api/errors.ts";

/** What a loop of rounds has around it. */
export interface Outside<Event> {
  nowMs(): number;
  sleep(durationMs: number): Promise<void>;
  say(event: Event): void;
  /** The operator ends it; what runs is ended too. */
  readonly signal: AbortSignal;
}

/** A daemon that ends, or starts again, meanwhile: so many failures in a row are none of that. */
const MAX_ROUNDS_FAILED = 20;
const AFTER_FAILED_ROUND_MS = 500;

/**
 * Repeats a round that failed because the daemon was silent or gone for a moment. Every round begins with
 * what is there, so nothing is lost by it. Other failures, and lasting ones, are thrown.
 */
export function makePatience(outside: { sleep(durationMs: number): Promise<void> }) {
  let failed = 0;
  return async function patiently<T>(round: () => Promise<T>): Promise<T | undefined> {
    try {
      const answer = await round();
      failed = 0;
      return answer;
    } catch (error) {
      failed += 1;
      if (!mayPass(error) || failed > MAX_ROUNDS_FAILED) throw error;
      await outside.sleep(AFTER_FAILED_ROUND_MS);
      return undefined;
    }
  };
}

/** The daemon ended, or did not answer in time. */
function mayPass(error: unknown): boolean {
  return error instanceof DeaddropError && ["storage", "timeout"].includes(error.code);
}

/**
 * Work that goes on beside the rounds, by name. What ended is in flight until the next `settle`, so that one
 * round sees one state.
 */
export class WorkInFlight {
  readonly #running = new Map<string, Promise<void>>();
  readonly #ended = new Set<string>();
  #failed: Error | undefined;

  get size(): number {
    return this.#running.size;
  }

  has(name: string): boolean {
    return this.#running.has(name);
  }

  start(name: string, work: () => Promise<void>): void {
    const ended = work()
      .catch((error: unknown) => {
        this.#failed ??= error instanceof Error ? error : new Error(String(error));
      })
      .finally(() => this.#ended.add(name));
    this.#running.set(name, ended);
  }

  /** Forgets what has ended. Throws what has stopped a work. */
  settle(): void {
    if (this.#failed !== undefined) throw this.#failed;
    for (const name of this.#ended) this.#running.delete(name);
    this.#ended.clear();
  }

  async allEnded(): Promise<void> {
    await Promise.all(this.#running.values());
  }
}
