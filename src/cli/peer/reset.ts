import { agentPlace } from "../agent-place.ts";
import { confirmOperator, type ConsentFlags } from "../input/confirm.ts";
import { withClient, type Cli, type GlobalFlags } from "../context.ts";
import { emit } from "../output/output.ts";
import { requirePeer } from "../trust/peer.ts";
import { resetEffect, silenceOf } from "./holds-text.ts";
import { lineNamed } from "./line-named.ts";

export interface ResetFlags extends GlobalFlags, ConsentFlags {
  follow?: string;
}

/** `deaddrop peer reset`: the operator has found out why a peer is held. Spec 1.6, 2.4. */
export async function run(cli: Cli, handle: string, flags: ResetFlags): Promise<void> {
  const at = agentPlace(cli, flags);
  requirePeer(at, handle);
  await withClient(cli, flags, async (client) => {
    const view = await client.view("holds", { peer: handle });
    const { blocked, can_speak } = view;
    // A key that may be in other hands holds its agent until a new one is compared.
    const holds = view.holds.filter(({ cause }) => cause !== "key_revoked");
    const rivals = holds.flatMap(({ places }) => places);
    const follow =
      flags.follow === undefined
        ? undefined
        : await lineNamed(client, handle, flags.follow, rivals);
    if (holds.length > 0 || follow !== undefined) {
      const effect = resetEffect({ ...view, holds }, follow?.id);
      const action = { action: "peer reset", target: handle, effect, word: handle };
      await confirmOperator(cli, flags, action, at.place.paths.operatorJournal);
      await client.ask("reset_peer", { peer: handle, ...(follow === undefined ? {} : { follow }) });
    }
    const done = { peer: handle, changed: holds.length > 0, was: holds, blocked, can_speak };
    const isRevoked = holds.length < view.holds.length;
    emit(cli, flags, done, (paint) =>
      holds.length === 0
        ? isRevoked
          ? `${handle} stays held until you have compared a new key of it: deaddrop trust sas ${handle}`
          : `nothing of ${handle} is held`
        : [
            `${paint("green", "taken again")} ${handle}: ${holds.map(({ cause }) => cause).join(", ")}`,
            ...silenceOf(view),
          ].join("\n"),
    );
  });
}
