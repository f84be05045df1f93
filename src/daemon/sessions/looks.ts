import type { Logger } from "../../agent/session/world.ts";
import { makeAlarm, type Alarm, type Wake } from "../wake.ts";

interface LooksOptions {
  readonly clock: { monoMs(): number; readonly wake: Wake };
  readonly log: Logger;
  look(): Promise<void>;
}

/** When it is looked whether to wake: one look at a time, and one more for what came meanwhile. */
export class Looks {
  readonly #options: LooksOptions;
  readonly #alarm: Alarm;
  #isLooking = false;
  #isAskedAgain = false;
  #isStopped = false;

  constructor(options: LooksOptions) {
    this.#options = options;
    this.#alarm = makeAlarm(() => options.clock.monoMs(), options.clock.wake);
  }

  now(): void {
    if (this.#isStopped) return;
    this.#isAskedAgain = this.#isLooking;
    if (this.#isLooking) return;
    this.#isLooking = true;
    const { log, look } = this.#options;
    look()
      .catch((error: unknown) => {
        log.warn({ detail: String(error) }, "could not look whether to wake");
      })
      .finally(() => {
        this.#isLooking = false;
        if (this.#isAskedAgain) this.now();
      });
  }

  /** In place of a later look that was asked for before. */
  after(durationMs: number): void {
    if (!this.#isStopped) this.#alarm.set(durationMs, () => this.now());
  }

  stop(): void {
    this.#isStopped = true;
    this.#alarm.callOff();
  }
}
