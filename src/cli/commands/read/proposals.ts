import { Command } from "commander";
import type { ProposalStatus, ProposalView } from "../../../api/views.ts";
import { withClient, type Cli, type GlobalFlags } from "../../context.ts";
import { example } from "../../output/example.ts";
import { emit, table, withBelow, type Cell, type Style } from "../../output/output.ts";
import { decisionRows } from "../../output/text.ts";
import { shortId } from "../../../framing/short-id.ts";

const STYLE_BY_STATUS: Record<ProposalStatus, Style> = {
  open: "yellow",
  ratified: "green",
  rejected: "red",
  reverted: "dim",
  replaced: "dim",
  superseded: "dim",
  withdrawn: "dim",
  disputed: "red",
  void: "red",
};

/** `deaddrop proposals`: the state of each, and whom it waits for. Spec 3.4. */
export function command(cli: Cli): Command {
  return new Command("proposals")
    .description("Lists proposals, their state, and what each required party said last.")
    .addHelpText("after", example("deaddrop proposals"))
    .action((flags: GlobalFlags) => run(cli, flags));
}

export async function run(cli: Cli, flags: GlobalFlags): Promise<void> {
  const proposals = await withClient(cli, flags, (client) => client.view("proposals"));
  emit(cli, flags, proposals, (paint) => {
    if (proposals.length === 0) return "No proposals.";
    return withBelow(table(proposals.map(row), paint, cli.stdout.columns), (index) => {
      const each = proposals[index];
      return each?.status === "open" ? decisionRows(each.proposal_id, each.decision, paint) : [];
    });
  });
}

function row(each: ProposalView): Cell[] {
  return [
    { text: shortId(each.proposal_id), style: "bold" },
    { text: each.status, style: STYLE_BY_STATUS[each.status] },
    { text: each.proposer, style: "cyan" },
    { text: each.required.map((party) => `${party}: ${word(each, party)}`).join(", ") },
    { text: whyOpenOrVoid(each), style: "yellow" },
    { text: each.subject },
  ];
}

function whyOpenOrVoid({ status, problem, waits_for: awaited }: ProposalView): string {
  if (awaited !== null) return `waits for ${awaited}`;
  return status === "void" ? (problem ?? "") : "";
}

function word({ support, proposal_id }: ProposalView, party: string): string {
  const last = support[party];
  if (last === undefined || last === null) return "-";
  if (last === proposal_id) return "agrees";
  return last === "rejected" ? "rejects" : `for ${shortId(last)}`;
}
