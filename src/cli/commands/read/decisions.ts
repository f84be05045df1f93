import { Command } from "commander";
import type { DecisionsView, DecisionView, DoubtfulEntry } from "../../../api/views.ts";
import { withClient, type Cli, type GlobalFlags } from "../../context.ts";
import { example } from "../../output/example.ts";
import { tierNotes } from "../../../framing/message-text.ts";
import { emit, type Paint, type Style } from "../../output/output.ts";
import { sanitise, sanitiseLines } from "../../../framing/sanitise.ts";
import { when } from "../../../framing/when.ts";

interface Flags extends GlobalFlags {
  all?: boolean;
}

/** `deaddrop decisions`: what is in force, and with --all what is not. Spec 3.4. */
export function command(cli: Cli): Command {
  return new Command("decisions")
    .description("Lists the decisions in force, each proved from signed messages.")
    .option("--all", "also those superseded, not yet provable, and not proved")
    .addHelpText("after", example("deaddrop decisions --json"))
    .action((flags: Flags) => run(cli, flags));
}

export async function run(cli: Cli, flags: Flags): Promise<void> {
  const decisions = await withClient(cli, flags, (client) => client.view("decisions"));
  emit(cli, flags, decisions, (paint) => decisionsText(cli, decisions, flags.all === true, paint));
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
