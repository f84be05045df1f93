import { StorageError } from "../storage/disk/disk.ts";
import type { Agent } from "../agent/agent.ts";
import type { Logger } from "../agent/session/world.ts";
import { DeaddropError } from "../api/errors.ts";
import type { Queue } from "../agent/session/queue.ts";
import { processWakes, makeAlarm, type Wake } from "./wake.ts";

/**
 * After trouble with the disk the next attempt comes after this time, then after twice that, and so
 * on.
 */
const FIRST_RETRY_MS = 250;
const LAST_RETRY_MS = 30_000;
/** Peers read what we write ourselves without our help; what follows from it may wait so long. */
const AFTER_OWN_LINES_MS = 25;
/** While we write again and again, a round for that comes so long after the last one at the earliest. */
const BETWEEN_OWN_ROUNDS_MS = 100;

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
  const alarm = makeAlarm(() => agent.monoMs(), wake);
  const failure = makeFailure();
  let pending: Promise<void> | undefined;
  let stopped = false;
  let retryMs = FIRST_RETRY_MS;
  let roundMs = -Infinity;

  async function tick(): Promise<void> {
    pending = undefined;
    if (stopped) return;
    try {
      const more = await agent.tick();
      roundMs = agent.monoMs();
      retryMs = FIRST_RETRY_MS;
      options.alive();
      plan(more ? 0 : untilNextMs(agent, options));
    } catch (error) {
      if (!(error instanceof StorageError) && !(error instanceof DeaddropError)) {
        return failure.fail(error);
      }
      log.error({ code: error.code, retry_ms: retryMs }, error.message);
      plan(retryMs);
      retryMs = Math.min(2 * retryMs, LAST_RETRY_MS);
    }
  }

  function plan(inMs: number): void {
    if (!stopped) alarm.set(inMs, soon);
  }

  function soon(): void {
    now().catch(failure.fail);
  }

  function now(): Promise<void> {
    return (pending ??= queue(tick));
  }

  return {
    soon,
    later() {
      const inMs = untilOwnRoundMs(agent.monoMs() - roundMs);
      if (pending === undefined && alarm.leftMs() > inMs) plan(inMs);
    },
    now,
    stop() {
      stopped = true;
      alarm.callOff();
    },
    failed: failure.failed,
  };
}

/** From an act of ours until its round, so long after the last one. */
function untilOwnRoundMs(sinceRoundMs: number): number {
  return Math.max(AFTER_OWN_LINES_MS, BETWEEN_OWN_ROUNDS_MS - sinceRoundMs);
}

/** Until a log, a heartbeat of ours or the service manager wants us again. */
function untilNextMs(agent: Agent, { pollMs, aliveEveryMs = Infinity }: TickerOptions): number {
  const untilBeat = agent.nextDueMs() - agent.monoMs();
  return Math.max(0, Math.min(pollMs, aliveEveryMs, untilBeat));
}

/** An error that is our own bug: what waits for `failed` ends with it. */
export interface Failure {
  readonly failed: Promise<never>;
  fail(error: unknown): void;
}

/** Its promise only rejects, and may have no listener. */
export function makeFailure(): Failure {
  let fail: (error: unknown) => void = () => undefined;
  const failed = new Promise<never>((_resolve, reject) => {
    fail = reject;
  });
  failed.catch(() => undefined);
  return { failed, fail: (error) => fail(error) };
}
