import { Command } from "commander";
import { prepareRelease } from "../../../sending/claim.ts";
import { withClient, type Cli } from "../../context.ts";
import { example } from "../../output/example.ts";
import { addWaitFlags, deliver, type SendFlags } from "../../sending/deliver.ts";

/** `deaddrop release`: ends a claim of ours before its time. Spec 3.7. */
export function command(cli: Cli): Command {
  const release = new Command("release")
    .description("Ends a claim of yours: others may work on those paths again.")
    .argument("[id]", "event id of the claim, or a prefix of it (else your only claim)");
  return addWaitFlags(release)
    .addHelpText("after", example("deaddrop release", "deaddrop release 4f2a91"))
    .action((id: string | undefined, flags: SendFlags) => run(cli, id, flags));
}

export async function run(cli: Cli, id: string | undefined, flags: SendFlags): Promise<void> {
  await withClient(cli, flags, async (client) =>
    deliver(cli, flags, client, await prepareRelease(client, id)),
  );
}
