import { DeaddropError } from "../../api/errors.ts";
import type { AgentPlace } from "../agent-place.ts";
import { withClient, type Cli, type GlobalFlags } from "../context.ts";

/** Throws unless it is a peer of this wire. */
export function requirePeer({ place, peers }: AgentPlace, handle: string): void {
  if (peers.includes(handle)) return;
  const own = handle === place.handle;
  throw new DeaddropError("usage", own ? "your own key needs no pin" : `no peer "${handle}" here`, {
    hint: `the peers of ${place.handle} on this wire: ${peers.join(", ")}`,
  });
}

/**
 * A key that was compared after a revocation ends the holds of the peer's logs, too: the usual one is a
 * fork, where the thief and the owner have both signed the same `seq`. Decision 014. The pin is changed
 * before: a command that dies between the two leaves the logs held, and `peer reset` ends that.
 */
export async function endLogHolds(cli: Cli, flags: GlobalFlags, peer: string): Promise<void> {
  await withClient(cli, flags, (client) => client.ask("reset_peer", { peer }));
}
