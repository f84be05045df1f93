import type { Agent } from "../agent/agent.ts";
import type { Queue } from "../agent/session/queue.ts";
import type { Logger } from "../agent/session/world.ts";

/** Spec 4.2: everything is down within five seconds of the first signal. */
const SHUTDOWN_LIMIT_MS = 4_500;

/**
 * Waits for a signal that ends the daemon; a second one ends it at once. SIGHUP reloads, SIGUSR1 looks.
 * Spec 4.2.
 */
export function endSignal(
  agent: Pick<Agent, "reload">,
  queue: Queue,
  log: Logger,
  looks: readonly (() => void)[],
): Promise<string> {
  const look = (): void => looks.forEach((each) => each());
  process.on("SIGHUP", () => {
    queue(() => agent.reload()).then(
      () => look(),
      (error: unknown) =>
        log.error({ detail: String(error) }, "not reloaded; the old settings hold"),
    );
  });
  process.on("SIGUSR1", () => look());
  return new Promise((resolve) => {
    let isEnding = false;
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      process.on(signal, () => {
        if (isEnding) process.exit(0);
        isEnding = true;
        resolve(signal);
        setTimeout(() => process.exit(0), SHUTDOWN_LIMIT_MS).unref();
      });
    }
  });
}
