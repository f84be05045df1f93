import type { Command } from "commander";
import type { Proposal } from "../../sending/proposal.ts";
import { collect, type Cli } from "../context.ts";
import type { BodyFlags } from "../input/body-input.ts";
import { pathsGiven } from "./named-paths.ts";
import { extrasOf, type SendFlags } from "./deliver.ts";

export interface ProposalFlags extends SendFlags, BodyFlags {
  required?: string[];
  domain?: string[];
  path?: string[];
  decision?: string;
  decisionId?: string;
  supersedes?: string;
  due?: string;
}

export function addProposalFlags(command: Command): Command {
  return command
    .option("--required <handle>", "whose ack it takes (repeatable; in a pair the peer)", collect)
    .option("--domain <name>", "a domain that it touches (repeatable)", collect)
    .option("--path <pattern>", "paths that it touches (repeatable)", collect)
    .option("--decision <text>", "the words that are recorded (else the subject; never the body)")
    .option("--decision-id <id>", "a name for the decision (else a slug of the subject)")
    .option(
      "--supersedes <id>",
      "the decision that it replaces: its id, its proposal's, or a unique prefix",
    )
    .option(
      "--due <when>",
      "until when to answer: 30m, 4h, 2d or a time (else 30 min from reading)",
    );
}

/** What the flags say of a proposal: all but its words; and what its sender is told of the paths. */
export function proposalOf(
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
