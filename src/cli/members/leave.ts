import { applyMembership } from "../../agent/config/change-members.ts";
import { DeaddropError } from "../../api/errors.ts";
import type { MemberChangeView } from "../../api/views.ts";
import { connectDaemon } from "../../client/socket-client.ts";
import type { AgentPaths } from "../../storage/paths.ts";
import { agentPlace } from "../agent-place.ts";
import { servicePlace } from "../commands/run/service.ts";
import { withClient, type Cli, type GlobalFlags } from "../context.ts";
import { confirmOperator, type ConsentFlags } from "../input/confirm.ts";
import { emit } from "../output/output.ts";
import { uninstallService } from "../service/install-service.ts";
import { installedInstances, systemHost } from "../service/service-place.ts";
import { membershipOf } from "./accept.ts";

/**
 * `deaddrop leave`: ends the service, writes the last line, and notes privately that this agent has left.
 * Whatever stops it in between, repeating it ends it. Spec 3.11.
 */
export async function leave(cli: Cli, flags: GlobalFlags & ConsentFlags): Promise<void> {
  const { place } = agentPlace(cli, flags);
  const { handle, layout, paths } = place;
  if (!layout.members.includes(handle)) {
    throw new DeaddropError("refused", `${handle} has left this wire already`);
  }
  await confirmOperator(
    cli,
    flags,
    {
      action: "leave",
      target: place.wire.folder,
      effect: [
        `${handle} leaves this wire: its service ends, and it sends nothing more.`,
        "What it has agreed to stays in force; what it owes, and what is owed to it, ends.",
      ],
      word: handle,
    },
    paths.operatorJournal,
  );
  endService(cli, flags);
  await refuseRunning(paths);
  const change = await lastLine(cli, flags, handle);
  const { host, place: now } = agentPlace(cli, flags);
  applyMembership(host.disk, now, membershipOf(change), "private");
  emit(cli, flags, { left: true, handle, last: change.logs }, () =>
    [
      `${handle} has left this wire. Keys and logs are where they were.`,
      "Each other operator applies it with: deaddrop member accept",
    ].join("\n"),
  );
}

function endService(cli: Cli, flags: GlobalFlags): void {
  const place = servicePlace(cli, flags);
  const { wireKey, handle } = place.agent;
  const isInstalled = installedInstances(place.places).some(
    (each) => each.wireKey === wireKey && each.handle === handle,
  );
  if (isInstalled) uninstallService(place, systemHost, { dryRun: false });
}

/** Its last beat would come after the last line. */
async function refuseRunning(paths: AgentPaths): Promise<void> {
  const daemon = await connectDaemon(paths);
  if (daemon === undefined) return;
  daemon.close();
  throw new DeaddropError("refused", "a daemon of this agent still runs", {
    hint: "end it where it was started, then repeat the command: it goes on from here",
  });
}

/** Writes the last line, unless it is there. */
async function lastLine(cli: Cli, flags: GlobalFlags, handle: string): Promise<MemberChangeView> {
  return withClient(cli, flags, async (client) => {
    const own = async (): Promise<MemberChangeView | undefined> => {
      const { changes } = await client.view("members");
      return changes.find((each) => each.status === "announced" && each.handle === handle);
    };
    const before = await own();
    if (before !== undefined) return before;
    const draft = {
      to: ["*"],
      type: "shutdown",
      subject: `${handle} leaves this wire`,
      body: { leaves: true },
    };
    await client.ask("send", { drafts: [draft] });
    const after = await own();
    if (after !== undefined) return after;
    throw new DeaddropError("storage", "the last line waits to be written", {
      hint: "repeat the command when deaddrop status shows nothing that stops it",
    });
  });
}
