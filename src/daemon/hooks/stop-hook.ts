import type { HookSettings } from "../../agent/config/settings.ts";
import type { StopHook } from "../../agent/duties/parking.ts";
import type { StopEnd } from "../../agent/parked.ts";
import type { Logger } from "../../agent/session/world.ts";
import { notStarted, type HookEnd, type HookRun } from "./run-hook.ts";

export interface StopHookOptions {
  /** What the operator has set now. */
  settings(): HookSettings;
  /** Who the agent is: `DEADDROP_AS` and `DEADDROP_WIRE`. */
  who(): Readonly<Record<string, string>>;
  run(run: HookRun): Promise<HookEnd>;
  /** A run has ended: the agent has to look. */
  ended(): void;
  readonly log: Logger;
}

/** Ends the agent, by the operator's command, when the agent has approved its shutdown. Spec 3.8. */
export function makeStopHook(options: StopHookOptions): StopHook & { stop(): void } {
  const { log, settings } = options;
  const stopping = new AbortController();
  /** By the approval: undefined while it runs. */
  const ends = new Map<string, StopEnd | undefined>();

  function begin({ by, request, peer }: Parameters<StopHook["run"]>[0]): StopEnd | undefined {
    const { onStop: command, timeoutSeconds } = settings();
    if (command.length === 0) return { outcome: "none", detail: "no command is set" };
    const names = { DEADDROP_HOOK: "on_stop", DEADDROP_PEER: peer, DEADDROP_REQUEST: request };
    const facts = { ...options.who(), ...names };
    const input = `${JSON.stringify({ request, peer, approval: by })}\n`;
    const over = (end: HookEnd): void => {
      ends.set(by, endOf(end));
      if (end.how !== "done") log.warn({ hook: "on_stop", ...end }, "the stop hook did not work");
      options.ended();
    };
    const { signal } = stopping;
    options
      .run({ command, input, facts, timeoutMs: timeoutSeconds * 1_000, signal })
      .then(over, (error: unknown) => over(notStarted(error)));
    return undefined;
  }

  return {
    run(approval) {
      const { by } = approval;
      if (!ends.has(by)) ends.set(by, begin(approval));
      return ends.get(by);
    },
    stop() {
      stopping.abort();
    },
  };
}

function endOf({ how, detail }: HookEnd): StopEnd {
  return how === "done"
    ? { outcome: "done", detail }
    : { outcome: "failed", detail: `${how}: ${detail}` };
}
