import { Command } from "commander";
import type { Cli } from "../../context.ts";
import { example } from "../../output/example.ts";
import { addAnswerFlags, answer, type AnswerFlags } from "../../sending/answer.ts";
import { MESSAGE_ID } from "../../../sending/naming/parent.ts";

/** `deaddrop reject`: refuses a proposal, or says no to a request. Spec 3.4, 8.6. */
export function command(cli: Cli): Command {
  const reject = new Command("reject")
    .description("Refuses a proposal, which ends it, or says no to a request.")
    .argument("<id>", MESSAGE_ID);
  return addAnswerFlags(reject)
    .addHelpText("after", example('deaddrop reject 4f2a91 --reason "docs/ is frozen this week"'))
    .action((id: string, flags: AnswerFlags) => answer(cli, id, flags, "reject"));
}
