import { Command } from "commander";
import type { Cli } from "../../context.ts";
import { example } from "../../output/example.ts";
import { addAnswerFlags, answer, type AnswerFlags } from "../../sending/answer.ts";
import { MESSAGE_ID } from "../../../sending/naming/parent.ts";

interface Flags extends AnswerFlags {
  reject?: boolean;
}

/** `deaddrop ack`: seen and taken. Of a proposal it is agreement, as `accept` is. Spec 3.4, 8.6. */
export function command(cli: Cli): Command {
  const ack = new Command("ack")
    .description(
      "Says to its author that you have seen a message and take it. Of a proposal it means\n" +
        "`deaddrop accept`.",
    )
    .argument("<id>", MESSAGE_ID)
    .option("--reject", "the same as `deaddrop reject`");
  return addAnswerFlags(ack)
    .addHelpText("after", example("deaddrop ack 4f2a91", 'deaddrop ack 4f2a91 --reason "on it"'))
    .action((id: string, flags: Flags) =>
      answer(cli, id, flags, flags.reject === true ? "reject" : "ack"),
    );
}
