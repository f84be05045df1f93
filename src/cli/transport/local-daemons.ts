import type { TransportAct } from "../../api/transport.ts";
import { connectDaemon } from "../../client/socket-client.ts";
import type { SetupHost } from "../../setup/host.ts";
import type { WireUser } from "../../setup/transport/set-up-transport.ts";
import { agentPaths } from "../../storage/paths.ts";
import { agentsHere } from "../../storage/private/private-folders.ts";

/**
 * Asks the transports of all agents of this user on this wire, as far as their daemons run: they share
 * one setting. Answers the handles of those that did it.
 */
export async function askTransports(
  { disk, places }: SetupHost,
  { wireDir, wireKey, handle }: Omit<WireUser, "roster">,
  act: TransportAct,
): Promise<ReadonlySet<string>> {
  const asked = new Set<string>();
  for (const each of agentsHere(disk, places, wireKey, handle)) {
    const daemon = await connectDaemon(agentPaths(places, { wireDir, wireKey, handle: each }));
    if (daemon === undefined) continue;
    try {
      await daemon.call("transport", { act });
      asked.add(each);
    } finally {
      daemon.close();
    }
  }
  return asked;
}
