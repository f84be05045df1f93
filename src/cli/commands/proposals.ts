import type {
  ProposalStatus,
  ProposalView,
  DecisionsView,
  DecisionView,
  DoubtfulEntry,
} from "../../api/views.ts";
import { tierNotes } from "../../framing/message-text.ts";
import { sanitise, sanitiseLines } from "../../framing/sanitise.ts";
import { shortId } from "../../framing/short-id.ts";
import { when } from "../../framing/when.ts";
import { MESSAGE_ID } from "../../sending/naming/parent.ts";
import { withNote } from "../../sending/prepared.ts";
import { prepareCounter, prepareProposal, type Proposal } from "../../sending/proposal.ts";
import { define, repeatable, type FlagsOf, type Options } from "../command.ts";
import { withClient, type Cli } from "../context.ts";
import { readBody } from "../input/body-input.ts";
import { wordArguments, wordsOf, WORD_OPTIONS } from "../input/words.ts";
import { emit, table, withBelow, type Cell, type Style, type Paint } from "../output/output.ts";
import { decisionRows } from "../output/text.ts";
import { ANYWAY, deliver, extrasOf, pathsGiven, SEND_OPTIONS } from "../sending/deliver.ts";

const PROPOSAL_OPTIONS = {
  "--required <handle>": repeatable("whose ack it takes (repeatable; in a pair the peer)"),
  "--domain <name>": repeatable("a domain that it touches (repeatable)"),
  "--path <pattern>": repeatable("paths that it touches (repeatable)"),
  "--decision <text>": "the words that are recorded (else the subject; never the body)",
  "--decision-id <id>": "a name for the decision (else a slug of the subject)",
  "--supersedes <id>": "the decision that it replaces: its id, its proposal's, or a unique prefix",
  "--due <when>": "until when to answer: 30m, 4h, 2d or a time (else 30 min from reading)",
  ...SEND_OPTIONS,
} as const satisfies Options;
type ProposalFlags = FlagsOf<typeof PROPOSAL_OPTIONS>;

/** Asks for a decision. Spec 3.4.1, "Asking". */
export const propose = define({
  about:
    "Proposes a decision. Once every required party has agreed, decisions.jsonl records the words of " +
    "--decision, else the subject; never the body.",
  args: wordArguments(
    "what is to be decided: recorded as it is, unless --decision words it",
    "the reasons, which are not recorded",
  ),
  options: { ...WORD_OPTIONS, ...PROPOSAL_OPTIONS },
  examples: [
    'deaddrop propose "Format v3.1 is frozen until May." "Others build on it now."',
    'deaddrop propose "docs" --decision "The docs move to site/." --path "docs/**" --required scribe',
  ],
  async run(cli, flags, args) {
    const { subject, body } = wordsOf(args.subject, args.body, flags);
    const { note, ...named } = proposalOf(cli, flags);
    const about = { ...named, subject, reasons: await readBody(cli, flags, body) };
    await deliver(cli, flags, async (client) =>
      withNote(await prepareProposal(client, about, cli.clock.nowMs()), note),
    );
  },
});

/** Another proposal in the thread of a peer's. Spec 3.4. */
export const counter = define({
  about:
    "Answers a proposal with another one. It needs those whom the first one needed, and its " +
    "proposer, unless --required says otherwise. What is recorded when all agree are the words of " +
    "--decision, else the subject; never the body.",
  args: {
    "<id>": `the proposal: ${MESSAGE_ID}`,
    ...wordArguments(
      "what is to be decided instead: recorded as it is, unless --decision words it",
      "the reasons, which are not recorded",
    ),
  },
  options: { ...WORD_OPTIONS, "--anyway": ANYWAY, ...PROPOSAL_OPTIONS },
  examples: ['deaddrop counter 4f2a91 "freeze it until March" "April is too late for us."'],
  async run(cli, flags, { id, ...args }) {
    const { subject, body } = wordsOf(args.subject, args.body, flags);
    const reasons = await readBody(cli, flags, body);
    const { note, ...named } = proposalOf(cli, flags);
    const about = { ...named, subject, reasons, anyway: flags.anyway };
    await deliver(cli, flags, async (client) =>
      withNote(await prepareCounter(client, id, about, cli.clock.nowMs()), note),
    );
  },
});

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

/** What the flags say of a proposal: all but its words; and what its sender is told of the paths. */
function proposalOf(
  cli: Cli,
  flags: ProposalFlags,
): Omit<Proposal, "subject" | "reasons"> & { readonly note: string | undefined } {
  const { to, required, domain, path, decision, decisionId, supersedes, due } = flags;
  const { paths, note } = pathsGiven(cli, flags, path ?? []);
  return {
    note,
    to,
    required,
    domains: domain,
    paths: path && paths,
    decision,
    decisionId,
    supersedes,
    due,
    extras: extrasOf(flags),
  };
}

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

function proposalRow(each: ProposalView): Cell[] {
  return [
    { text: shortId(each.proposal_id), style: "bold" },
    { text: each.status, style: STYLE_BY_STATUS[each.status] },
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
