import { Command } from "commander";
import { prepareRelease } from "../../../sending/claim.ts";
import { withClient, type Cli } from "../../context.ts";
import { example } from "../../output/example.ts";
import { addWaitFlags, deliver, type SendFlags } from "../../sending/deliver.ts";

/** `deaddrop release`: ends a claim of ours before its time. Spec 3.7. */
export function command(cli: Cli): Command {
  const release = new Command("release")
    .description("Ends a claim of yours: others may work on those paths again.")
    .argument("[claim]", "its id, a prefix of that, or a path of it (else your only claim)");
  return addWaitFlags(release)
    .addHelpText("after", example("deaddrop release", "deaddrop release src/api"))
    .action((claim: string | undefined, flags: SendFlags) => run(cli, claim, flags));
}

export async function run(cli: Cli, claim: string | undefined, flags: SendFlags): Promise<void> {
  await withClient(cli, flags, async (client) =>
    deliver(cli, flags, client, await prepareRelease(client, claim)),
  );
}
