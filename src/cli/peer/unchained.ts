import { changePrivateTrust } from "../../agent/config/trust-store.ts";
import { setAllowUnchained } from "../../trust/pins.ts";
import { agentPlace, reloadDaemon } from "../agent-place.ts";
import { confirmOperator, type ConsentFlags } from "../input/confirm.ts";
import type { Cli, GlobalFlags } from "../context.ts";
import { emit } from "../output/output.ts";
import { requirePeer } from "../trust/peer.ts";

export type Unchained = "allow" | "refuse";

/** `deaddrop peer unchained`: whether lines outside the chain are taken after chained ones. Spec 1.8. */
export async function run(
  cli: Cli,
  handle: string,
  word: Unchained,
  flags: GlobalFlags & ConsentFlags,
): Promise<void> {
  const { host, place, peers } = agentPlace(cli, flags);
  requirePeer({ host, place, peers }, handle);
  const effect =
    word === "allow"
      ? `Lines of ${handle} that carry no place in its chain are taken, too: nobody can tell whether one is missing or was said before.`
      : `Lines of ${handle} that carry no place in its chain are refused from now on.`;
  const action = {
    action: `peer unchained ${word}`,
    target: handle,
    effect: [effect],
    word: handle,
  };
  await confirmOperator(cli, flags, action, place.paths.operatorJournal);
  changePrivateTrust(host.disk, place.paths, (store) =>
    setAllowUnchained(store, handle, word === "allow"),
  );
  await reloadDaemon(place.paths);
  emit(cli, flags, { peer: handle, allow_unchained: word === "allow" }, (paint) => {
    const is = word === "allow" ? "taken" : "refused";
    return `unchained lines of ${paint("bold", handle)} are ${is}`;
  });
}
