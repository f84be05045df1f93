import { Command, Option } from "commander";
import { addBodyFlags, readNeededBody, type BodyFlags } from "../../input/body-input.ts";
import { withClient, type Cli } from "../../context.ts";
import { example } from "../../output/example.ts";
import { MESSAGE_ID } from "../../../sending/naming/parent.ts";
import { prepareReply, REPLY_TYPES } from "../../../sending/reply.ts";
import { addSendFlags, deliver, extrasOf, type SendFlags } from "../../sending/deliver.ts";

interface Flags extends SendFlags, BodyFlags {
  type: string;
  subject?: string;
  state?: string;
}

/**
 * `deaddrop reply`: a message in the thread of another. It answers a request; of a proposal or an
 * incident it says that it does not. Spec 3.3.
 */
export function command(cli: Cli): Command {
  const reply = new Command("reply")
    .description(
      "Answers in the thread of a message, to its author unless --to says otherwise. It settles a\n" +
        "request; a proposal is settled by accept, reject or counter, anything else by ack.",
    )
    .argument("<id>", MESSAGE_ID)
    .argument("[body]", "what you have to say; - reads standard input")
    .option("--subject <text>", "what it is about; what it answers is added")
    .addOption(
      new Option("--type <type>", "the message's type").choices(REPLY_TYPES).default("feedback"),
    )
    .option("--state <line>", "the line of state that a warning or long request opens with");
  return addBodyFlags(addSendFlags(reply))
    .addHelpText("after", example('deaddrop reply 4f2a91 "Yes, from Monday on."'))
    .action((id: string, body: string | undefined, flags: Flags) => run(cli, id, body, flags));
}

export async function run(
  cli: Cli,
  id: string,
  argument: string | undefined,
  flags: Flags,
): Promise<void> {
  const body = await readNeededBody(cli, flags, argument);
  const { type, subject, to, state } = flags;
  const about = { type, body, subject, to, state, extras: extrasOf(flags) };
  await withClient(cli, flags, async (client) =>
    deliver(cli, flags, client, await prepareReply(client, id, about)),
  );
}
