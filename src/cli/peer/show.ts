import { agentPlace } from "../agent-place.ts";
import { withClient, type Cli, type GlobalFlags } from "../context.ts";
import { emit } from "../output/output.ts";
import { requirePeer } from "../trust/peer.ts";
import { holdsText } from "./holds-text.ts";

/** `deaddrop peer show`: changes nothing. Spec 1.6. */
export async function run(cli: Cli, handle: string, flags: GlobalFlags): Promise<void> {
  requirePeer(agentPlace(cli, flags), handle);
  const view = await withClient(cli, flags, (client) => client.view("holds", { peer: handle }));
  emit(cli, flags, view, (paint) => holdsText(view, paint));
}
