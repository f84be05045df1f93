import { Command } from "commander";
import type { Client } from "../../../api/client.ts";
import { DeaddropError } from "../../../api/errors.ts";
import { readBody } from "../../input/body-input.ts";
import { addWords, wordsOf, type WordFlags, type Words } from "../../input/words.ts";
import { withClient, type Cli } from "../../context.ts";
import { example } from "../../output/example.ts";
import { ANYWAY } from "../../sending/answer.ts";
import { refuseEnded } from "../../sending/ended.ts";
import { MESSAGE_ID, parentOf, type Parent } from "../../sending/parent.ts";
import { addProposalFlags, proposal, type ProposalFlags } from "../../sending/proposal.ts";
import { recipients } from "../../sending/recipients.ts";
import { addSendFlags, deliver } from "../../sending/send-draft.ts";

interface Flags extends ProposalFlags, WordFlags {
  anyway?: boolean;
}

/** `deaddrop counter`: another proposal in the thread of a peer's. Spec 3.4. */
export function command(cli: Cli): Command {
  const counter = new Command("counter")
    .description(
      "Answers a proposal with another one. It needs those whom the first one needed, and its\n" +
        "proposer, unless --required says otherwise.",
    )
    .argument("<id>", `the proposal: ${MESSAGE_ID}`);
  addWords(counter, "what is to be decided instead", "the reasons").option("--anyway", ANYWAY);
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
  await withClient(cli, flags, async (client) => {
    const parent = await proposalNamed(client, id);
    await refuseEnded(client, parent, flags.anyway === true);
    const required = await recipients(client, flags.required ?? (await parties(client, parent)));
    const nowMs = cli.clock.nowMs();
    const about = { subject, reasons, required, flags, nowMs, counters: parent };
    const draft = await proposal(client, about);
    await deliver(cli, flags, client, draft, parent);
  });
}

/** A proposal of a peer. */
async function proposalNamed(client: Client, id: string): Promise<Parent> {
  const parent = await parentOf(client, id);
  if (parent.type !== "proposal") {
    throw new DeaddropError("refused", `that is a ${parent.type}, not a proposal`, {
      hint: "`deaddrop proposals` lists them; `deaddrop reply` answers any message",
    });
  }
  if (parent.from !== client.handle) return parent;
  throw new DeaddropError("refused", "that proposal is your own", {
    hint: "propose again in its thread with `deaddrop send --type proposal --thread …`, or take it back with `deaddrop correct <id> --revert`",
  });
}

async function parties(client: Client, parent: Parent): Promise<string[]> {
  const proposals = await client.view("proposals");
  const countered = proposals.find((each) => each.proposal_id === parent.event_id);
  // One that memory has dropped still says whom it was addressed to.
  const all = new Set([parent.from, ...(countered?.required ?? parent.to)]);
  return [...all].filter((handle) => handle !== client.handle);
}
