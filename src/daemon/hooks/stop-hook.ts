import type { StopEnd, StopHook } from "../../agent/parked.ts";
import { startHook, type HookEnd, type HookHost } from "./run-hook.ts";

/**
 * Ends the agent, by the operator's command, when the agent has approved its shutdown. `ended`: a run has ended, so
 * the agent has to look. Spec 3.8.
 */
export function makeStopHook(host: HookHost, ended: () => void): StopHook {
  /** By the approval: undefined while it runs. */
  const ends = new Map<string, StopEnd | undefined>();

  function begin({ by, request, peer }: Parameters<StopHook["run"]>[0]): StopEnd | undefined {
    const command = host.settings()["hooks.on_stop"];
    if (command.length === 0) return { outcome: "none", detail: "no command is set" };
    const facts = { DEADDROP_HOOK: "on_stop", DEADDROP_PEER: peer, DEADDROP_REQUEST: request };
    const input = `${JSON.stringify({ request, peer, approval: by })}\n`;
    startHook(host, { command, input, facts }, (end) => {
      ends.set(by, endOf(end));
      const isDone = end.how === "done";
      if (!isDone) host.log.warn({ hook: "on_stop", ...end }, "the stop hook did not work");
      ended();
    });
    return undefined;
  }

  return {
    run(approval) {
      const { by } = approval;
      if (!ends.has(by)) ends.set(by, begin(approval));
      return ends.get(by);
    },
  };
}

function endOf({ how, detail }: HookEnd): StopEnd {
  return how === "done"
    ? { outcome: "done", detail }
    : { outcome: "failed", detail: `${how}: ${detail}` };
}
