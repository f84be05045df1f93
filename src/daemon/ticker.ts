import { StorageError } from "../storage/disk/disk.ts";
import type { Agent } from "../agent/agent.ts";
import type { Logger } from "../agent/session/world.ts";
import { DeaddropError } from "../api/errors.ts";
import type { Queue } from "../agent/session/queue.ts";

/**
 * After trouble with the disk the next attempt comes after this time, then after twice that, and so
 * on.
 */
const FIRST_RETRY_MS = 250;
const LAST_RETRY_MS = 30_000;
/**
 * Peers see our lines without a round of ours; what follows from those lines here may wait this
 * long.
 */
const OWN_WORDS_MS = 25;
/** Quiet for so long: logs are synced and a checkpoint is written. */
const SETTLE_AFTER_MS = 2_000;
/** The same on a wire that is never quiet. */
const SETTLE_AT_LATEST_MS = 30_000;

/** What wakes a ticker: a timer of the process, or the simulator. Returns what cancels it. */
export type Wake = (inMs: number, wake: () => void) => () => void;

const processWakes: Wake = (inMs, wake) => {
  // Monotonic: setTimeout does not follow the wall clock.
  const timer = setTimeout(wake, Math.ceil(inMs));
  return () => clearTimeout(timer);
};

export interface TickerOptions {
  readonly wake?: Wake;
  /** The longest time between two looks at all logs. */
  readonly pollMs: number;
  /** Called after a tick, at least every `aliveEveryMs`. */
  alive(): void;
  readonly aliveEveryMs: number | undefined;
}

/** Decides when the agent's next round is. Requests that come together get one round. */
export interface Ticker {
  /** As soon as the agent is free. */
  soon(): void;
  /** After an act of ours: a little later, so that many acts get one round. */
  later(): void;
  /** The same as `soon`, and waits for its end. */
  now(): Promise<void>;
  stop(): void;
  /** Rejects with an error that is our own bug: the daemon must end. */
  readonly failed: Promise<never>;
}

export function makeTicker(
  agent: Agent,
  queue: Queue,
  log: Logger,
  options: TickerOptions,
): Ticker {
  const { wake = processWakes } = options;
  let callOff = (): void => undefined;
  let callOffSettling = (): void => undefined;
  let dueMs = Infinity;
  let unsettledSinceMs: number | undefined;
  let pending: Promise<void> | undefined;
  let stopped = false;
  let retryMs = FIRST_RETRY_MS;
  let fail: (error: unknown) => void = () => undefined;
  const failed = new Promise<never>((_resolve, reject) => {
    fail = reject;
  });
  // There may be no listener yet, or no longer.
  failed.catch(() => undefined);

  async function tick(): Promise<void> {
    pending = undefined;
    if (stopped) return;
    try {
      const more = await agent.tick();
      retryMs = FIRST_RETRY_MS;
      options.alive();
      plan(more ? 0 : nextMs());
      planSettling();
    } catch (error) {
      if (!(error instanceof StorageError) && !(error instanceof DeaddropError)) {
        fail(error);
        return;
      }
      log.error({ code: error.code, retry_ms: retryMs }, error.message);
      plan(retryMs);
      retryMs = Math.min(2 * retryMs, LAST_RETRY_MS);
    }
  }

  function nextMs(): number {
    const untilBeat = agent.nextDueMs() - agent.monoMs();
    const bounds = [options.pollMs, options.aliveEveryMs ?? Infinity, untilBeat];
    return Math.max(0, Math.min(...bounds));
  }

  function plan(inMs: number): void {
    callOff();
    if (stopped) return;
    dueMs = agent.monoMs() + inMs;
    callOff = wake(inMs, soon);
  }

  function later(): void {
    if (pending === undefined && agent.monoMs() + OWN_WORDS_MS < dueMs) plan(OWN_WORDS_MS);
  }

  function planSettling(): void {
    callOffSettling();
    if (stopped) return;
    unsettledSinceMs ??= agent.monoMs();
    const atLatestMs = unsettledSinceMs + SETTLE_AT_LATEST_MS - agent.monoMs();
    const inMs = Math.max(0, Math.min(SETTLE_AFTER_MS, atLatestMs));
    callOffSettling = wake(inMs, () => {
      unsettledSinceMs = undefined;
      queue(() => agent.settle()).catch((error: unknown) => {
        log.warn({ detail: String(error) }, "not synced; it is tried again after the next round");
      });
    });
  }

  function soon(): void {
    now().catch(fail);
  }

  function now(): Promise<void> {
    pending ??= queue(tick);
    return pending;
  }

  return {
    soon,
    later,
    now,
    stop() {
      stopped = true;
      callOff();
      callOffSettling();
    },
    failed,
  };
}
