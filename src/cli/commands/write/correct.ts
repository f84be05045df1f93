import { Command } from "commander";
import type { Client } from "../../../api/client.ts";
import { DeaddropError } from "../../../api/errors.ts";
import type { JsonObject, JsonValue } from "../../../wire/json/json.ts";
import { addBodyFlags, readBody, readNeededBody, type BodyFlags } from "../../input/body-input.ts";
import { withClient, type Cli } from "../../context.ts";
import { example } from "../../output/example.ts";
import {
  answerSubject,
  MESSAGE_ID,
  parentOf,
  subjectWith,
  type Parent,
} from "../../sending/parent.ts";
import { refuseLateRevert } from "../../sending/ended.ts";
import { recipients } from "../../sending/recipients.ts";
import { addSendFlags, deliver, draftOptions, type SendFlags } from "../../sending/send-draft.ts";

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
  const reads = flags.revert === true ? readBody : readNeededBody;
  const text = await reads(cli, flags, argument);
  await withClient(cli, flags, async (client) => {
    const parent = await parentOf(client, id);
    const reverts = flags.revert === true;
    if (reverts && (parent.type !== "proposal" || parent.from !== client.handle)) {
      throw new DeaddropError("refused", "only a proposal of your own can be reverted", {
        hint: "`deaddrop reject <id>` refuses a peer's",
      });
    }
    if (reverts) await refuseLateRevert(client, parent);
    const { subject: own } = flags;
    const word = reverts ? "reverted" : "correction";
    const draft = {
      to: await recipients(client, flags.to ?? readersOf(parent, client)),
      type: "correction",
      subject: own === undefined ? answerSubject(word, parent) : subjectWith(own, word, parent),
      body: correctionBody(parent.event_id, text, reverts),
      correlationId: parent.correlation_id,
      ...draftOptions(flags),
    };
    await deliver(cli, flags, client, draft, parent);
  });
}

/** All who got it, and its author: also of what was forged in the author's name. Spec 1.7, 2.5. */
function readersOf({ from, to }: Parent, client: Client): string[] {
  if (to.includes("*")) return ["*"];
  return [...new Set([from, ...to])].filter((handle) => handle !== client.handle);
}

function correctionBody(eventId: string, text: JsonValue, reverts: boolean): JsonObject {
  const names = reverts ? { reverts: eventId } : { corrects: eventId };
  return text === "" ? names : { ...names, text };
}
