import { DeaddropError } from "../../api/errors.ts";
import type { AgentPlace } from "../agent-place.ts";

/** Throws unless it is a peer of this wire. */
export function requirePeer({ place, peers }: AgentPlace, handle: string): void {
  if (peers.includes(handle)) return;
  const own = handle === place.handle;
  throw new DeaddropError("usage", own ? "your own key needs no pin" : `no peer "${handle}" here`, {
    hint: `the peers of ${place.handle} on this wire: ${peers.join(", ")}`,
  });
}
