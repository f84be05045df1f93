import { Command } from "commander";
import type { Cli } from "../../context.ts";
import { example } from "../../output/example.ts";
import { addAnswerFlags, answer, type AnswerFlags } from "../../sending/answer.ts";
import { MESSAGE_ID } from "../../../sending/naming/parent.ts";

/** `deaddrop accept`: agrees to a proposal, or says yes to a request. Spec 3.4, 8.6. */
export function command(cli: Cli): Command {
  const accept = new Command("accept")
    .description(
      "Agrees to a proposal: once every required party has agreed, the words that `deaddrop pending`\n" +
        "quotes after `decides:` are recorded. To a request it says yes, but\n" +
        "for a shutdown: only `deaddrop respond <id> --approve` parks you.",
    )
    .argument("<id>", MESSAGE_ID);
  return addAnswerFlags(accept)
    .addHelpText("after", example("deaddrop accept 4f2a91"))
    .action((id: string, flags: AnswerFlags) => answer(cli, id, flags, "accept"));
}
