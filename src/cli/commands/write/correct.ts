import { Command } from "commander";
import { prepareCorrection } from "../../../sending/correction.ts";
import { MESSAGE_ID } from "../../../sending/naming/parent.ts";
import { withClient, type Cli } from "../../context.ts";
import { addBodyFlags, readBody, readNeededBody, type BodyFlags } from "../../input/body-input.ts";
import { example } from "../../output/example.ts";
import { addSendFlags, deliver, extrasOf, type SendFlags } from "../../sending/deliver.ts";

interface Flags extends SendFlags, BodyFlags {
  revert?: boolean;
  subject?: string;
}

/** `deaddrop correct`: the message stays, the correction is shown beside it. Spec 1.7, 3.4. */
export function command(cli: Cli): Command {
  const correct = new Command("correct")
    .description(
      "Corrects a message; it goes to those who got the message. With --revert it takes back a\n" +
        "proposal of yours that is not decided yet.",
    )
    .argument("<id>", MESSAGE_ID)
    .argument("[body]", "what is right; - reads standard input")
    .option("--revert", "take the proposal back")
    .option("--subject <text>", "what it is about; what it corrects is added");
  return addBodyFlags(addSendFlags(correct))
    .addHelpText(
      "after",
      example(
        'deaddrop correct 4f2a91 "It is port 8443, not 8433."',
        'deaddrop correct 4f2a91 --revert "We found a better way."',
      ),
    )
    .action((id: string, body: string | undefined, flags: Flags) => run(cli, id, body, flags));
}

export async function run(
  cli: Cli,
  id: string,
  argument: string | undefined,
  flags: Flags,
): Promise<void> {
  const reverts = flags.revert === true;
  const body = await (reverts ? readBody : readNeededBody)(cli, flags, argument);
  const about = { body, reverts, subject: flags.subject, to: flags.to, extras: extrasOf(flags) };
  await withClient(cli, flags, async (client) =>
    deliver(cli, flags, client, await prepareCorrection(client, id, about)),
  );
}
