import { DeaddropError } from "../../api/errors.ts";
import { agentPlace } from "../agent-place.ts";
import { servicePlace } from "../commands/run/service.ts";
import { withClient, type Cli, type GlobalFlags } from "../context.ts";
import { confirmOperator, type ConsentFlags } from "../input/confirm.ts";
import { emit } from "../output/output.ts";
import { uninstallService } from "../service/install-service.ts";
import { installedInstances, systemHost } from "../service/service-place.ts";

/**
 * `deaddrop leave`: says so in this agent's chain, and ends its service. Repeating it ends what was interrupted.
 * Spec 3.11.
 */
export async function leave(cli: Cli, flags: GlobalFlags & ConsentFlags): Promise<void> {
  const { place } = agentPlace(cli, flags);
  const { handle, paths } = place;
  const { roster } = await withClient(cli, flags, (client) => client.view("members"));
  if (roster.find((row) => row.handle === handle)?.is !== "member") {
    if (endService(cli, flags)) return tell(cli, flags, handle);
    throw new DeaddropError("refused", `${handle} is no member of this wire`, {
      hint: `a member lets it come back: deaddrop member add ${handle}`,
    });
  }
  await confirmOperator(
    cli,
    flags,
    {
      action: "leave",
      target: place.wire.folder,
      effect: [
        `${handle} leaves this wire: it is asked nothing more, and its service ends.`,
        "What it has agreed to stays in force; what it owes, and what is owed to it, ends.",
      ],
      word: handle,
    },
    paths.operatorJournal,
  );
  await withClient(cli, flags, (client) => client.ask("leave"));
  endService(cli, flags);
  tell(cli, flags, handle);
}

function tell(cli: Cli, flags: GlobalFlags, handle: string): void {
  emit(
    cli,
    flags,
    { left: true, handle },
    () => `${handle} has left this wire. Keys and logs are where they were.`,
  );
}

/** True: there was one. */
function endService(cli: Cli, flags: GlobalFlags): boolean {
  const place = servicePlace(cli, flags);
  const { wireKey, handle } = place.agent;
  const isInstalled = installedInstances(place.places).some(
    (each) => each.wireKey === wireKey && each.handle === handle,
  );
  if (isInstalled) uninstallService(place, systemHost, { dryRun: false });
  return isInstalled;
}
