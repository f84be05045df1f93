import { Command } from "commander";
import { DeaddropError } from "../../../api/errors.ts";
import { prepareResponse } from "../../../sending/request.ts";
import { withClient, type Cli } from "../../context.ts";
import { example } from "../../output/example.ts";
import { addAnswerFlags, type AnswerFlags } from "../../sending/answer.ts";
import { deliver } from "../../sending/deliver.ts";

interface Flags extends AnswerFlags {
  approve?: boolean;
  reject?: boolean;
}

/** `deaddrop respond`: the answer to a request. Spec 3.8. */
export function command(cli: Cli): Command {
  const respond = new Command("respond")
    .description("Answers a request. Only the first answer counts.")
    .argument("<request>", "its request id, or its event id or a prefix of it")
    .option("--approve", "yes")
    .option("--reject", "no; say why with --reason");
  return addAnswerFlags(respond)
    .addHelpText(
      "after",
      example(
        "deaddrop respond 4f2a91c0 --approve",
        'deaddrop respond 4f2a91c0 --reject --reason "tests are red; in an hour"',
      ),
    )
    .action((name: string, flags: Flags) => run(cli, name, flags));
}

export async function run(cli: Cli, name: string, flags: Flags): Promise<void> {
  if ((flags.approve === true) === (flags.reject === true)) {
    throw new DeaddropError("usage", "approve it, or reject it?", {
      hint: "give one of --approve and --reject",
    });
  }
  const approves = flags.approve === true;
  await withClient(cli, flags, async (client) =>
    deliver(cli, flags, client, await prepareResponse(client, name, approves, flags)),
  );
}
