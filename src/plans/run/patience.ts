import type { Client } from "../../api/client.ts";
import { DeaddropError } from "../../api/errors.ts";
import { MAX_WAIT_MS } from "../../api/service.ts";

/** What a loop of rounds has around it. */
export interface Outside<Event> {
  nowMs(): number;
  sleep(durationMs: number): Promise<void>;
  say(event: Event): void;
  /** The operator ends it; what runs is ended too. */
  readonly signal: AbortSignal;
}

/** How often a loop looks where no daemon tells it of lines. */
const WITHOUT_DAEMON_MS = 250;

/**
 * Waits of a loop of rounds: until a line was taken in or signed, some work has ended, or the operator
 * ends it; and some seconds at most, since a person may have edited a file and times go by.
 */
export class Waits {
  readonly #outside: Pick<Outside<never>, "sleep" | "signal">;
  readonly #client: Client | undefined;
  readonly #stopped: Promise<void>;
  /** The newest line that was there when the last wait ended. */
  #seen: number | undefined;
  #asked: Promise<void> | undefined;

  constructor(client: Client | undefined, outside: Pick<Outside<never>, "sleep" | "signal">) {
    this.#client = client;
    this.#outside = outside;
    const { signal } = outside;
    this.#stopped = new Promise((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
  }

  async next(...others: readonly Promise<void>[]): Promise<void> {
    await Promise.race([this.#line(), this.#stopped, ...others]);
  }

  /** One question at a time: a wait that something else ended goes on with the next one. */
  #line(): Promise<void> {
    const client = this.#client;
    if (client?.viaDaemon !== true) return this.#outside.sleep(WITHOUT_DAEMON_MS);
    const since = this.#seen === undefined ? {} : { since: this.#seen };
    this.#asked ??= client
      .ask("changed", { ...since, limitMs: MAX_WAIT_MS })
      .then(
        (newest) => void (this.#seen = newest),
        // The next round meets the same trouble, and says so.
        () => this.#outside.sleep(WITHOUT_DAEMON_MS),
      )
      .finally(() => {
        this.#asked = undefined;
      });
    return this.#asked;
  }
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

  /** When one of them has ended; never when none is running. */
  async nextEnd(): Promise<void> {
    await Promise.race(this.#running.values());
  }

  async allEnded(): Promise<void> {
    await Promise.all(this.#running.values());
  }
}
