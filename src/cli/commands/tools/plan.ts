import { Command, Option } from "commander";
import { GRAPH_KINDS } from "../../../plans/plan/graph.ts";
import { collect, count, type Cli } from "../../context.ts";
import { example } from "../../output/example.ts";
import { amend, init, rollback, set, type AmendFlags } from "../../plans/change.ts";
import { graph, next, status, validate } from "../../plans/look.ts";
import type { PlanFlags } from "../../plans/plan-place.ts";
import { run, type RunFlags } from "../../plans/run.ts";
import { work, type WorkFlags } from "../../plans/work.ts";
import { seconds } from "../../sending/deliver.ts";

const FILE = "[file]";
const FILE_HELP = "the plan (else the one in use)";

/** `deaddrop plan`: plans of several agents. Spec 7.2 to 7.5. */
export function command(cli: Cli): Command {
  const plan = new Command("plan").description(
    "Plans: steps with owners, what each waits for, and how far it is, in a file that people and agents\n" +
      "read. `run` sends each step to its owner and takes the reports; `work` does the steps that are sent\n" +
      "to you. Every agent that has the file can go on with it.",
  );
  addMaking(cli, plan);
  addLooking(cli, plan);
  addChanging(cli, plan);
  addRunning(cli, plan);
  return plan.addHelpText(
    "after",
    example(
      'deaddrop plan init "Let people upload a CSV file"',
      "deaddrop plan run --exec 'claude -p' --yes",
      "deaddrop plan work --exec 'claude -p'",
    ),
  );
}

function addMaking(cli: Cli, plan: Command): void {
  plan
    .command("init")
    .description("make a plan to be written; it is the one in use from then on")
    .argument("<task>", "what it is for")
    .option("--id <id>", "its name (else one is made)")
    .option("--folder <folder>", "the project that holds agent/ (default: this folder)")
    .action((task: string, _own: unknown, self: Command) =>
      init(cli, self.optsWithGlobals<PlanFlags>(), task),
    );
}

function addLooking(cli: Cli, plan: Command): void {
  plan
    .command("status")
    .description("which phase is done, what is missing, and each step")
    .argument(FILE, FILE_HELP)
    .action((file: string | undefined, _own: unknown, self: Command) =>
      status(cli, self.optsWithGlobals<PlanFlags>(), file),
    );
  plan
    .command("validate")
    .description("everything that is wrong with a plan; with --wire its owners too")
    .argument(FILE, FILE_HELP)
    .action((file: string | undefined, _own: unknown, self: Command) =>
      validate(cli, self.optsWithGlobals<PlanFlags>(), file),
    );
  plan
    .command("next")
    .description("the steps that may be begun")
    .argument(FILE, FILE_HELP)
    .option("--owner <owner>", "only those of an owner")
    .action((file: string | undefined, _own: unknown, self: Command) =>
      next(cli, self.optsWithGlobals<PlanFlags>(), file),
    );
  plan
    .command("graph")
    .description("the plan as a picture")
    .argument(FILE, FILE_HELP)
    .addOption(new Option("--format <format>", "how").choices([...GRAPH_KINDS]))
    .action((file: string | undefined, _own: unknown, self: Command) =>
      graph(cli, self.optsWithGlobals<PlanFlags>(), file),
    );
}

function addChanging(cli: Cli, plan: Command): void {
  planOf(plan.command("set"))
    .description("another status for a step; pending: it is done again")
    .argument("<step>", "its id")
    .argument("<status>", "pending, in_progress, complete or blocked")
    .action((step: string, to: string, _own: unknown, self: Command) =>
      set(cli, self.optsWithGlobals<PlanFlags>(), step, to),
    );
  planOf(plan.command("amend"))
    .description("add a step, or one that corrects what went wrong in another")
    .option("--id <id>", "of the step")
    .option("--owner <owner>", "who does it")
    .option("--description <text>", "what is to be done")
    .option("--dep <step>", "a step that it waits for (repeatable)", collect)
    .option("--file <file>", "a file or pattern that it changes (repeatable)", collect)
    .option("--criterion <text>", "when it is done (repeatable)", collect)
    .option("--command <text>", "`Run: …` or `Read: …` (repeatable)", collect)
    .option("--parallel", "it may share time with others that say so")
    .option("--fix <step>", "before that step, which is tried again after it")
    .action((_own: unknown, self: Command) => amend(cli, self.optsWithGlobals<AmendFlags>()));
  planOf(plan.command("rollback"))
    .description("back to the commit before a step; nothing is deleted")
    .argument("<step>", "its id")
    .action((step: string, _own: unknown, self: Command) =>
      rollback(cli, self.optsWithGlobals<PlanFlags>(), step),
    );
}

function addRunning(cli: Cli, plan: Command): void {
  adapterFlags(plan.command("run"))
    .description(
      "send each ready step to its owner, take the reports, and end with the final report;\n" +
        "it may be ended anywhere and run again, also by another agent",
    )
    .argument(FILE, FILE_HELP)
    .option("--yes", "ask nobody before it begins")
    .option("--approve <peer>", "ask this peer, too, and wait for its yes")
    .option("--max-parallel <count>", "steps at once (default 4)", count)
    .option("--fixes <count>", "attempts to correct a step that failed (default 1)", wholeNumber)
    .option("--git-checkpoints", "commit after each step, on a branch for the plan")
    .option("--local", "without a wire: --exec does all steps here")
    .action((file: string | undefined, _own: unknown, self: Command) =>
      run(cli, self.optsWithGlobals<RunFlags>(), file),
    );
  adapterFlags(plan.command("work"))
    .description("do the steps that peers send you, one after the other, and report on each")
    .option("--from <peer>", "only steps of this peer (repeatable)", collect)
    .option("--max-parallel <count>", "steps at once (default 1)", count)
    .option("--once", "end when there is nothing to do")
    .action((_own: unknown, self: Command) => work(cli, self.optsWithGlobals<WorkFlags>()));
}

function planOf(command: Command): Command {
  return command.option("--plan <file>", FILE_HELP);
}

function adapterFlags(command: Command): Command {
  return command
    .option("--exec <command>", "the program that does a step: it reads JSON and prints a report")
    .option("--timeout <seconds>", "for one step (default 3600)", seconds)
    .option("--allow-commands", "do what `Run:` and `Read:` of a step say; no shell sees them");
}

/** For options that may be 0. */
function wholeNumber(value: string): number {
  return value === "0" ? 0 : count(value);
}
