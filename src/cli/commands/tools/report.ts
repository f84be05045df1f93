import { Command, Option } from "commander";
import { OUTCOMES } from "../../../plans/report/report.ts";
import { collect, count, type Cli } from "../../context.ts";
import { example } from "../../output/example.ts";
import type { PlanFlags } from "../../plans/plan-place.ts";
import { add, final, validateReport, type AddFlags } from "../../plans/reports.ts";

/** `deaddrop report`: what became of the steps of a plan. Spec 7.4. */
export function command(cli: Cli): Command {
  const report = new Command("report").description(
    "Reports: what became of each step of a plan, and of the whole.",
  );
  addReport(cli, report);
  report
    .command("validate")
    .description("whether a file is a report")
    .argument("<file>", "JSON")
    .action((file: string, _own: unknown, self: Command) =>
      validateReport(cli, self.optsWithGlobals<PlanFlags>(), file),
    );
  report
    .command("final")
    .description("write what a plan has come to, with what was expected and does not hold")
    .argument("[file]", "the plan (else the one in use)")
    .option("--check-diff <range>", "what git says of a range such as main..HEAD")
    .option("--max-diff <lines>", "so many lines may be changed in it", count)
    .action((file: string | undefined, _own: unknown, self: Command) =>
      final(cli, self.optsWithGlobals<PlanFlags>(), file),
    );
  return report.addHelpText(
    "after",
    example(
      'deaddrop report add 2 --outcome success --details "Rows are stored." --file server/upload.js=changed --test "node --test"=passed',
      "deaddrop report final --check-diff main..HEAD --max-diff 400",
    ),
  );
}

function addReport(cli: Cli, report: Command): void {
  report
    .command("add")
    .description("the report on a step that is yours; there is one for each attempt")
    .argument("<step>", "its id")
    .addOption(new Option("--outcome <outcome>", "how it ended").choices([...OUTCOMES]))
    .option("--details <text>", "what was done")
    .option("--error <text>", "what went wrong; needed unless it is a success")
    .option("--file <name=status>", "a file, and created, changed or removed (repeatable)", collect)
    .option("--test <name=result>", "a test, and passed or failed (repeatable)", collect)
    .option("--log <text>", "words of a log, or its path (repeatable)", collect)
    .option("--screenshot <path>", "a picture (repeatable)", collect)
    .option("--from <file>", "all of it, as JSON")
    .option("--plan <file>", "the plan (else the one in use)")
    .action((step: string, _own: unknown, self: Command) =>
      add(cli, self.optsWithGlobals<AddFlags>(), step),
    );
}
