import { Command } from "commander";
import { append, type AppendFlags } from "../../collab/append.ts";
import { init, type InitFlags } from "../../collab/init.ts";
import { next, prompt, status, validate } from "../../collab/look.ts";
import { publish, type PublishFlags } from "../../collab/publish.ts";
import type { RoundFlags } from "../../collab/round-command.ts";
import {
  USUAL_TIMEOUT_S,
  wait,
  watch,
  type WaitFlags,
  type WatchFlags,
} from "../../collab/wait.ts";
import { collect, type Cli } from "../../context.ts";
import { example } from "../../output/example.ts";

/** `deaddrop collab`: rounds of the Agent Collaboration Protocol. Spec 6. */
export function command(cli: Cli): Command {
  const collab = new Command("collab").description(
    "Collaboration rounds: participants turn an objective into a conclusion, in a folder of documents\n" +
      "and a log of events. Interchangeable with the scripts of the Agent Collaboration Protocol.",
  );
  addInit(cli, collab);
  addAppend(cli, collab);
  addWaiting(cli, collab);
  addLooking(cli, collab);
  addAgent(cli, collab);
  return collab.addHelpText(
    "after",
    example(
      'deaddrop collab init --folder rounds/cache --participant ann --participant bob --objective "Choose a cache." --completion "The choice is written down"',
      "deaddrop collab wait --folder rounds/cache --participant bob",
    ),
  );
}

function addInit(cli: Cli, collab: Command): void {
  collab
    .command("init")
    .description("make a round: schema 2 with a primary deliverable, else schema 1")
    .option("--folder <folder>", "its folder, which must not exist")
    .option("--participant <name>", "repeatable; the first one owns the proposal", collect)
    .option("--objective <text>", "what the round is about")
    .option("--completion <gate>", "what must hold at its end (repeatable)", collect)
    .option("--schema <1|2>", "outright")
    .option("--resume", "a folder that is there already is fine, and stays as it is")
    .option("--continue <folder>", "take inputs and documents of a round that has ended")
    .option("--primary-deliverable-type <type>", "adr, design-spec, …, custom")
    .option("--primary-deliverable-file <file>", "its name, ending in .md")
    .option("--primary-deliverable-check <check>", "what it must answer (repeatable)", collect)
    .option(
      "--deliverables-mode <internal|external>",
      "in the round's folder, or in the repository",
    )
    .option("--deliverables-dir <folder>", "their folder, below it")
    .option("--repo-root <way>", "from the folder to the repository, for external ones")
    .action((_own: unknown, self: Command) => init(cli, self.optsWithGlobals<InitFlags>()));
}

function addAppend(cli: Cli, collab: Command): void {
  participantOf(collab.command("append"))
    .description("say what you have done; refused with all reasons when it is not allowed")
    .option("--event <event>", "what: proposal_submitted, review_submitted, …")
    .option("--summary <text>", "in a sentence")
    .option("--doc <path>", "the document that it is about")
    .option("--reply-to <seq>", "the event that it answers")
    .option("--role <primary|supporting>", "of a deliverable event")
    .option("--sha256 <hash>", "of a frozen deliverable")
    .action((_own: unknown, self: Command) => append(cli, self.optsWithGlobals<AppendFlags>()));
}

function addWaiting(cli: Cli, collab: Command): void {
  participantOf(collab.command("next"))
    .description("say what a participant does now")
    .action((_own: unknown, self: Command) => next(cli, self.optsWithGlobals<RoundFlags>()));
  participantOf(collab.command("wait"))
    .description(
      "wait until it is a participant's turn, or the round has ended; exit code 1: timeout",
    )
    .option(
      "--timeout <seconds>",
      `defaults to ${USUAL_TIMEOUT_S} seconds in schema 1, to 0 in schema 2; 0 for no timeout`,
    )
    .option("--interval <seconds>", "how often to look where the filesystem has no events")
    .action((_own: unknown, self: Command) => wait(cli, self.optsWithGlobals<WaitFlags>()));
}

function addLooking(cli: Cli, collab: Command): void {
  folderOf(collab.command("status"))
    .description("where a round is")
    .action((_own: unknown, self: Command) => status(cli, self.optsWithGlobals<RoundFlags>()));
  folderOf(collab.command("validate"))
    .description("everything that is wrong with a round: exit code 0, 1 warnings, 2 errors")
    .action((_own: unknown, self: Command) => validate(cli, self.optsWithGlobals<RoundFlags>()));
  participantOf(collab.command("prompt"))
    .description("print the text with which a coordinator starts a participant")
    .action((_own: unknown, self: Command) => prompt(cli, self.optsWithGlobals<RoundFlags>()));
}

function addAgent(cli: Cli, collab: Command): void {
  participantOf(collab.command("watch"))
    .description("have your daemon tell you, once, when it is your turn")
    .option("--end", "watch it no longer")
    .action((_own: unknown, self: Command) => watch(cli, self.optsWithGlobals<WatchFlags>()));
  folderOf(collab.command("publish"))
    .description("propose the conclusion of a completed round as a decision, with its hash")
    .option("--required <handle>", "whose ack it takes (repeatable)", collect)
    .action((_own: unknown, self: Command) => publish(cli, self.optsWithGlobals<PublishFlags>()));
}

function folderOf(command: Command): Command {
  return command
    .option("--folder <folder>", "the folder of the round")
    .option("--schema <1|2>", "judge by that schema, whatever the folder says");
}

function participantOf(command: Command): Command {
  return folderOf(command).option("--participant <name>", "who you are in this round");
}
