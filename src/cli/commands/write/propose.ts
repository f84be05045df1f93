import { Command } from "commander";
import { prepareProposal } from "../../../sending/proposal.ts";
import { withNote } from "../../../sending/prepared.ts";
import { withClient, type Cli } from "../../context.ts";
import { readBody } from "../../input/body-input.ts";
import { addWords, wordsOf, type WordFlags, type Words } from "../../input/words.ts";
import { example } from "../../output/example.ts";
import { addSendFlags, deliver } from "../../sending/deliver.ts";
import { addProposalFlags, proposalOf, type ProposalFlags } from "../../sending/proposal.ts";

type Flags = ProposalFlags & WordFlags;

/** `deaddrop propose`: asks for a decision. Spec 3.4.1, "Asking". */
export function command(cli: Cli): Command {
  const propose = new Command("propose").description(
    "Proposes a decision. Once every required party has agreed, decisions.jsonl records the words of\n" +
      "--decision, else the subject; never the body.",
  );
  addWords(
    propose,
    "what is to be decided: recorded as it is, unless --decision words it",
    "the reasons, which are not recorded",
  );
  return addSendFlags(addProposalFlags(propose))
    .addHelpText(
      "after",
      example(
        'deaddrop propose "Format v3.1 is frozen until May." "Others build on it now."',
        'deaddrop propose "docs" --decision "The docs move to site/." --path "docs/**" --required scribe',
      ),
    )
    .action((subject: string | undefined, body: string | undefined, flags: Flags) =>
      run(cli, wordsOf(subject, body, flags), flags),
    );
}

export async function run(cli: Cli, { subject, body }: Words, flags: Flags): Promise<void> {
  const { note, ...named } = proposalOf(cli, flags);
  const about = { ...named, subject, reasons: await readBody(cli, flags, body) };
  await withClient(cli, flags, async (client) =>
    deliver(
      cli,
      flags,
      client,
      withNote(await prepareProposal(client, about, cli.clock.nowMs()), note),
    ),
  );
}
