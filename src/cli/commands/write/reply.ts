import { Command, Option } from "commander";
import { addBodyFlags, readNeededBody, type BodyFlags } from "../../input/body-input.ts";
import { withClient, type Cli } from "../../context.ts";
import { example } from "../../output/example.ts";
import { replyNote } from "../../sending/ended.ts";
import { withState } from "../../sending/opening.ts";
import {
  answerSubject,
  answerTo,
  MESSAGE_ID,
  parentOf,
  subjectWith,
} from "../../sending/parent.ts";
import { recipients } from "../../sending/recipients.ts";
import { requestToUs, wantsAnswer } from "../../sending/request.ts";
import { addSendFlags, deliver, draftOptions, type SendFlags } from "../../sending/send-draft.ts";

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
      new Option("--type <type>", "the message's type")
        .choices(["feedback", "request", "warning", "decision"])
        .default("feedback"),
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
  const body = withState(flags.type, await readNeededBody(cli, flags, argument), flags.state);
  await withClient(cli, flags, async (client) => {
    const parent = await parentOf(client, id);
    const request = await requestToUs(client, parent);
    if (request !== undefined && request.status === "pending") throw wantsAnswer(request);
    const { subject: own } = flags;
    const draft = {
      to: await recipients(client, flags.to ?? answerTo(parent, client)),
      type: flags.type,
      subject: own === undefined ? answerSubject("re", parent) : subjectWith(own, "re", parent),
      body,
      correlationId: parent.correlation_id,
      ...draftOptions(flags),
    };
    await deliver(cli, flags, client, draft, parent, await replyNote(client, parent));
  });
}
