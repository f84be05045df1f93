import type { HeldLine, StoreWriter } from "../../store/store.ts";
import { noteStopped, readParked, takeApproval, type StopEnd } from "../parked.ts";
import type { Duty, Ground } from "./duty.ts";

/** The operator's command that ends the agent. */
export interface StopHook {
  /**
   * Starts it for an approval, unless it was started: how it has ended; undefined while it runs. It returns at once
   * and never throws.
   */
  run(of: {
    readonly by: string;
    readonly request: string;
    readonly peer: string;
  }): StopEnd | undefined;
}

/**
 * An agent that has agreed to its shutdown is ended by its operator's command, once that is committed. A process
 * that dies before it has noted the end runs it again: an agent that has ended is ended again. Spec 3.8.
 */
export class Parking implements Duty {
  readonly #ground: Ground;
  readonly #hook: StopHook | undefined;

  /** @param hook undefined without a daemon: the next one runs it */
  constructor(ground: Ground, hook: StopHook | undefined) {
    this.#ground = ground;
    this.#hook = hook;
  }

  take(into: StoreWriter, line: HeldLine): void {
    takeApproval(into, this.#ground, line);
  }

  write(): void {
    const { store, world } = this.#ground;
    const parked = readParked(store);
    if (parked === undefined || parked.stop !== null) return;
    const { approval, request, peer } = parked;
    const end = this.#hook?.run({ by: approval, request, peer });
    if (end === undefined) return;
    store.write((into) => {
      if (end.outcome === "failed")
        this.#ground.tell(into, {
          key: `stop_hook_failed:${approval}`,
          cause: "stop_hook_failed",
          subject: "the stop hook did not work",
          detail: `the agent has approved the shutdown that ${peer} asked for, and its daemon is parked; the command that ends it: ${end.detail}`,
        });
      noteStopped(into, store, approval, end);
    });
    this.#ground.beatBy(world.clock.monoMs());
  }
}
