import { Command } from "commander";
import { prepareProposal } from "../../../sending/proposal.ts";
import { withClient, type Cli } from "../../context.ts";
import { readBody } from "../../input/body-input.ts";
import { addWords, wordsOf, type WordFlags, type Words } from "../../input/words.ts";
import { example } from "../../output/example.ts";
import { addSendFlags, deliver } from "../../sending/deliver.ts";
import { addProposalFlags, proposalOf, type ProposalFlags } from "../../sending/proposal.ts";

type Flags = ProposalFlags & WordFlags;

/** `deaddrop propose`: asks for a decision. Spec 3.4, "Asking". */
export function command(cli: Cli): Command {
  const propose = new Command("propose").description(
    "Proposes a decision. It is recorded in decisions.jsonl once every required party has acked it.",
  );
  addWords(propose, "what is to be decided", "the reasons");
  return addSendFlags(addProposalFlags(propose))
    .addHelpText(
      "after",
      example(
        'deaddrop propose "freeze the wire format" --decision "Format v3.1 is frozen until May."',
        'deaddrop propose "move the docs" --path "docs/**" --required scribe --wait answered',
      ),
    )
    .action((subject: string | undefined, body: string | undefined, flags: Flags) =>
      run(cli, wordsOf(subject, body, flags), flags),
    );
}

export async function run(cli: Cli, { subject, body }: Words, flags: Flags): Promise<void> {
  const about = { ...proposalOf(flags), subject, reasons: await readBody(cli, flags, body) };
  await withClient(cli, flags, async (client) =>
    deliver(cli, flags, client, await prepareProposal(client, about, cli.clock.nowMs())),
  );
}
