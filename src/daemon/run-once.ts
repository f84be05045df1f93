import type { Logger as Pino } from "pino";
import { makeQueue } from "../agent/session/queue.ts";
import { makeFailure } from "./ticker.ts";
import { openTransport, type TransportNeeds } from "./transport/open-transport.ts";

/** What a run of the daemon works with. */
export type Run = Pick<TransportNeeds, "agent" | "link" | "places"> & { readonly log: Pino };

/** `daemon --once`: one fetch, one round, one push. Returns the exit code. Spec 4.2. */
export async function runOnce({ agent, link, places, log }: Run): Promise<number> {
  const queue = makeQueue();
  const broken = makeFailure();
  const transport = openTransport({
    ...{ agent, queue, places, link, log, failed: broken.fail },
    pulled: () => undefined,
  });
  await Promise.race([broken.failed, round()]);
  if (agent.stuck !== undefined) throw agent.stuck;
  return 0;

  async function round(): Promise<void> {
    await transport.turn();
    await queue(() => agent.tick());
    await queue(() => agent.sync());
    await transport.turn();
    await transport.stop();
  }
}
