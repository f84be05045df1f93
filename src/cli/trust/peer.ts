import { changePrivateTrust, readPrivateTrust } from "../../agent/config/trust-store.ts";
import { DeaddropError } from "../../api/errors.ts";
import type { TrustChange } from "../../trust/pins.ts";
import type { TrustStore } from "../../trust/store.ts";
import { reloadDaemon, type AgentPlace } from "../agent-place.ts";

/** Throws unless it is a peer of this wire. */
export function requirePeer({ place, peers }: AgentPlace, handle: string): void {
  if (peers.includes(handle)) return;
  const own = handle === place.handle;
  throw new DeaddropError("usage", own ? "your own key needs no pin" : `no peer "${handle}" here`, {
    hint: `the peers of ${place.handle} on this wire: ${peers.join(", ")}`,
  });
}

/**
 * Changes the private trust store once the operator has agreed to what the change makes of it; a running daemon reads
 * it again. A change that is refused throws before anybody is asked.
 */
export async function changeTrust(
  { host, place }: AgentPlace,
  change: TrustChange,
  confirm: (planned: TrustStore) => Promise<unknown>,
): Promise<void> {
  const planned = change(readPrivateTrust(host.disk, place.paths));
  if (!planned.ok) throw new DeaddropError("refused", planned.detail);
  await confirm(planned.store);
  await applyTrust({ host, place }, change);
}

/** The same for what the operator has agreed to already. */
export async function applyTrust(
  { host, place }: Pick<AgentPlace, "host" | "place">,
  change: TrustChange,
): Promise<void> {
  changePrivateTrust(host.disk, place.paths, change);
  await reloadDaemon(place.paths);
}
