import { Command } from "commander";
import type { PeerView } from "../../../api/views.ts";
import { withClient, type Cli, type GlobalFlags } from "../../context.ts";
import { example } from "../../output/example.ts";
import { emit, table } from "../../output/output.ts";
import { peerRow } from "../../output/peer-text.ts";

/** `deaddrop peers`: the daemon's life and the agent's life are shown apart. Spec 3.1. */
export function command(cli: Cli): Command {
  return new Command("peers")
    .description(
      "Lists the other agents: presence, trust, and when daemon and agent were last alive.",
    )
    .addHelpText("after", example("deaddrop peers"))
    .action((flags: GlobalFlags) => run(cli, flags));
}

export async function run(cli: Cli, flags: GlobalFlags): Promise<void> {
  const peers: PeerView[] = await withClient(cli, flags, (client) => client.view("peers"));
  const nowMs = cli.clock.nowMs();
  emit(cli, flags, peers, (paint) =>
    peers.length === 0
      ? "Nobody else is on this wire."
      : table(
          peers.map((peer) => peerRow(peer, nowMs)),
          paint,
          cli.stdout.columns,
        ),
  );
}
