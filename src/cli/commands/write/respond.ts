import { Command } from "commander";
import type { Client } from "../../../api/client.ts";
import { DeaddropError } from "../../../api/errors.ts";
import type { Cli } from "../../context.ts";
import { example } from "../../output/example.ts";
import { addAnswerFlags, answer, type AnswerFlags } from "../../sending/answer.ts";
import { parentOf, type Parent } from "../../sending/parent.ts";
import { requestNamed } from "../../sending/request.ts";

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
  await answer(cli, name, flags, flags.approve === true ? "accept" : "reject", askedOfUs);
}

/** The request itself, which a name of its asker's choosing may name. */
async function askedOfUs(client: Client, name: string): Promise<Parent> {
  const [found] = await requestNamed(client, name);
  return parentOf(client, found?.event_id ?? name);
}
