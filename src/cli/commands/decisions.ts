import type { ProposalView, DecisionsView, DecisionView, DoubtfulEntry } from "../../api/views.ts";
import { tierNotes } from "../../framing/message-text.ts";
import { sanitise, sanitiseLines } from "../../framing/sanitise.ts";
import { shortId } from "../../framing/short-id.ts";
import { when } from "../../framing/when.ts";
import { define } from "../command.ts";
import { withClient, type Cli } from "../context.ts";
import { emit, table, withBelow, type Cell, type Style, type Paint } from "../output/output.ts";
import { statusCell, decisionRows } from "../output/text.ts";

/** The state of each, and whom it waits for. Spec 3.4. */
export const proposals = define({
  about: "Lists proposals, their state, and what each required party said last.",
  examples: ["deaddrop proposals"],
  async run(cli, flags) {
    const proposals = await withClient(cli, flags, (client) => client.view("proposals"));
    emit(cli, flags, proposals, (paint) => {
      if (proposals.length === 0) return "No proposals.";
      return withBelow(table(proposals.map(proposalRow), paint, cli.stdout.columns), (index) => {
        const each = proposals[index];
        return each?.status === "open" ? decisionRows(each.proposal_id, each.decision, paint) : [];
      });
    });
  },
});

/** What is in force, and with --all what is not. Spec 3.4. */
export const decisions = define({
  about: "Lists the decisions in force, each proved from signed messages.",
  options: { "--all": "also those superseded, not yet provable, and not proved" },
  examples: ["deaddrop decisions --json"],
  async run(cli, flags) {
    const all = flags.all === true;
    const view = await withClient(cli, flags, (client) => client.view("decisions"));
    emit(cli, flags, view, (paint) => decisionsText(cli, view, all, paint));
  },
});

function proposalRow(each: ProposalView): Cell[] {
  return [
    { text: shortId(each.proposal_id), style: "bold" },
    statusCell(each.status),
    { text: each.proposer, style: "cyan" },
    each.required.map((party) => `${party}: ${wordOf(each, party)}`).join(", "),
    { text: whyOpenOrVoid(each), style: "yellow" },
    each.subject,
  ];
}

function whyOpenOrVoid({ status, problem, waits_for: awaited }: ProposalView): string {
  if (awaited !== null) return `waits for ${awaited}`;
  return status === "void" ? (problem ?? "") : "";
}

function wordOf({ support, proposal_id }: ProposalView, party: string): string {
  const last = support[party];
  if (last === undefined || last === null) return "-";
  if (last === proposal_id) return "agrees";
  return last === "rejected" ? "rejects" : `for ${shortId(last)}`;
}

function decisionsText(cli: Cli, view: DecisionsView, all: boolean, paint: Paint): string {
  const nowMs = cli.clock.nowMs();
  const parts = view.in_force.map((each) => recordText(each, "in force", "green", paint, nowMs));
  if (view.in_force.length === 0) parts.push("No decision is in force.");
  if (all) {
    const others: [readonly Listed[], string, Style][] = [
      [view.pending, "not yet provable here", "yellow"],
      [view.unproved, "unproved: nobody is bound by it", "red"],
      [view.superseded, "superseded", "dim"],
    ];
    for (const [records, word, style] of others) {
      parts.push(...records.map((each) => recordText(each, word, style, paint, nowMs)));
    }
  } else if (view.pending.length + view.unproved.length > 0) {
    const counted = `${view.pending.length} not yet provable, ${view.unproved.length} unproved`;
    parts.push(paint("dim", `${counted}: \`deaddrop decisions --all\` shows them.`));
  }
  return parts.join("\n\n");
}

/** Of what is not proved any field may be missing. */
type Listed = Partial<DecisionView> | DoubtfulEntry;

function recordText(
  record: Listed,
  word: string,
  style: Style,
  paint: Paint,
  nowMs: number,
): string {
  const { decision_id, proposer, proposer_tier, acked_by, ratified_at, affected_domains } = record;
  // Our word first: of what is not proved, the id is anybody's text.
  const head = `${paint(style, word)} ${paint("bold", sanitise(decision_id ?? "(no id)"))}`;
  const notes = proposer_tier === undefined ? [] : tierNotes(proposer_tier);
  const facts = [
    [`by ${proposer ?? "?"}`, ...notes].join(", "),
    `acked by ${acked_by?.join(", ") ?? "?"}`,
    when(ratified_at, nowMs),
  ];
  if (affected_domains !== undefined && affected_domains.length > 0) {
    facts.push(`domains ${affected_domains.join(", ")}`);
  }
  const words = sanitiseLines(record.decision ?? "").map(
    (line) => `  ${paint("dim", "│")} ${line}`,
  );
  return [head, `  ${paint("dim", sanitise(facts.join("; ")))}`, ...words].join("\n");
}
