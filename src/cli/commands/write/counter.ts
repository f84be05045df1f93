import { Command } from "commander";
import { MESSAGE_ID } from "../../../sending/naming/parent.ts";
import { prepareCounter } from "../../../sending/proposal.ts";
import { withNote } from "../../../sending/prepared.ts";
import { withClient, type Cli } from "../../context.ts";
import { readBody } from "../../input/body-input.ts";
import { addWords, wordsOf, type WordFlags, type Words } from "../../input/words.ts";
import { example } from "../../output/example.ts";
import { ANYWAY } from "../../sending/answer.ts";
import { addSendFlags, deliver } from "../../sending/deliver.ts";
import { addProposalFlags, proposalOf, type ProposalFlags } from "../../sending/proposal.ts";

interface Flags extends ProposalFlags, WordFlags {
  anyway?: boolean;
}

/** `deaddrop counter`: another proposal in the thread of a peer's. Spec 3.4. */
export function command(cli: Cli): Command {
  const counter = new Command("counter")
    .description(
      "Answers a proposal with another one. It needs those whom the first one needed, and its\n" +
        "proposer, unless --required says otherwise. What is recorded when all agree are the words of\n" +
        "--decision, else the subject; never the body.",
    )
    .argument("<id>", `the proposal: ${MESSAGE_ID}`);
  addWords(
    counter,
    "what is to be decided instead: recorded as it is, unless --decision words it",
    "the reasons, which are not recorded",
  ).option("--anyway", ANYWAY);
  return addSendFlags(addProposalFlags(counter))
    .addHelpText(
      "after",
      example('deaddrop counter 4f2a91 "freeze it until March" "April is too late for us."'),
    )
    .action((id: string, subject: string | undefined, body: string | undefined, flags: Flags) =>
      run(cli, id, wordsOf(subject, body, flags), flags),
    );
}

export async function run(
  cli: Cli,
  id: string,
  { subject, body }: Words,
  flags: Flags,
): Promise<void> {
  const reasons = await readBody(cli, flags, body);
  const { note, ...named } = proposalOf(cli, flags);
  const about = { ...named, subject, reasons, anyway: flags.anyway };
  await withClient(cli, flags, async (client) =>
    deliver(
      cli,
      flags,
      client,
      withNote(await prepareCounter(client, id, about, cli.clock.nowMs()), note),
    ),
  );
}
