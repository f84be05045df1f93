import { processWakes, type Wake } from "./wake.ts";

/** Those who wait for what a round of the agent may bring. */
export interface RoundWaiters {
  /** A round has ended. */
  rounded(): void;
  /**
   * Asks at once and after each round, until there is an answer. Undefined when the time is over,
   * or the daemon ends.
   */
  until<T>(ask: () => Promise<T | undefined>, limitMs: number): Promise<T | undefined>;
  /** The daemon ends: nobody waits any longer. */
  stop(): void;
}

/** `wake` is the clock. Between two rounds a waiter costs nothing. */
export function makeRoundWaiters(wake: Wake = processWakes): RoundWaiters {
  const waiting = new Set<() => void>();
  let stopped = false;

  function rounded(): void {
    const all = [...waiting];
    waiting.clear();
    for (const go of all) go();
  }

  return {
    rounded,
    async until(ask, limitMs) {
      let isOver = false;
      let go = (): void => undefined;
      const callOff = wake(limitMs, () => {
        isOver = true;
        go();
      });
      try {
        for (;;) {
          // Before it asks: a round that ends meanwhile is not missed.
          const round = new Promise<void>((resolve) => (go = resolve));
          waiting.add(go);
          const answer = await ask();
          if (answer !== undefined || isOver || stopped) return answer;
          await round;
        }
      } finally {
        waiting.delete(go);
        callOff();
      }
    },
    stop() {
      stopped = true;
      rounded();
    },
  };
}
