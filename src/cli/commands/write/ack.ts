import { Command } from "commander";
import { DeaddropError } from "../../../api/errors.ts";
import type { Draft } from "../../../wire/compose.ts";
import { withClient, type Cli } from "../../context.ts";
import { example } from "../../output/example.ts";
import { answerSubject, MESSAGE_ID, parentOf, type Parent } from "../../sending/parent.ts";
import { addWaitFlags, deliver, type SendFlags } from "../../sending/send-draft.ts";

export interface Flags extends Pick<
  SendFlags,
  "wait" | "timeout" | "wire" | "as" | "json" | "peer"
> {
  reject?: boolean;
  reason?: string;
}

const CAN_BE_REJECTED = ["proposal", "request"];

/** `deaddrop ack`: the answer that settles what is owed, and that ratifies or rejects. Spec 3.4. */
export function command(cli: Cli): Command {
  const ack = new Command("ack")
    .description(
      "Acknowledges a message to its author. Of a proposal it is agreement, with --reject refusal.",
    )
    .argument("<id>", MESSAGE_ID)
    .option("--reject", "refuse instead")
    .option("--reason <text>", "why");
  return addWaitFlags(ack)
    .addHelpText(
      "after",
      example(
        "deaddrop ack 4f2a91",
        'deaddrop ack 4f2a91 --reject --reason "docs/ is frozen this week"',
      ),
    )
    .action((id: string, flags: Flags) => run(cli, id, flags));
}

/** `named` finds what is acked, and may refuse what it is. */
export async function run(cli: Cli, id: string, flags: Flags, named = parentOf): Promise<void> {
  await withClient(cli, flags, async (client) => {
    const parent = await named(client, id);
    if (parent.from === client.handle) {
      throw new DeaddropError("refused", "that message is your own; its addressees ack it", {
        hint: "`deaddrop correct <id> --revert` takes a proposal of yours back",
      });
    }
    if (flags.reject === true && !CAN_BE_REJECTED.includes(parent.type)) {
      throw new DeaddropError("refused", `a ${parent.type} asks for nothing that can be rejected`, {
        hint: "say what is wrong with it: deaddrop reply <id>",
      });
    }
    await deliver(cli, flags, client, ackOf(parent, flags), parent);
  });
}

function ackOf(parent: Parent, flags: Flags): Draft {
  const rejects = flags.reject === true;
  return {
    to: [parent.from],
    type: "ack",
    subject: answerSubject(rejects ? "rejected" : "ack", parent),
    body: {
      acks: parent.event_id,
      // Spec 3.4: agreement to a proposal is said; an ack of anything else agrees to nothing.
      ...(parent.type === "proposal" || rejects ? { approve: !rejects } : {}),
      ...(flags.reason === undefined ? {} : { reason: flags.reason }),
    },
    correlationId: parent.correlation_id,
  };
}
