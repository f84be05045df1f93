import { Argument, Command, Option } from "commander";
import { JOINABLE, SCOPES, type Joinable } from "../../../agents/integrate/integration.ts";
import { DeaddropError } from "../../../api/errors.ts";
import type { Cli } from "../../context.ts";
import {
  removeEverywhere,
  runIntegrate,
  type IntegrateFlags,
} from "../../integrate/run-integrate.ts";
import { example } from "../../output/example.ts";

/** `deaddrop integrate`: joins a coding tool to a wire, and takes it out again. Spec 8.3. */
export function command(cli: Cli): Command {
  const scope = new Option(
    "--scope <scope>",
    "whose files: yours, the project's to share, or yours in it (default local)",
  );
  return new Command("integrate")
    .description(
      "Joins a coding tool to the wire: its MCP server, its hooks, the skill, a block in the file of\n" +
        "instructions that it reads. Shows what it changes, and asks. Your other settings stay as they are;\n" +
        "unless you say --scope project, git leaves what is written out of commits.",
    )
    .addArgument(new Argument("[tool]", "which tool").choices(JOINABLE))
    .addOption(scope.choices(SCOPES))
    .option("--dry-run", "show what would change, and change nothing")
    .option("--yes", "ask nobody")
    .option("--remove", "take all of it out again")
    .option("--all", "with --remove: every tool that an agent of yours is joined in")
    .option("--allow-commands", "claude: allow the tools that only read without a question")
    .option("--open-sandbox", "claude, codex: let commands in its sandbox connect to the daemon")
    .addHelpText(
      "after",
      example("deaddrop integrate claude --as forge", "deaddrop integrate claude --remove"),
    )
    .action((tool: Joinable | undefined, flags: IntegrateFlags) => {
      if (tool !== undefined && flags.all !== true) return runIntegrate(cli, tool, flags);
      if (tool === undefined && flags.all === true && flags.remove === true) {
        return removeEverywhere(cli, flags);
      }
      throw new DeaddropError("usage", "name one tool, or give --remove --all", {
        hint: `deaddrop integrate <${JOINABLE.join("|")}>`,
      });
    });
}
