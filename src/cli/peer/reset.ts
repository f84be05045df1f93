import { changePrivateTrust } from "../../agent/config/trust-store.ts";
import { release } from "../../trust/pins.ts";
import { agentPlace } from "../agent-place.ts";
import { confirmOperator, type ConsentFlags } from "../input/confirm.ts";
import { withClient, type Cli, type GlobalFlags } from "../context.ts";
import { emit } from "../output/output.ts";
import { requirePeer } from "../trust/peer.ts";
import { resetEffect, silenceOf } from "./holds-text.ts";

/**
 * `deaddrop peer reset`: the operator has found out why a peer is held. Spec 1.6. The hold in the
 * trust store ends first: a command that dies between the two leaves the peer held, and is repeated.
 */
export async function run(
  cli: Cli,
  handle: string,
  flags: GlobalFlags & ConsentFlags,
): Promise<void> {
  const at = agentPlace(cli, flags);
  requirePeer(at, handle);
  await withClient(cli, flags, async (client) => {
    const view = await client.view("holds", { peer: handle });
    const { holds } = view;
    if (holds.length > 0) {
      const effect = resetEffect(view);
      const action = { action: "peer reset", target: handle, effect, word: handle };
      await confirmOperator(cli, flags, action, at.place.paths.operatorJournal);
      if (holds.some(({ log }) => log === null)) {
        changePrivateTrust(at.host.disk, at.place.paths, (store) => release(store, handle));
        await client.ask("reload");
      }
      await client.ask("reset_peer", { peer: handle });
    }
    const { blocked, can_speak } = view;
    const done = { peer: handle, changed: holds.length > 0, was: holds, blocked, can_speak };
    emit(cli, flags, done, (paint) =>
      holds.length === 0
        ? `nothing of ${handle} is held`
        : [
            `${paint("green", "taken again")} ${handle}: ${holds.map(({ log, cause }) => log ?? cause).join(", ")}`,
            ...silenceOf(view),
          ].join("\n"),
    );
  });
}
