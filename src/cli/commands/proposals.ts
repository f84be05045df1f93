import { MESSAGE_ID } from "../../sending/naming/parent.ts";
import { withNote } from "../../sending/prepared.ts";
import { prepareCounter, prepareProposal, type Proposal } from "../../sending/proposal.ts";
import { define, repeatable, type FlagsOf, type Options } from "../command.ts";
import type { Cli } from "../context.ts";
import { readBody } from "../input/body-input.ts";
import { wordArguments, wordsOf, WORD_OPTIONS } from "../input/words.ts";
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
